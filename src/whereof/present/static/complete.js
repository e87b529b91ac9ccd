// Completion of names: a combobox with a list, as WAI-ARIA describes it.

import { ask, make } from "./dom.js";

const counted = (n, noun) => `${n.toLocaleString("en")}\u00a0${noun}${n === 1 ? "" : "s"}`;

export function complete(input) {
  const id = `${input.id}-names`;
  const list = make("ul", { id, role: "listbox", class: "names", hidden: "" });
  list.setAttribute("aria-label", `Names for ${input.labels[0]?.textContent ?? "this field"}`);
  input.after(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-autocomplete", "list");
  input.setAttribute("aria-expanded", "false");
  input.setAttribute("aria-controls", id);
  let place = -1, asked = null;

  const close = () => {
    list.hidden = true;
    place = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  // The field shows the label; the form sends the name.
  const showLabel = (name, label) => {
    input.dataset.name = name;
    input.dataset.label = label;
    input.value = label;
  };
  if (input.dataset.label) showLabel(input.value, input.dataset.label);
  input.form.addEventListener("formdata", (event) => {
    if (!input.disabled && input.dataset.name && input.value === input.dataset.label) {
      event.formData.set(input.name, input.dataset.name);
    }
  });
  const choose = (option) => {
    showLabel(option.dataset.name, option.dataset.label);
    close();
    input.dispatchEvent(new Event("chosen", { bubbles: true }));
  };
  const move = (step) => {
    const options = [...list.children];
    if (list.hidden || !options.length) return search();
    options[place]?.setAttribute("aria-selected", "false");
    place = (place + step + options.length) % options.length;
    options[place].setAttribute("aria-selected", "true");
    options[place].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[place].id);
  };
  const show = (names) => {
    const selected = list.children[place]?.dataset.name; // stays so if a late answer comes
    list.replaceChildren(
      ...names.map((each, index) => {
        const option = make("li", { role: "option", id: `${id}-${index}`, "aria-selected": "false" });
        option.dataset.name = each.name;
        option.dataset.label = each.label;
        option.append(make("span", {}, each.label));
        // A name that the label does not explain: it was typed, or the label is not the only one.
        const isTyped = !each.label.toLowerCase().includes(input.value.trim().toLowerCase());
        const isShared = names.some((other) => other !== each && other.label === each.label);
        const about = each.label !== each.name && (isTyped || isShared) ? [each.name] : [];
        if (each.n_facts !== undefined) about.push(counted(each.n_facts, input.dataset.fact));
        option.append(make("small", {}, about.join(" · ")));
        option.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          choose(option);
        });
        return option;
      }),
    );
    place = -1;
    list.hidden = names.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    input.removeAttribute("aria-activedescendant");
    const at = names.findIndex((each) => each.name === selected);
    if (at >= 0) move(at + 1);
  };
  const search = async () => {
    asked?.abort();
    asked = new AbortController();
    const query = new URLSearchParams({ text: input.value, kind: input.dataset.kind });
    if (input.dataset.in) query.set("place", input.dataset.in);
    try {
      const found = await ask(`${input.dataset.complete}?${query}`, { signal: asked.signal });
      if (document.activeElement === input) show(found.names ?? found);
    } catch (error) {
      if (error.name !== "AbortError") close(); // the form says what is wrong
    }
  };
  input.addEventListener("input", search);
  input.addEventListener("blur", () => { asked?.abort(); close(); });
  input.addEventListener("keydown", (event) => {
    const chosen = list.children[place];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && !list.hidden && chosen) choose(chosen);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
  });
}
