// Parts of a page that are replaced in place: what the reader is doing stays where it is.

import { part } from "./dom.js";

const PAUSE_MS = 700;
let moved = 0;
for (const kind of ["pointermove", "pointerdown", "keydown", "wheel", "touchmove"]) {
  addEventListener(kind, () => { moved = performance.now(); }, { passive: true, capture: true });
}

// Resolves when the reader has neither moved the pointer nor pressed a key for a moment.
export async function calm() {
  let left;
  while ((left = moved + PAUSE_MS - performance.now()) > 0 && moved) {
    await new Promise((resolve) => { setTimeout(resolve, left); });
  }
}

// A selector that finds the same element after it was replaced.
function selectorOf(element) {
  const quoted = (name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`;
  const row = element.closest("tr[data-fact]");
  const inside = row ? `tr[data-fact="${row.dataset.fact}"] ` : "";
  const head = element.closest("th[data-sort]");
  if (head) return `th[data-sort="${head.dataset.sort}"] button`;
  if (element.id) return `#${element.id}`;
  const names = ["name", "value", "data-filter", "href", "type", "data-method"].filter((name) => element.hasAttribute(name));
  return inside + element.localName + names.map(quoted).join("");
}

// What the reader looks at: the focused element, or the first part that is in the window.
function lookedAt() {
  const inWindow = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  const focused = document.activeElement?.closest("[data-part]") ? document.activeElement : null;
  if (focused && inWindow(focused)) return focused;
  return [...document.querySelectorAll("[data-part]")].find((each) => each.hasChildNodes() && inWindow(each));
}

// Loads the address again, and replaces its parts; `keepPart` says which stay. Returns the new page.
export async function reloadParts(keepPart = () => false) {
  const page = await part(location.href, "main");
  const focused = document.activeElement?.closest("[data-part]") ? document.activeElement : null;
  const again = focused && selectorOf(focused);
  const seen = lookedAt(), seenAgain = seen && selectorOf(seen);
  const before = seen?.getBoundingClientRect().top;
  return {
    page,
    swap() {
      for (const old of document.querySelectorAll("[data-part]")) {
        if (!keepPart(old)) old.replaceChildren(...page.querySelector(`#${old.id}`).childNodes);
      }
    },
    // When the parts are as the reader left them: sorted, filtered, with their ticks.
    settle() {
      if (again && !focused.isConnected) document.querySelector(again)?.focus({ preventScroll: true });
      const after = seenAgain && document.querySelector(seenAgain)?.getBoundingClientRect().top;
      if (scrollY > 0 && after !== undefined && after !== null) scrollBy({ top: after - before, behavior: "instant" });
    },
  };
}
