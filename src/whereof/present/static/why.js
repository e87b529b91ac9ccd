// Why: filters, sorting, what if, check, smallest set, cards, and the graph.

import { ask, keep, later, make, part, send } from "./dom.js";
import { follow, panel } from "./job.js";
import { makeSortable, sortBy } from "./table.js";

let view = JSON.parse(document.getElementById("view").textContent);
const table = document.querySelector("table.facts");
const rows = table ? [...table.querySelectorAll("tr[data-fact]")] : [];
const query = new URL(location.href).searchParams;
const problem = document.getElementById("problem");

const say = (message) => {
  problem.textContent = message;
  problem.hidden = !message;
};

// Which facts are listed.
const controls = document.querySelector("form.controls");
controls.querySelector("button.plain").hidden = true;
controls.addEventListener("change", (event) => {
  if (event.target.dataset.filter === undefined) controls.requestSubmit();
  else filter();
});
const filters = [...controls.querySelectorAll("[data-filter]")];
for (const select of filters) {
  select.parentElement.hidden = false;
  select.value = query.get(`only_${select.dataset.filter}`) ?? "";
  if (select.selectedIndex < 0) select.value = "";
}
function filter() {
  for (const row of rows) {
    row.hidden = filters.some((each) => each.value && row.dataset[each.dataset.filter] !== each.value);
  }
  for (const body of table?.tBodies ?? []) {
    body.hidden = ![...body.rows].some((row) => row.dataset.fact && !row.hidden);
  }
  keep(Object.fromEntries(filters.map((each) => [`only_${each.dataset.filter}`, each.value])));
}
if (table) {
  makeSortable(table, (name, rising) => keep({ sort: rising ? name : `-${name}` }));
  const sorted = query.get("sort");
  if (sorted) sortBy(table, sorted.replace(/^-/, ""), !sorted.startsWith("-"));
  if (filters.some((each) => each.value)) filter();
}

// What if.
const result = document.getElementById("result");
const check = document.querySelector("[data-check]");
const bar = document.getElementById("whatif");
const says = bar.querySelector(".says");
const box = (row) => row.querySelector("input[type=checkbox]");
const removed = () => rows.filter((row) => !box(row).checked).map((row) => Number(row.dataset.fact));
let graph = null, latest = 0;

function percent(value) {
  if (value < 0) return `−${percent(-value)}`;
  const share = 100 * value;
  if (value < 1 && share >= 99.95) return ">99.9%";
  if (share === 0 || share >= 1) return `${share.toFixed(1)}%`;
  if (share < 1e-4) return `${share.toExponential(1)}%`;
  return `${share.toFixed(1 - Math.floor(Math.log10(share)))}%`;
}
const amount = (value) => (view.rated ? value.toFixed(2) : percent(value));

function showRemoved() {
  const facts = removed();
  for (const row of rows) row.classList.toggle("removed", !box(row).checked);
  graph?.remove(facts);
  bar.hidden = facts.length === 0;
  keep({ without: facts.join(",") });
  for (const link of document.querySelectorAll(".downloads a[download]")) {
    const address = new URL(link.href);
    address.searchParams.set("without", facts.join(","));
    link.href = address;
  }
}

// Whether retraining left out the same facts as the page does.
const isProven = (facts) => view.proof?.facts.length === facts.length && facts.every((each) => view.proof.facts.includes(each));

// The bar: what retraining showed for these facts, else their estimate.
async function estimate() {
  const facts = removed(), number = ++latest, proven = isProven(facts);
  result.querySelector("[data-other]")?.toggleAttribute("hidden", proven);
  check.hidden = proven;
  if (!facts.length) return;
  const count = `Without ${facts.length === 1 ? `this ${view.fact}` : `these ${facts.length} ${view.fact}s`}: `;
  const show = (kind, before, value, name, top) => {
    const mark = make("span", { class: kind }, kind);
    const parts = [count, `${view.noun} ${amount(before)} → `, make("strong", {}, amount(value)), " ", mark];
    if (name) {
      const same = name === view.top_name;
      parts.push(same ? `, top answer stays ${view.top}` : `, top answer ${view.top} → `);
      if (!same) parts.push(make("strong", {}, top));
    }
    says.replaceChildren(...parts);
  };
  if (proven) {
    const { before, value, top_name: name, top } = view.proof;
    show("retrained", before, value, name, top);
    return;
  }
  try {
    const found = await send(view.estimate, { ...view.about, facts });
    if (number !== latest) return;
    const name = view.names_tops && found.top_answer;
    const value = view.rated ? found.score : found.probability;
    show("estimate", view.before, value, name, found.labels?.top_answer ?? found.top_answer);
    if (!name && found.top_answer_changes) says.append("; the top answer may change: check it");
    say("");
  } catch (error) {
    if (number === latest) says.replaceChildren(count, error.message);
  }
}
const estimateSoon = later(estimate, 50);

