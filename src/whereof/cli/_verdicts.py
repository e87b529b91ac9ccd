"""A verdict in the terminal: a sentence, what was predicted against what happened, and more."""

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from whereof.cli._columns import Column, aligned, fitted, on_one_line
from whereof.cli._screen import counted
from whereof.cli.progress import time_text
from whereof.drawing._text import percent
from whereof.explain import Prediction
from whereof.retrain import Verdict
from whereof.retrain._verdict import EachFact, RemovedFact, Stand

_PLACES = ("subject", "relation", "object")
_NARROWEST = 64
_CHANGED = "bold yellow"
_SHOWN = 20
"""Facts that are listed; the others are counted."""


def show_verdict(out: Console, verdict: Verdict, *, listed: bool = True) -> None:
    """Print a verdict in no more columns than the terminal has, 80 elsewhere.

    Its facts are `listed`, unless they were before.
    """
    width = max(out.width, _NARROWEST)
    for part in _parts(verdict, width, listed):
        plain = isinstance(part, str | Text)
        out.print(part, soft_wrap=not plain, width=width, end="\n" if plain else "")


def _parts(verdict: Verdict, width: int, listed: bool) -> Iterator[RenderableType]:
    words = _labels(verdict.prediction)
    yield Text(fitted(" ".join(["{}"] * len(words)), words, width), style="bold")
    yield on_one_line(str(verdict))
    n_facts = len(verdict.removed)
    these = "this fact" if n_facts == 1 else f"these {n_facts:,} facts together"
    yield Text(f"\nWithout {these}", style="bold")
    yield _outcome(verdict, width)
    if listed:
        yield from _listed(verdict, width)
    if verdict.seeds:
        yield Text("\nWithout the same facts, under several seeds", style="bold")
        yield _seeds(verdict, width)
    yield from map(on_one_line, verdict.notes)
    yield from _below(verdict)


def _listed(verdict: Verdict, width: int) -> Iterator[RenderableType]:
    """The facts, with what became of the prediction without each where that is known."""
    if verdict.each:
        yield Text("\nWithout each of them alone", style="bold")
        yield _each(verdict, width)
    else:
        yield Text(f"\nThe facts, by {verdict.method}", style="bold")
        yield _facts(verdict, width)
    if len(verdict.removed) > _SHOWN:
        yield f"and {len(verdict.removed) - _SHOWN:,} more; --json has all"


def _outcome(verdict: Verdict, width: int) -> RenderableType:
    """Before, predicted and actual, one row each."""
    rows = {"before": verdict.before, "predicted": verdict.predicted, "actual": verdict.actual}
    stands = {name: stand for name, stand in rows.items() if stand is not None}
    top = verdict.before.top_answer
    values = list(stands.values())
    styles = [_CHANGED if stand.top_answer != top else "" for stand in values]
    return aligned(
        [
            Column("", list(stands)),
            Column(
                "rating" if _is_rated(verdict) else "probability",
                list(map(_amount, values)),
                right=True,
            ),
            Column("rank", [f"{stand.rank:,}" for stand in values], right=True),
            Column("top answer", list(map(_top, values)), cut=True, styles=styles),
        ],
        width,
    )


def _facts(verdict: Verdict, width: int) -> RenderableType:
    """What was removed, with what the method said of it."""
    facts = verdict.facts[:_SHOWN]
    influences = ["" if f.influence is None else _signed(f.influence) for f in facts]
    return aligned(
        [
            *_named(facts),
            Column("influence" if any(influences) else "", influences, right=True),
        ],
        width,
    )


def _each(verdict: Verdict, width: int) -> RenderableType:
    """Predicted against actual, one row a fact; a star where the top answer changes."""
    each, top = verdict.each[:_SHOWN], verdict.before.top_answer
    predicted = ["" if f.predicted is None else _amount(f.predicted) for f in each]
    marks = ["*" if fact.actual.top_answer != top else "" for fact in each]
    return aligned(
        [
            *_named(each),
            Column("predicted" if any(predicted) else "", predicted, right=True),
            Column("actual", [_amount(fact.actual) for fact in each], right=True),
            Column("rank", [f"{fact.actual.rank:,}" for fact in each], right=True),
            Column("", marks, styles=[_CHANGED] * len(marks)),
        ],
        width,
    )


def _named(facts: Sequence[RemovedFact | EachFact]) -> Iterator[Column]:
    yield Column("fact", [str(fact.fact_id) for fact in facts], right=True)
    places = [place for place in _PLACES if facts[0].labels[place] is not None]
    for place, cells in zip(places, zip(*map(_labels, facts), strict=True), strict=True):
        yield Column(place, cells, cut=True)


def _seeds(verdict: Verdict, width: int) -> RenderableType:
    """One row a seed, then what they come to together."""
    seeds, summary, rated = verdict.seeds, verdict.summary, _is_rated(verdict)
    assert summary is not None
    worth, fall = (_rating, _rating) if rated else (percent, _points)
    falls = [each.before.worth - each.actual.worth for each in seeds]
    rows = (
        ("before", worth, [each.before.worth for each in seeds], summary.before),
        ("actual", worth, [each.actual.worth for each in seeds], summary.actual),
        ("fall" if rated else "points fallen", fall, falls, summary.fall),
    )
    changed = [each.before.top_answer != each.actual.top_answer for each in seeds]
    return aligned(
        [
            Column("seed", [*(str(each.seed) for each in seeds), "mean", "deviation"], right=True),
            *(
                Column(title, [*map(text, values), text(all_.mean), text(all_.std)], right=True)
                for title, text, values, all_ in rows
            ),
            Column("top before", [*(_top(each.before) for each in seeds), "", ""], cut=True),
            Column(
                "top after",
                [*(_top(each.actual) for each in seeds), "", ""],
                cut=True,
                styles=[*(_CHANGED if each else "" for each in changed), "", ""],
            ),
        ],
        width,
    )


def _below(verdict: Verdict) -> Iterator[str]:
    if any(fact.actual.top_answer != verdict.before.top_answer for fact in verdict.each):
        yield "* without it the top answer is another"
    known = f", {verdict.n_known:,} known from before" if verdict.n_known else ""
    retrained = counted(verdict.n_retrainings, "retraining")
    yield f"{retrained}{known}, in {time_text(verdict.seconds)}; {verdict.method}"
    more = ["--each"] * (not verdict.each) + ["--seeds 5"] * (not verdict.seeds) + ["--json"]
    yield f"next: {', '.join(more)}"


def _labels(item: Prediction | RemovedFact | EachFact) -> list[str]:
    """Labels of a fact or a prediction."""
    labels = (item.labels[place] for place in _PLACES)
    return [on_one_line(label) for label in labels if label is not None]


def _is_rated(verdict: Verdict) -> bool:
    """Whether the model learned ratings, so that scores are what is said of it."""
    return verdict.before.probability is None


def _amount(stand: Stand) -> str:
    return _rating(stand.score) if stand.probability is None else percent(stand.probability)


def _rating(value: float) -> str:
    return f"{value:.3f}"


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _top(stand: Stand) -> str:
    return on_one_line(stand.labels["top_answer"])


def _signed(value: float) -> str:
    return f"{value:+.4f}" if abs(value) >= 0.001 or value == 0 else f"{value:+.1e}"
