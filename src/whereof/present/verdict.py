"""A verdict in words, in the terminal and as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from whereof.explain.explanation import NamedFact
from whereof.predict.standing import Standing
from whereof.present.names import (
    fact_text,
    label_of,
    output_noun,
    output_unit,
    places_of,
    these_facts,
)
from whereof.present.terminal import heading, on_one_line, show
from whereof.retrain.verify import Summary, Verdict
from whereof.table import Cell, Column, Table
from whereof.units import count
from whereof.units import show as text

_SHOWN = 20
"""Number of facts to list; the others are only counted."""


def verdict_words(verdict: Verdict) -> str:
    """What really happened, what was predicted, and the results of other seeds."""
    return " ".join(_sentences(verdict))


def show_verdict(out: Console, verdict: Verdict, *, listed: bool = True) -> None:
    """Print a verdict, with its facts if `listed`."""
    name = Text(on_one_line(fact_text(verdict.prediction)), style="bold")
    show(out, name, verdict_words(verdict))
    for table in _tables(verdict, most=_SHOWN):
        if listed or table.name not in ("each", "facts"):
            show(out, heading(table.title), replace(table, title="", note=""))
    more = ["--each"] * (not verdict.each) + ["--seeds 5"] * (not verdict.seeds) + ["--json"]
    effort = f"{_effort(verdict)}; method {verdict.method}"
    show(out, *verdict.notes, effort, f"next: {', '.join(more)}")


def verdict_page(verdict: Verdict) -> str:
    """A whole HTML file: the verdict in words, with its tables."""
    from whereof.present.html import page

    parts = [
        ("paragraphs", [verdict_words(verdict)], "verdict"),
        ("items", list(_about(verdict))),
        ("paragraphs", [f"Note: {note}" for note in verdict.notes]),
        *(("titled", table) for table in _tables(verdict, most=None)),
    ]
    name = fact_text(verdict.prediction)
    return page(parts, title=f"{name}: verdict", heading=name)


def _sentences(verdict: Verdict) -> Iterator[str]:
    before, actual, predicted = verdict.before, verdict.actual, verdict.predicted
    n_facts = len(verdict.removed)
    facts = "this fact" if n_facts == 1 else f"these {n_facts:,} facts"
    said = "" if predicted is None else f"; rollback predicted {_amount(predicted)}"
    yield f"Without {facts} the {output_noun(before)} {_change(before, actual)}{said}."
    yield f"{_top_change(before, actual)}{_as_predicted(actual, predicted)}."
    if verdict.summary is not None:
        summary, unit = verdict.summary, output_unit(before)
        first, last = (text(each.mean, unit) for each in (summary.before, summary.actual))
        yield (
            f"In {summary.n_fell} of {summary.n_seeds} seeds it falls, on average from "
            f"{first} to {last}; the top answer changes in {summary.n_top_changed}."
        )


def _change(before: Standing, actual: Standing) -> str:
    if before.value == actual.value:
        return f"stays at {_amount(before)}"
    verb = "falls" if actual.value < before.value else "rises"
    if _amount(before) == _amount(actual):
        return f"hardly {verb}, at {_amount(before)}"
    return f"really {verb} from {_amount(before)} to {_amount(actual)}"


def _top_change(before: Standing, actual: Standing) -> str:
    if before.top_answer == actual.top_answer:
        return f"The top answer stays {before.top_label}"
    return f"The top answer changes from {before.top_label} to {actual.top_label}"


def _as_predicted(actual: Standing, predicted: Standing | None) -> str:
    if predicted is None:
        return ""
    if predicted.top_answer == actual.top_answer:
        return ", as predicted"
    return f"; rollback predicted {predicted.top_label}"


def _amount(stand: Standing) -> str:
    return text(stand.value, output_unit(stand))


def _about(verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "prediction", fact_text(verdict.prediction, full=True)
    yield "facts chosen by", verdict.method
    yield "removed facts", f"{len(verdict.removed):,}"
    yield "engine", verdict.engine
    yield "effort", _effort(verdict)
    yield "control equals the stored run", "yes" if verdict.control_matches_run else "no"


def _effort(verdict: Verdict) -> str:
    known = f", {verdict.n_known:,} stored already" if verdict.n_known else ""
    took = text(verdict.seconds, "seconds")
    return f"{count(verdict.n_retrainings, 'retraining')}{known}, in {took}"


def _tables(verdict: Verdict, most: int | None) -> Iterator[Table]:
    """Tables of the verdict: the outcome, the facts, and other seeds."""
    yield _outcome(verdict)
    if verdict.each:
        yield _each(verdict, most)
    else:
        estimated = Column("influence", "estimated influence", "influence")
        columns = [*_named(verdict.facts), (estimated, [fact.influence for fact in verdict.facts])]
        yield Table.by_columns("facts", f"The facts, by {verdict.method}", columns, most=most)
    if verdict.summary is not None:
        yield _seeds(verdict, verdict.summary)


def _outcome(verdict: Verdict) -> Table:
    """Before, predicted and actual, one row each."""
    before = verdict.before
    stands = {"before": before, "predicted": verdict.predicted, "actual": verdict.actual}
    columns = [
        Column("", ""),
        Column("value", output_noun(before), output_unit(before)),
        Column("rank", "rank", "count"),
        Column("top_answer", "top answer"),
    ]
    rows = [
        (name, each.value, each.rank, _top_cell(each, before))
        for name, each in stands.items()
        if each is not None
    ]
    note = (
        "before: retrained with all facts, the control. predicted: by rollback, an estimate. "
        "actual: retrained without the facts."
    )
    return Table.of("outcome", f"Without {these_facts(len(verdict.removed))}", columns, rows, note)


def _each(verdict: Verdict, most: int | None) -> Table:
    """Predicted against actual, one row per fact."""
    each, before, unit = verdict.each, verdict.before, output_unit(verdict.before)
    predicted = [None if fact.predicted is None else fact.predicted.value for fact in each]
    tops = [_top_cell(fact.actual, before) for fact in each]
    columns = [
        *_named(each),
        (Column("predicted", "predicted", unit), predicted),
        (Column("actual", "actual", unit), [fact.actual.value for fact in each]),
        (Column("rank", "rank", "count"), [fact.actual.rank for fact in each]),
        (Column("top_answer", "new top answer"), [top if top.tone else None for top in tops]),
    ]
    return Table.by_columns("each", "Without each of them alone", columns, most=most)


def _named(facts: Sequence[NamedFact]) -> Iterator[tuple[Column, list[Any]]]:
    """Id, names and source of facts."""
    yield Column("fact", "fact", "count"), [str(fact.fact_id) for fact in facts]
    for place in places_of(facts[0]):
        yield Column(place, place), [label_of(fact, place) for fact in facts]
    yield Column("source", "source"), [fact.source for fact in facts]


def _seeds(verdict: Verdict, summary: Summary) -> Table:
    """One row per seed, then their mean and deviation."""
    unit = output_unit(verdict.before)
    columns = [
        Column("seed", "seed"),
        Column("before", "before", unit),
        Column("actual", "actual", unit),
        Column("fall", "fall", output_unit(verdict.before, "points")),
        Column("top_before", "top before"),
        Column("top_after", "top after"),
    ]
    rows: list[Sequence[Any]] = []
    for each in verdict.seeds:
        before, actual = each.before, each.actual
        values = (before.value, actual.value, before.value - actual.value)
        rows.append((str(each.seed), *values, before.top_label, _top_cell(actual, before)))
    for name, field in (("mean", "mean"), ("deviation", "std")):
        spread = [getattr(each, field) for each in (summary.before, summary.actual, summary.fall)]
        rows.append((name, *spread, "", ""))
    return Table.of("seeds", "Without the same facts, under several seeds", columns, rows)


def _top_cell(stand: Standing, before: Standing) -> Cell:
    return Cell(stand.top_label, tone="changed" if stand.top_answer != before.top_answer else "")
