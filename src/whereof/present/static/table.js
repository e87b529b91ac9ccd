// Tables with the class `sortable`: a click on a heading sorts each group of rows.

export function makeSortable(table, onSort = () => {}) {
  for (const head of table.querySelectorAll("thead th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const sorted = head.getAttribute("aria-sort");
      const numbers = head.classList.contains("number");
      const rising = sorted ? sorted === "descending" : !numbers;
      sortBy(table, head.dataset.sort, rising);
      onSort(head.dataset.sort, rising);
    });
  }
}

export function sortBy(table, name, rising) {
  const heads = [...table.tHead.rows[0].cells];
  const head = heads.find((each) => each.dataset.sort === name);
  if (!head) return;
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const numbers = head.classList.contains("number");
  const key = (row) => row.cells[head.cellIndex].dataset.key ?? "";
  const order = numbers
    ? (a, b) => (parseFloat(key(a)) || 0) - (parseFloat(key(b)) || 0)
    : (a, b) => key(a).localeCompare(key(b));
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.matches(".group"));
    rows.sort((a, b) => (rising ? order(a, b) : order(b, a)));
    body.append(...rows);
  }
}

for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
