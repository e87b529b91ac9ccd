// Why: filters, sorting, what if, check, smallest set, cards, and the graph.

import { openCard, watchCards } from "./card.js";
import { ask, keep, later, make, send } from "./dom.js";
import { follow, panel } from "./job.js";
import { calm, reloadParts } from "./parts.js";
import { makeSortable, sortBy } from "./table.js";

let view = JSON.parse(document.getElementById("view").textContent);
let rows = [], graph = null;
const main = document.getElementById("main");
const problem = document.getElementById("problem");
const chosen = () => new URL(location.href).searchParams;

const say = (message) => {
  problem.textContent = message;
  problem.hidden = !message;
};

// Which facts are listed.
const filters = () => [...main.querySelectorAll("[data-filter]")];
function filter() {
  const used = filters().filter((each) => each.value);
  for (const row of rows) {
    row.hidden = used.some((each) => row.dataset[each.dataset.filter] !== each.value);
  }
  for (const body of main.querySelectorAll("table.facts tbody")) {
    body.hidden = ![...body.rows].some((row) => row.dataset.fact && !row.hidden);
  }
}

// Prepares the parts that the server has rendered: as the address says, and ready for use.
function dress() {
  const query = chosen(), table = main.querySelector("table.facts");
  rows = [...main.querySelectorAll("tr[data-fact]")];
  main.querySelector("form.controls button.plain").hidden = true;
  for (const select of filters()) {
    select.parentElement.hidden = false;
    select.value = query.get(`only_${select.dataset.filter}`) ?? "";
    if (select.selectedIndex < 0) select.value = "";
  }
  for (const row of rows) box(row).disabled = false;
  if (table) {
    makeSortable(table, (name, rising) => keep({ sort: rising ? name : `-${name}` }));
    const sorted = query.get("sort");
    if (sorted) sortBy(table, sorted.replace(/^-/, ""), !sorted.startsWith("-"));
    filter();
  }
  main.querySelector(".whatif-hint").hidden = rows.length === 0;
  const measure = main.querySelector("[data-measure]");
  if (measure) measure.parentElement.hidden = false;
  main.querySelector("[data-png]").hidden = !graph;
  if (removed().length || !bar.hidden) { showRemoved(); estimate(); }
}

// Shows what the address says, without loading the page again.
let shown = 0;
async function show(keepPart) {
  const number = ++shown;
  const { page, swap, settle } = await reloadParts(keepPart);
  if (number !== shown) return;
  swap();
  const next = JSON.parse(page.querySelector("#view").textContent);
  const sameGraph = JSON.stringify(next.graph) === JSON.stringify(view.graph);
  view = next;
  closer.dataset.title = page.querySelector("#closer").dataset.title;
  dress();
  if (!sameGraph) {
    graph?.destroy();
    graph = null;
    drawing.replaceChildren(...page.querySelector("#graph").childNodes);
    drawGraph();
  }
  settle();
  pursue();
}
const turn = (values) => {
  keep(values, "pushState");
  show().catch((error) => say(error.message));
};

// What if.
const result = document.getElementById("result");
const check = document.querySelector("[data-check]");
const bar = document.getElementById("whatif");
const says = bar.querySelector(".says");
const box = (row) => row.querySelector("input[type=checkbox]");
const removed = () => rows.filter((row) => !box(row).checked).map((row) => Number(row.dataset.fact));
let latest = 0;

// A probability, as units.chance writes it.
function chance(value) {
  const share = 100 * value;
  if (value < 1 && share >= 99.95) return ">99.9%";
  if (share === 0 || share >= 1) return `${share.toFixed(1)}%`;
  if (share < 1e-4) return `${share.toExponential(2)}%`;
  return `${share.toFixed(2 - Math.floor(Math.log10(share)))}%`;
}
const amount = (value) => (view.rated ? value.toFixed(2) : chance(value));

