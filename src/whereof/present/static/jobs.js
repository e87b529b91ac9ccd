// All jobs: show how far they are, and load the page again when one is over.
// One request a second for all: browsers allow few connections to a server.

import { ask } from "./dom.js";
import { attach } from "./job.js";

const shown = new Map();
for (const element of document.querySelectorAll("[data-job]")) {
  shown.set(element.dataset.job, attach(element, element.dataset.job));
}

async function look() {
  const jobs = await ask("/api/jobs?over=false").catch(() => null); // the server may come back
  const open = new Set(jobs?.map((job) => job.id));
  if (jobs && ![...shown.keys()].every((id) => open.has(id))) {
    location.reload();
    return;
  }
  for (const job of jobs ?? []) shown.get(job.id)?.(job);
  setTimeout(look, 1000);
}

if (shown.size) look();
