"""The CRIAGE table: methods side by side on one model."""

from dataclasses import replace

from whereof.paper import _published as published
from whereof.paper._records import Figure, Row, Table
from whereof.paper._results import METRIC_TITLES, Results, count, make_table, shares

_COLUMNS = tuple(f"k = {k}" for k in published.CRIAGE_SIZES)


def criage_table(results: Results) -> Table | None:
    """Random, criage, rollback-o and rollback at 1, 3, 5 and 10 facts."""
    found, rows = results.evaluation("criage"), []
    if found is None:
        return None
    for method in dict.fromkeys(row["method"] for row in found["removal"]):
        ours = shares(found, method)
        for metric in published.METRICS:
            printed = published.criage(method, metric)
            figures = (
                replace(ours[metric, k], paper=printed.get(k)) if (metric, k) in ours else None
                for k in published.CRIAGE_SIZES
            )
            names = (method, METRIC_TITLES[metric])
            rows.append(Row(names, tuple(figures), count(found)))
    about = "DistMult on Nations, trained with the sigmoid loss."
    title = "CRIAGE table: PD and TC in percent"
    return make_table("criage", title, about, "method metric", _COLUMNS, rows)


def p_values_table(results: Results) -> Table | None:
    """Whether rollback differs from criage and from random by more than chance."""
    part, by_row = results.parts.get("criage"), dict[tuple[str, str], dict[str, Figure]]()
    if part is None:
        return None
    for item in part["significance"]:
        names = (f"{item['method']}, {item['baseline']}", METRIC_TITLES[item["metric"]])
        by_row.setdefault(names, {})[str(item["k"])] = Figure(item["p_value"], unit="p")
    rows = [
        Row(names, tuple(map(figures.get, published.CRIAGE_SIZES)), count(part["evaluation"]))
        for names, figures in by_row.items()
    ]
    about = "Paired approximate randomisation over queries, of all seeds together, two-sided."
    title = "CRIAGE table: p-values"
    return make_table("criage-p", title, about, "methods metric", _COLUMNS, rows)
