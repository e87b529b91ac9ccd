"""An evaluation in the terminal: a heading, and a table for every protocol."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console

from whereof.cli._columns import Column, aligned
from whereof.cli._orders import show_orders
from whereof.cli._screen import counted

Document = dict[str, Any]

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def show_evaluation(out: Console, found: Document) -> None:
    """What `to_dict` of an evaluation has, as tables that fit 80 columns."""
    for line in _heading(found):
        out.print(line)
    for name, show in _TABLES.items():
        if found[name]:
            out.print()
            show(out, found)
    out.print()
    for line in _ending(found):
        out.print(line)


def _heading(found: Document) -> Iterator[str]:
    wanted = {"top": "top new answers", "true": "true facts"}.get(found["predictions"])
    source = f"{wanted} of {found['split']}" if wanted else found["predictions"]
    seeds = found["seeds"]
    of_seeds = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    each = "" if len(seeds) == 1 else " each"
    yield f"{found['model']} on {found['dataset']}, {of_seeds}"
    yield (
        f"{counted(found['n_predictions'], 'prediction')}{each} ({source}), "
        f"{_both(found['n_adjacent_mean'], found['n_adjacent_std'])} adjacent facts"
    )


def _ending(found: Document) -> Iterator[str]:
    if found["explain_seconds"]:
        times = found["explain_seconds"].items()
        yield "Seconds an explanation: " + ", ".join(f"{name} {took:.2g}" for name, took in times)
    known = f", {found['n_known']:,} of them known before" if found["n_known"] else ""
    yield f"{counted(found['n_retrainings'], 'retraining')}{known}; {found['seconds']:.3g} s in all"
    if not found["control_matches_run"]:
        yield (
            "The control differs from the run: it was trained by another version or processor. "
            "Figures compare retrainings with the control."
        )
    yield from found["notes"]


def _removal(out: Console, found: Document) -> None:
    rows = found["removal"]
    baseline = found["options"]["baseline"]
    compared = {(s["method"], s["k"], s["metric"]): s["p_value"] for s in found["significance"]}
    out.print("Facts removed and the model retrained, in percent with 95% intervals", style="bold")
    columns = [
        Column("method", [row["method"] for row in rows], cut=True),
        Column("k", [str(row["k"]) for row in rows], right=True),
        Column("removed", [_both(row["removed_mean"], row["removed_std"]) for row in rows], True),
    ]
    for metric in ("pd", "tc"):
        p_values = [compared.get((row["method"], row["k"], metric)) for row in rows]
        columns += [
            Column(metric.upper(), [_percent(row[metric]) for row in rows], right=True),
            Column("", [_stars(p_value) for p_value in p_values]),
            Column("95%", [_range(row[f"{metric}_interval"], _percent0) for row in rows], True),
        ]
    out.print(aligned(columns, out.width), end="")
    out.print(f"PD: the {_worth(found)} falls. TC: the top answer changes.")
    if found["significance"]:
        out.print(f"*, **, *** differs from {baseline}: p < 0.05, 0.01, 0.001")


def _changes(out: Console, found: Document) -> None:
    rows, spreads = found["changes"], [row["spread"] for row in found["changes"]]
    baseline = found["options"]["baseline"]
    out.print(
        f"How much lower the {_worth(found)} is than without {baseline}'s facts", style="bold"
    )
    _print(
        out,
        Column("method", [row["method"] for row in rows], cut=True),
        Column("k", [str(row["k"]) for row in rows], right=True),
        Column("mean", [_number(each["mean"]) for each in spreads], right=True),
        Column("median", [_number(each["median"]) for each in spreads], right=True),
        Column("middle half", [_quarters(each) for each in spreads], right=True),
        Column("lowest", [_number(each["low"]) for each in spreads], right=True),
        Column("highest", [_number(each["high"]) for each in spreads], right=True),
    )


def _steadiness(out: Console, found: Document) -> None:
    row = found["steadiness"]
    ends = _range(row["interval"], _percent)
    out.print("Steadiness", style="bold")
    out.print(
        f"One random fact less changes {_percent(row['changed'])}%{ends and f' ({ends})'} "
        f"of the top answers, and the {_worth(found)} by "
        f"{_number(row['mean_change'])} on average; {counted(row['n_removals'], 'removal')}."
    )


def _approximation(out: Console, found: Document) -> None:
    rows = found["approximation"]
    title = f"Approximation: rollback's {_worth(found)} against the retrained one"
    out.print(title, style="bold")
    _print(
        out,
        Column("constraint", [row["constraint"] for row in rows]),
        Column("points", [f"{row['n_points']:,}" for row in rows], right=True),
        Column(f"r of {_worths(found)}", _numbers(rows, "pearson_probability"), right=True),
        Column("r of changes", _numbers(rows, "pearson_change"), right=True),
        Column("Lipschitz", _numbers(rows, "lipschitz", 2), right=True),
    )


def _leave_one_out(out: Console, found: Document) -> None:
    rows = found["leave_one_out"]
    which = "adjacent facts" if found["options"].get("adjacent_only") else "every fact"
    out.print(f"Leave-one-out: correlation with the true influence of {which}", style="bold")
    _print(
        out,
        Column("method", [row["method"] for row in rows], cut=True),
        Column("rho adjacent", _numbers(rows, "rho_adjacent"), right=True),
        Column("95%", [_range(row["rho_adjacent_interval"], _number) for row in rows], right=True),
        Column("rho all", _numbers(rows, "rho_all"), right=True),
        Column("95%", [_range(row["rho_all_interval"], _number) for row in rows], right=True),
        Column("of best", [_percent(row["share_of_best"]) + "%" for row in rows], right=True),
    )
    show_orders(out, rows, _worth(found))


def _datamodelling(out: Console, found: Document) -> None:
    rows = found["datamodelling"]
    out.print("Linear datamodelling score: random halves of the facts", style="bold")
    _print(
        out,
        Column("method", [row["method"] for row in rows], cut=True),
        Column("score", _numbers(rows, "score"), right=True),
        Column("95%", [_range(row["interval"], _number) for row in rows], right=True),
        Column("subsets", [f"{row['n_subsets']:,}" for row in rows], right=True),
    )


def _kelpie(out: Console, found: Document) -> None:
    rows = found["kelpie"]
    title = "Kelpie: explanations of top-ranked predictions removed together, in percent"
    out.print(title, style="bold")
    columns = [
        Column("method", [row["method"] for row in rows], cut=True),
        Column("k", [str(row["k"]) for row in rows], right=True),
        Column("removed", [_whole(row["removed_mean"]) for row in rows], right=True),
    ]
    for name, title in (("hits1", "Hits@1"), ("mrr", "MRR")):
        columns += [
            Column(title, [_percent(row[f"{name}_before"]) for row in rows], right=True),
            Column("after", [_percent(row[f"{name}_after"]) for row in rows], right=True),
            Column("fall", [_percent(row[f"{name}_fall"]) for row in rows], right=True),
        ]
    _print(out, *columns)


def _theory(out: Console, found: Document) -> None:
    row = found["theory"]
    out.print("Theory", style="bold")
    said = {
        "mean |rollback - retrained|": _number(row["rollback_error"], 5),
        "mean |original - retrained|": _number(row["original_error"], 5),
        "stability bound": _bound(row["stability_bound"]),
        "recurrence unrolled": _bound(row["recurrence_bound"]),
        "largest norm C": _number(row["largest_norm"]),
        "Lipschitz constant 2C^2": _number(row["lipschitz"]),
        "largest slope met": _number(row["lipschitz_met"]),
        "smoothness 4C": _number(row["smoothness"]),
        "log normaliser over facts": _deviation(row["normaliser_mean"], row["normaliser_std"]),
        "deviation of scores": _number(row["score_std"]),
    }
    _print(out, Column("", list(said)), Column("", list(said.values()), right=True))


_TABLES: dict[str, Callable[[Console, Document], None]] = {
    "removal": _removal,
    "changes": _changes,
    "steadiness": _steadiness,
    "approximation": _approximation,
    "leave_one_out": _leave_one_out,
    "datamodelling": _datamodelling,
    "kelpie": _kelpie,
    "theory": _theory,
}
"""What shows each part of a document, in this order."""


def _print(out: Console, *columns: Column) -> None:
    out.print(aligned(columns, out.width), end="")


def _worth(found: Document) -> str:
    """What facts have influence on."""
    return "rating" if found["config"]["loss"] == "squared" else "probability"


def _worths(found: Document) -> str:
    return {"rating": "ratings", "probability": "probabilities"}[_worth(found)]


def _stars(p_value: float | None) -> str:
    found = (stars for bar, stars in _STARS if p_value is not None and p_value < bar)
    return next(found, "")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _percent0(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _numbers(rows: Sequence[Document], name: str, digits: int = 3) -> list[str]:
    return [_number(row[name], digits) for row in rows]


def _range(interval: Sequence[float | None] | None, text: Callable[[float | None], str]) -> str:
    """Both ends; nothing where one value alone has none."""
    if interval is None:
        return ""
    low, high = map(text, interval)
    # A minus sign must not be taken for the mark between the two.
    return f"{low} to {high}" if "-" in low + high else f"{low}-{high}"


def _quarters(spread: Document) -> str:
    return _range((spread["first_quarter"], spread["third_quarter"]), _number)


def _whole(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _both(mean: float, deviation: float) -> str:
    """A mean and its deviation; a size that never varies stands alone."""
    if not deviation and mean == int(mean):
        return f"{int(mean):,}"
    return f"{_whole(mean)} ± {_whole(deviation)}"


def _deviation(mean: float | None, deviation: float | None) -> str:
    return f"{_number(mean)} ± {_number(deviation)}"


def _bound(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