function showRemoved() {
  const facts = removed();
  for (const row of rows) row.classList.toggle("removed", !box(row).checked);
  graph?.remove(facts);
  bar.hidden = facts.length === 0;
  main.querySelector("[data-removed]").hidden = facts.length === 0;
  keep({ without: facts.join(",") });
  for (const link of main.querySelectorAll(".downloads a[download]")) {
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
  const tell = (kind, before, value, name, top) => {
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
    tell("retrained", before, value, name, top);
    return;
  }
  try {
    const found = await send(view.estimate, { ...view.about, facts });
    if (number !== latest) return;
    const name = view.names_tops && found.top_answer;
    const value = view.rated ? found.score : found.probability;
    tell("estimate", view.before, value, name, found.labels?.top_answer ?? found.top_answer);
    if (!name && found.top_answer_changes) says.append("; the top answer may change: check it");
    say("");
  } catch (error) {
    if (number === latest) says.replaceChildren(count, error.message);
  }
}
const estimateSoon = later(estimate, 50);

function restore() {
  for (const row of rows) box(row).checked = true;
  showRemoved();
  estimate();
  document.getElementById("facts").scrollIntoView({ block: "nearest" });
  if (rows.length) box(rows[0]).focus();
}

// Jobs: check, smallest set and reliability. Each has an entry in the history.
let running = false, locked = [];
function lock(isRunning) {
  running = isRunning;
  if (isRunning) locked = [...main.querySelectorAll(":is([data-check], [data-smallest], [data-measure]):enabled")];
  for (const button of locked) button.disabled = isRunning;
}

// isAsked: whether the reader asked for it by a click.
async function start(title, task, isAsked = true) {
  if (running) return;
  say("");
  const element = panel(title), button = document.activeElement;
  element.tabIndex = -1;
  result.prepend(element); // the result before stays until the next one is there
  if (isAsked) {
    result.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
  }
  lock(true);
  try {
    const { id } = await send(view.jobs, task);
    keep({ job: id, result: task.kind }, isAsked ? "pushState" : "replaceState");
    await finish(element, id);
  } catch (error) {
    element.remove();
    say(error.message);
  }
  lock(false);
  if (document.activeElement === document.body && isAsked) button.focus();
}

async function finish(element, id) {
  const job = await follow(element, id);
  const isHere = document.activeElement === document.body || result.contains(document.activeElement);
  if (job.state === "done" && job.kind === "smallest") {
    // The table has the facts of the set then, and the estimates of its method.
    const { result: found } = await ask(`/api/jobs/${encodeURIComponent(id)}`);
    keep({ without: found.removed.join(","), method: found.method });
  }
  await show();
  lock(false);
  if (!isHere) return;
  result.scrollIntoView({ block: "center" });
  document.getElementById("proof")?.focus({ preventScroll: true });
}

// The method that was asked for, if it takes longer than a click: a job computes it while the page
// shows quick estimates.
const closer = document.getElementById("closer");
let pursued = "";
async function pursue() {
  const task = view.closer, key = JSON.stringify(task);
  if (!task) closer.replaceChildren();
  if (key === pursued || !task) { pursued = key; return; }
  pursued = key;
  const element = panel(closer.dataset.title);
  closer.replaceChildren(element);
  try {
    const { id } = await send(view.jobs, task);
    const job = await follow(element, id);
    if (job.state !== "done") throw new Error(job.message || "It was cancelled.");
    await calm();
    if (key !== pursued) return; // another method was chosen
    await show((each) => each === result && running);
    closer.replaceChildren(make("p", { class: "quiet", role: "status" }, `Updated: all numbers are those of ${task.method} now.`));
  } catch (error) {
    if (key !== pursued) return;
    const again = make("button", { type: "button", class: "link" }, "Try again");
    again.addEventListener("click", () => { pursued = ""; pursue(); });
    closer.replaceChildren(make("p", { class: "quiet", role: "alert" }, `${error.message} `, again));
  }
}

// What the reader does.
main.addEventListener("change", ({ target }) => {
  if (target.dataset.filter !== undefined) {
    filter();
    keep(Object.fromEntries(filters().map((each) => [`only_${each.dataset.filter}`, each.value])));
  } else if (target.closest("form.controls")) {
    turn({ [target.name]: target.value });
  } else if (target.closest("tr[data-fact]")) {
    showRemoved();
    estimateSoon();
  }
});
const ACTIONS = {
  "[data-restore]": restore,
  "[data-check]": () => start("Check by retraining", { ...view.check, facts: removed() }),
  "[data-smallest]": () => start("Smallest set", view.smallest),
  "[data-measure]": () => start("Reliability", view.measure),
  "[data-png]": () => make("a", { href: graph.png(), download: view.picture }).click(),
};
main.addEventListener("click", (event) => {
  for (const [selector, act] of Object.entries(ACTIONS)) {
    if (event.target.closest(selector)) act();
  }
  const method = event.target.closest("a[data-method]");
  if (method && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    turn({ method: method.dataset.method });
  }
});
addEventListener("popstate", () => show().catch((error) => say(error.message)));

// The graph: hover or focus of a row lights its edge, and the other way round.
const light = (fact) => {
  for (const row of rows) row.classList.toggle("lit", row.dataset.fact === String(fact));
};
for (const [kind, isOn] of [["pointerover", true], ["focusin", true], ["pointerout", false], ["focusout", false]]) {
  main.addEventListener(kind, ({ target }) => {
    const row = target.closest?.("tr[data-fact]");
    if (row) graph?.light(isOn ? row.dataset.fact : null);
  });
}
const drawing = document.getElementById("graph");
async function drawGraph() {
  try {
    const { draw } = await import("./graph.js");
    graph?.destroy();
    graph = draw(drawing, view.graph, {
      onFact: light,
      onEntity: (name, place) => openCard(view.entity, name, place),
    });
    graph.remove(removed());
    main.querySelector("[data-png]").hidden = false;
  } catch {
    drawing.querySelector("svg")?.classList.remove("leaving"); // the picture stays as it is
  }
}

dress();
watchCards(view.entity);
// When the words and the picture are drawn: the graph that answers to the pointer, and jobs.
const whenIdle = window.requestIdleCallback ?? ((work) => setTimeout(work, 50));
requestAnimationFrame(() => whenIdle(() => {
  drawGraph();
  const job = result.querySelector("[data-job]");
  if (job) {
    lock(true);
    finish(job, job.dataset.job).catch((error) => say(error.message));
  } else if (view.again) start("Retraining", view.again, false);
  pursue();
}, { timeout: 1000 }));
