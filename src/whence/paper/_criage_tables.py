"""The CRIAGE table: methods side by side on one model."""

from dataclasses import replace

from whence.paper import _published as published
from whence.paper._records import Figure, Row, Table
from whence.paper._results import METRIC_TITLES, Results, make_table, shares

_COLUMNS = tuple(f"k = {k}" for k in published.CRIAGE_SIZES)


def criage_table(results: Results) -> Table | None:
    """Random, criage, rollback-o and rollback at 1, 3, 5 and 10 facts."""
    found = results.evaluation("criage") or {"removal": ()}
    rows = []
    for method in dict.fromkeys(row["method"] for row in found["removal"]):
        ours = shares(found, method)
        for metric in published.METRICS:
            printed = published.criage(method, metric)
            figures = (
                replace(ours[metric, k], paper=printed.get(k)) if (metric, k) in ours else None
                for k in published.CRIAGE_SIZES
            )
            rows.append(Row((method, METRIC_TITLES[metric]), tuple(figures)))
    about = "DistMult on Nations, trained with the sigmoid loss."
    title = "CRIAGE table: PD and TC in percent"
    return make_table("criage", title, about, "method metric", _COLUMNS, rows)


def p_values_table(results: Results) -> Table | None:
    """Whether rollback differs from criage and from random by more than chance."""
    by_row: dict[tuple[str, str], dict[str, Figure]] = {}
    for item in results.parts.get("criage", {"significance": ()})["significance"]:
        names = (f"{item['method']}, {item['baseline']}", METRIC_TITLES[item["metric"]])
        by_row.setdefault(names, {})[str(item["k"])] = Figure(item["p_value"], unit="p")
    rows = [
        Row(names, tuple(figures.get(k) for k in published.CRIAGE_SIZES))
        for names, figures in by_row.items()
    ]
    about = "Paired approximate randomisation over queries, of all seeds together, two-sided."
    title = "CRIAGE table: p-values"
    return make_table("criage-p", title, about, "methods metric", _COLUMNS, rows)
