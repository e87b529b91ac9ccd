// Cards of entities, in a dialog. The address names the card that is open.

import { keep, make, part } from "./dom.js";

const card = document.getElementById("card");
const content = card.querySelector(".content");

async function load(address) {
  content.replaceChildren(make("p", { class: "quiet" }, "Loading"));
  card.showModal();
  try {
    content.replaceChildren(await part(address, "article"));
  } catch (error) {
    content.replaceChildren(make("p", { class: "error", role: "alert" }, error.message));
  }
}

// page: the address of cards; place: subject or object.
export function openCard(page, name, place) {
  keep({ card: name, card_place: place });
  return load(`${page}?${new URLSearchParams({ name, place })}`);
}

// Opens the card that the address names, and those of links from now on.
export function watchCards(page) {
  card.addEventListener("close", () => keep({ card: "", card_place: "" }));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a.entity");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      const asked = new URL(link.href).searchParams;
      openCard(page, asked.get("name"), asked.get("place"));
    } else if (event.target === card) card.close();
  });
  const asked = new URL(location.href).searchParams;
  if (asked.has("card")) openCard(page, asked.get("card"), asked.get("card_place") ?? "");
}
