// Compare: completion of names in the chosen run.

import { complete } from "./complete.js";

const form = document.querySelector("form.other");
const fields = form.querySelectorAll("[data-complete]");
for (const input of fields) complete(input);
form.elements.run.addEventListener("change", (event) => {
  const names = `/api/runs/${encodeURIComponent(event.target.value)}/names`;
  for (const input of fields) input.dataset.complete = names;
});
