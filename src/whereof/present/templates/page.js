
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const numbers = head.classList.contains("number");
      const sorted = head.getAttribute("aria-sort");
      const rising = sorted ? sorted === "descending" : !numbers;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.key;
      const order = numbers
        ? (a, b) => (parseFloat(key(a)) || 0) - (parseFloat(key(b)) || 0)
        : (a, b) => key(a).localeCompare(key(b));
      const rows = [...body.rows].sort((a, b) => (rising ? order(a, b) : order(b, a)));
      body.replaceChildren(...rows);
    });
  });
}
