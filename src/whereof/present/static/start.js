// Buttons that start a job, and the job that is under way; at its end, show what it found.

import { make, send } from "./dom.js";
import { follow, panel } from "./job.js";

const view = JSON.parse(document.getElementById("view")?.textContent ?? "null");
const place = document.getElementById("waiting"), problem = document.getElementById("problem");
const starts = document.getElementById("starts");

async function watch(element, getId) {
  starts.hidden = true;
  problem.hidden = true;
  try {
    const id = await getId();
    const job = await follow(element, id);
    if (job.state !== "done") throw new Error(job.message || "It was cancelled. The run stores finished retrainings.");
    const next = new URL(view.page, location.href);
    next.searchParams.set("job", id);
    location.replace(next);
  } catch (error) {
    place.replaceChildren();
    problem.textContent = error.message;
    problem.hidden = starts.hidden = false;
  }
}

const open = place?.querySelector("[data-job]");
if (starts) starts.hidden = Boolean(open);
if (open) watch(open, () => open.dataset.job);
starts?.addEventListener("click", (event) => {
  const button = event.target.closest("[data-start]");
  if (!button) return;
  const element = panel(button.firstChild.textContent.trim());
  element.tabIndex = -1;
  place.replaceChildren(element);
  element.focus();
  watch(element, async () => (await send(view.jobs, view.tasks[button.dataset.start])).id);
});
