"""The style and the script of a page: both stand in it, so that it needs nothing else."""

from whereof.drawing._colours import OPPOSES, SUPPORTS

STYLE = f"""
:root {{ color-scheme: light dark; --ink: #222; --muted: #555; --ground: #fff; --rule: #ccc;
  --supports: {SUPPORTS.text}; --opposes: {OPPOSES.text}; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #eee; --muted: #b5b5b5; --ground: #181818; --rule: #444;
    --supports: #79bff0; --opposes: #ffa366; }}
}}
body {{ margin: 1.5rem auto; padding: 0 1rem; max-width: 62rem; color: var(--ink);
  background: var(--ground);
  font: 0.95rem/1.45 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }}
h1 {{ font-size: 1.4rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.1rem; margin-top: 2rem; }}
svg {{ max-width: 100%; height: auto; border-radius: 6px; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; }}
caption {{ caption-side: top; text-align: left; color: var(--muted); padding-bottom: 0.5rem; }}
th, td {{ padding: 0.3rem 0.6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }}
th {{ vertical-align: bottom; }}
.fact {{ overflow-wrap: anywhere; min-width: 15rem; }}
th button {{ font: inherit; color: inherit; background: none; border: 0; padding: 0;
  cursor: pointer; text-align: inherit; text-decoration: underline dotted; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
td.number {{ white-space: nowrap; }}
small {{ display: block; color: var(--muted); }}
.supports {{ color: var(--supports); }}
.opposes {{ color: var(--opposes); }}
.bar {{ display: inline-block; width: 60px; height: 0.6em; text-align: left;
  background: rgba(128, 128, 128, 0.25); }}
.bar span {{ display: block; height: 100%; background: currentColor; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1.2rem; }}
dt {{ color: var(--muted); }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
@media print {{
  :root {{ --ink: #000; --muted: #444; --ground: #fff; --rule: #bbb;
    --supports: {SUPPORTS.text}; --opposes: {OPPOSES.text}; }}
  body {{ margin: 0; max-width: none; font-size: 0.7rem; }}
  th, td {{ padding: 0.15rem 0.3rem; }}
  .fact {{ min-width: 10rem; }}
  tr, svg {{ break-inside: avoid; }}
  thead {{ display: table-header-group; }}
  th button {{ text-decoration: none; }}
  .bar {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""

SCRIPT = """
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
"""
