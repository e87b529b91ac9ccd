// Start an audit, or follow the one that is under way, then show what it found.

import { make, send } from "./dom.js";
import { follow, panel } from "./job.js";

const view = JSON.parse(document.getElementById("view").textContent);
const place = document.getElementById("waiting");
try {
  let element = place.querySelector("[data-job]"), id = element?.dataset.job;
  if (!element) {
    element = panel("Audit");
    place.replaceChildren(element);
    id = (await send(view.jobs, view.task)).id;
  }
  const job = await follow(element, id);
  if (job.state !== "done") throw new Error(job.message || "the audit was cancelled");
  location.replace(`${view.page}?job=${encodeURIComponent(id)}`);
} catch (error) {
  place.replaceChildren();
  const problem = document.getElementById("problem");
  problem.hidden = false;
  problem.replaceChildren(error.message, " ", make("a", { href: location.href }, "Try again"));
}
