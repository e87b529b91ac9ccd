// Ask: completion, the direction of the question, and the lists of predictions.

import { complete } from "./complete.js";
import { make, part } from "./dom.js";

for (const input of document.querySelectorAll("[data-complete]")) complete(input);

const form = document.querySelector("form.ask");
function turn() {
  const open = form.elements.asks.value;
  for (const place of ["subject", "object"]) {
    const field = form.querySelector(`[data-place=${place}]`);
    field.hidden = place === open;
    field.querySelector("input").disabled = place === open;
  }
}
turn(); // the direction may have been chosen before this script was there
form.addEventListener("change", (event) => {
  if (event.target.name !== "asks") return;
  turn();
  form.elements[event.target.value === "object" ? "subject" : "object"].focus();
});
form.addEventListener("chosen", (event) => {
  // On to the next empty field, or to the answer.
  const inputs = [...form.querySelectorAll("input[type=text]:not(:disabled)")];
  const empty = inputs.find((input) => !input.value);
  if (empty) empty.focus();
  else if (event.target === inputs.at(-1)) form.requestSubmit();
});

const list = document.getElementById("list");
let loading = null;
async function load(address) {
  loading?.abort();
  const mine = loading = new AbortController();
  list.setAttribute("aria-busy", "true");
  try {
    const found = await part(address, "#list", { signal: mine.signal });
    list.replaceChildren(...found.childNodes);
  } catch (error) {
    if (loading !== mine) return; // another list was chosen
    list.replaceChildren(make("p", { class: "error", role: "alert" }, error.message));
  }
  list.removeAttribute("aria-busy");
}

if (list.dataset.source) load(list.dataset.source);
for (const link of document.querySelectorAll(".tabs a")) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    for (const other of document.querySelectorAll(".tabs a")) other.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    load(link.href);
  });
}
