"""A verdict in words, in the terminal and as a page."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from whereof.present.names import fact_text, is_rated, label_of, places_of, these_facts
from whereof.present.terminal import heading, on_one_line, show
from whereof.retrain.verdict import Verdict
from whereof.table import Cell, Column, Table, count
from whereof.units import percent
from whereof.units import show as text

_SHOWN = 20
"""Number of facts to list; the others are only counted."""


def verdict_words(verdict: Verdict) -> str:
    """What really happened, what was predicted, and the results of other seeds."""
    return " ".join(_sentences(verdict))


def show_verdict(out: Console, verdict: Verdict, *, listed: bool = True) -> None:
    """Print a verdict, with its facts if `listed`."""
    show(out, *_terminal_parts(verdict, listed))


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
    noun = "rating" if is_rated(before) else "probability"
    yield f"Without {facts} the {noun} {_change(before, actual)}{said}."
    yield f"{_top_change(before, actual)}{_as_predicted(actual, predicted)}."
    if verdict.summary is not None:
        summary = verdict.summary
        means = (_value(each.mean, is_rated(before)) for each in (summary.before, summary.actual))
        yield (
            f"In {summary.n_fell} of {summary.n_seeds} seeds it falls, on average from "
            f"{' to '.join(means)}; the top answer changes in {summary.n_top_changed}."
        )


def _change(before: Any, actual: Any) -> str:
    if before.value == actual.value:
        return f"stays at {_amount(before)}"
    verb = "falls" if actual.value < before.value else "rises"
    if _amount(before) == _amount(actual):
        return f"hardly {verb}, at {_amount(before)}"
    return f"really {verb} from {_amount(before)} to {_amount(actual)}"


def _top_change(before: Any, actual: Any) -> str:
    if before.top_answer == actual.top_answer:
        return f"The top answer stays {_top(before)}"
    return f"The top answer changes from {_top(before)} to {_top(actual)}"


def _as_predicted(actual: Any, predicted: Any) -> str:
    if predicted is None:
        return ""
    if predicted.top_answer == actual.top_answer:
        return ", as predicted"
    return f"; rollback predicted {_top(predicted)}"


def _terminal_parts(verdict: Verdict, listed: bool) -> Iterator[RenderableType | Table]:
    yield Text(on_one_line(fact_text(verdict.prediction)), style="bold")
    yield verdict_words(verdict)
    for table in _tables(verdict, most=_SHOWN):
        if listed or table.name not in ("each", "facts"):
            yield heading(table.title)
            yield Table(table.name, "", table.columns, table.rows, most=table.most)
    yield from verdict.notes
    yield f"{_effort(verdict)}; method {verdict.method}"
    more = ["--each"] * (not verdict.each) + ["--seeds 5"] * (not verdict.seeds) + ["--json"]
    yield f"next: {', '.join(more)}"


def _about(verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "prediction", fact_text(verdict.prediction, full=True)
    yield "facts chosen by", verdict.method
    yield "removed facts", f"{len(verdict.removed):,}"
    yield "engine", verdict.engine
    yield "effort", _effort(verdict)
    yield "control equals the stored run", "yes" if verdict.control_matches_run else "no"


def _effort(verdict: Verdict) -> str:
    known = f", {verdict.n_known:,} known from before" if verdict.n_known else ""
    took = text(verdict.seconds, "seconds")
    return f"{count(verdict.n_retrainings, 'retraining')}{known}, in {took}"


def _tables(verdict: Verdict, most: int | None) -> Iterator[Table]:
    """Tables of the verdict: the outcome, the facts, and other seeds."""
    yield _outcome(verdict)
    yield _each(verdict, most) if verdict.each else _facts(verdict, most)
    if verdict.seeds:
        yield _seeds(verdict)


def _outcome(verdict: Verdict) -> Table:
    """Before, predicted and actual, one row each."""
    rows = {"before": verdict.before, "predicted": verdict.predicted, "actual": verdict.actual}
    top = verdict.before.top_answer
    columns = [
        Column("", ""),
        _value_column(verdict, "value", ""),
        Column("rank", "rank", "count"),
        Column("top_answer", "top answer"),
    ]
    lines = [
        (name, each.value, each.rank, _top_cell(each, top))
        for name, each in rows.items()
        if each is not None
    ]
    note = (
        "before: retrained with all facts, the control. predicted: by rollback, an estimate. "
        "actual: retrained without the facts."
    )
    title = f"Without {these_facts(len(verdict.removed))}"
    return Table.of("outcome", title, columns, lines, note)


def _facts(verdict: Verdict, most: int | None) -> Table:
    """What was removed, with what the method estimated for it."""
    estimated = Column("influence", "estimated influence", "influence")
    columns = [*_named(verdict.facts), (estimated, [fact.influence for fact in verdict.facts])]
    return Table.by_columns("facts", f"The facts, by {verdict.method}", columns, most=most)


def _each(verdict: Verdict, most: int | None) -> Table:
    """Predicted against actual, one row per fact."""
    each, top = verdict.each, verdict.before.top_answer
    predicted = [None if fact.predicted is None else fact.predicted.value for fact in each]
    tops = [_top_cell(fact.actual, top) if fact.actual.top_answer != top else None for fact in each]
    columns = [
        *_named(each),
        (_value_column(verdict, "predicted", "predicted"), predicted),
        (_value_column(verdict, "actual", "actual"), [fact.actual.value for fact in each]),
        (Column("rank", "rank", "count"), [fact.actual.rank for fact in each]),
        (Column("top_answer", "new top answer"), tops),
    ]
    return Table.by_columns("each", "Without each of them alone", columns, most=most)


def _named(facts: Sequence[Any]) -> Iterator[tuple[Column, list[Any]]]:
    """Id, names and source of facts."""
    yield Column("fact", "fact", "count"), [str(fact.fact_id) for fact in facts]
    for place in places_of(facts[0]):
        yield Column(place, place), [label_of(fact, place) for fact in facts]
    yield Column("source", "source"), [fact.source for fact in facts]


def _seeds(verdict: Verdict) -> Table:
    """One row per seed, then their mean and deviation."""
    seeds, summary, rated = verdict.seeds, verdict.summary, is_rated(verdict.before)
    assert summary is not None
    columns = [
        Column("seed", "seed"),
        _value_column(verdict, "before", "before"),
        _value_column(verdict, "actual", "actual"),
        Column("fall", "fall", "score" if rated else "points"),
        Column("top_before", "top before"),
        Column("top_after", "top after"),
    ]
    rows: list[Sequence[Any]] = [
        (
            *(str(each.seed), each.before.value, each.actual.value),
            *(each.before.value - each.actual.value, _top(each.before)),
            _top_cell(each.actual, each.before.top_answer),
        )
        for each in seeds
    ]
    for name, field in (("mean", "mean"), ("deviation", "std")):
        values = (getattr(each, field) for each in (summary.before, summary.actual, summary.fall))
        rows.append((name, *values, "", ""))
    return Table.of("seeds", "Without the same facts, under several seeds", columns, rows)


def _value_column(verdict: Verdict, name: str, title: str) -> Column:
    if is_rated(verdict.before):
        return Column(name, title or "rating", "score")
    return Column(name, title or "probability", "percent")


def _top_cell(stand: Any, before: str) -> Cell:
    return Cell(_top(stand), tone="changed" if stand.top_answer != before else "")


def _amount(stand: Any) -> str:
    return _value(stand.value, is_rated(stand))


def _value(value: float, rated: bool) -> str:
    return text(value, "score") if rated else percent(value)


def _top(stand: Any) -> str:
    return str(stand.labels["top_answer"])
