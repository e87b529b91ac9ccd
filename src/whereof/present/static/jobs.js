// All jobs: follow those under way, and load the page again when one is over.

import { follow } from "./job.js";

for (const element of document.querySelectorAll("[data-job]")) {
  follow(element, element.dataset.job).then(() => location.reload(), () => {});
}