for (const row of rows) {
  box(row).disabled = false;
  box(row).addEventListener("change", () => { showRemoved(); estimateSoon(); });
}
bar.querySelector("[data-restore]").addEventListener("click", () => {
  for (const row of rows) box(row).checked = true;
  showRemoved();
  estimate();
  document.getElementById("facts").scrollIntoView({ block: "nearest" });
  if (rows.length) box(rows[0]).focus();
});
const hint = document.querySelector(".whatif-hint");
hint.hidden = rows.length === 0;

// Jobs: check, smallest set and reliability. Each has an entry in the history.
const buttons = document.querySelectorAll(":is([data-check], [data-smallest], [data-measure]):enabled");
let job = query.get("job");
addEventListener("popstate", () => {
  if (new URL(location.href).searchParams.get("job") !== job) location.reload();
});

async function start(button, title, task) {
  say("");
  const element = panel(title);
  element.tabIndex = -1;
  result.replaceChildren(element);
  result.scrollIntoView({ block: "center" });
  element.focus({ preventScroll: true });
  for (const each of buttons) each.disabled = true;
  try {
    const { id } = await send(view.jobs, task);
    job = id;
    keep({ job: id }, "pushState");
    await finish(element, id);
  } catch (error) {
    result.replaceChildren();
    say(error.message);
  }
  for (const each of buttons) each.disabled = false;
  if (document.activeElement === document.body) button.focus();
}

const TO_RESULT = "whereof-to-result";
function focusResult() {
  const heading = document.getElementById("proof");
  result.scrollIntoView({ block: "center" });
  heading?.focus({ preventScroll: true });
}

async function finish(element, id) {
  const { kind, state } = await follow(element, id);
  const isHere = document.activeElement === document.body || result.contains(document.activeElement);
  if (state === "done" && kind !== "verify") {
    if (kind === "smallest") {
      const { result: found } = await ask(`/api/jobs/${encodeURIComponent(id)}`);
      keep({ without: found.removed.join(","), method: found.method });
    }
    if (isHere) sessionStorage.setItem(TO_RESULT, id);
    location.reload(); // the table has the facts of the set, and the estimates of its method
    return;
  }
  const page = await part(location.href, "main");
  for (const each of ["lead", "trust", "result"]) {
    document.getElementById(each).replaceChildren(...page.querySelector(`#${each}`).childNodes);
  }
  view = JSON.parse(page.querySelector("#view").textContent);
  estimate();
  if (isHere) focusResult();
}
if (job && sessionStorage.getItem(TO_RESULT) === job) focusResult();
sessionStorage.removeItem(TO_RESULT);

check.addEventListener("click", () => {
  start(check, "Check by retraining", { ...view.check, facts: removed() });
});
const smallest = document.querySelector("[data-smallest]");
smallest.addEventListener("click", () => start(smallest, "Smallest set", view.smallest));
const measure = document.querySelector("[data-measure]");
if (measure) {
  measure.parentElement.hidden = false;
  measure.addEventListener("click", () => start(measure, "Reliability", view.measure));
}
const running = result.querySelector("[data-job]");
if (running) finish(running, running.dataset.job).catch((error) => say(error.message));

// Cards of entities.
const card = document.getElementById("card");
async function openCard(address) {
  const content = card.querySelector(".content");
  content.replaceChildren(make("p", { class: "quiet" }, "Loading"));
  card.showModal();
  try {
    content.replaceChildren(await part(address, "article"));
  } catch (error) {
    content.replaceChildren(make("p", { class: "error", role: "alert" }, error.message));
  }
}
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a.entity");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    openCard(link.href);
  } else if (event.target === card) card.close();
});

// The graph: hover or focus of a row lights its edge, and the other way round.
const light = (fact) => {
  for (const row of rows) row.classList.toggle("lit", row.dataset.fact === String(fact));
};
for (const row of rows) {
  for (const kind of ["pointerenter", "focusin"]) row.addEventListener(kind, () => graph?.light(row.dataset.fact));
  for (const kind of ["pointerleave", "focusout"]) row.addEventListener(kind, () => graph?.light(null));
}
if (removed().length) { showRemoved(); estimate(); }
const drawing = document.getElementById("graph");
import("./graph.js").then(({ draw }) => {
  graph = draw(drawing, view.graph, {
    onFact: light,
    onEntity: (name, place) => openCard(`${view.entity}?${new URLSearchParams({ name, place })}`),
  });
  graph.remove(removed());
  const png = document.querySelector("[data-png]");
  png.hidden = false;
  png.addEventListener("click", () => {
    const link = make("a", { href: graph.png(), download: "explanation.png" });
    link.click();
  });
}).catch(() => {
  drawing.replaceChildren("The graph cannot be drawn here. The table lists the same facts.");
  drawing.removeAttribute("role");
  drawing.removeAttribute("aria-label");
});
