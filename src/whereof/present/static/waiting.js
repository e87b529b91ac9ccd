// A method that is not ready: start its job, follow it, then show the page.

import { make, send } from "./dom.js";
import { follow, panel } from "./job.js";

const view = JSON.parse(document.getElementById("view").textContent);
const place = document.getElementById("waiting");
try {
  let element = place.querySelector("[data-job]"), id = element?.dataset.job;
  if (!element) {
    element = panel(view.task.method);
    place.replaceChildren(element);
    id = (await send(view.jobs, view.task)).id;
  }
  const job = await follow(element, id);
  if (job.state !== "done") throw new Error(job.message || "the work was cancelled");
  const address = new URL(location.href);
  address.searchParams.set("job", id);
  location.replace(address);
} catch (error) {
  place.replaceChildren();
  const problem = document.getElementById("problem");
  problem.hidden = false;
  problem.replaceChildren(error.message, " ", make("a", { href: location.href }, "Try again"));
}
