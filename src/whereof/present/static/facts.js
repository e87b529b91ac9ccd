// Facts on a page that is one file: a filter, and the table and the graph point at each other.

for (const table of document.querySelectorAll("table.facts.sortable")) {
  const label = document.createElement("label"), input = document.createElement("input");
  input.type = "search";
  label.className = "inline controls";
  label.append("Filter ", input);
  table.closest(".wide").before(label);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => row.dataset.fact);
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
      body.hidden = rows.every((row) => row.hidden);
    }
  });
}

const light = (fact) => {
  for (const each of document.querySelectorAll("[data-fact]")) {
    each.classList.toggle("lit", each.dataset.fact === fact);
  }
  for (const each of document.querySelectorAll("svg.whereof-chart")) {
    each.classList.toggle("lighting", Boolean(each.querySelector(".lit")));
  }
};
document.addEventListener("pointerover", ({ target }) => light(target.closest("[data-fact]")?.dataset.fact));
