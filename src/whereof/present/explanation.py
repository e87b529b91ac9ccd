"""An explanation in the terminal, in a notebook, as a page and as bars."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from whereof._extras import need
from whereof.explain.explanation import ExplainedFact, Explanation, Joint
from whereof.explain.explanation import Path as GraphPath
from whereof.explain.method import get_method
from whereof.explain.options import ExplainOptions
from whereof.present.names import (
    fact_text,
    has_falls,
    is_rated,
    label_of,
    measure_text,
    name_of,
    named,
    places_of,
    prediction_text,
    standing_text,
    stands_text,
    these_facts,
)
from whereof.present.svg import fit, sign_of
from whereof.present.terminal import heading, on_one_line, room, show
from whereof.table import Cell, Column, Table, count
from whereof.units import number
from whereof.units import show as text

_LETTERS = {"subject": "s", "relation": "r", "object": "o", "rival": "i"}
_WIDE = 100
"""Width from which on there is room for the facts' ids."""
_NOTEBOOK_ROWS = 50
_LABEL = 32
"""Room for a fact beside its bar, in heights of its letters."""
_AXES = {
    "probability": "influence on probability, in percentage points",
    "score": "influence on score",
    "loss": "influence on loss",
    "log_ratio": "influence on the log of the ratio",
}


def show_explanation(out: Console, explanation: Explanation, options: ExplainOptions) -> None:
    """Print a heading, the facts, and what else was asked for."""
    show(out, *_terminal_parts(explanation, options, room(out)))


def explanation_html(explanation: Explanation) -> str:
    """A heading and a table of the facts, for notebooks."""
    from whereof.present.html import page

    return page(
        "notebook.html",
        title=prediction_text(explanation),
        notes=explanation.notes,
        facts=facts_table(explanation, most=_NOTEBOOK_ROWS),
    )


def explanation_page(explanation: Explanation) -> str:
    """A whole HTML file: graph, facts and everything else that the explanation says."""
    from whereof.present.graph_svg import explanation_svg
    from whereof.present.html import page, svg_markup

    return page(
        "explanation.html",
        title=prediction_text(explanation),
        heading=fact_text(explanation.prediction),
        stands=stands_text(explanation),
        about=list(_about(explanation)),
        notes=[f"Note: {note}" for note in explanation.notes],
        graph=svg_markup(explanation_svg(explanation)),
        facts=facts_table(explanation, full=True),
        joints=list(_joint_tables(explanation)),
    )


def plot_explanation(explanation: Explanation, ax: Any = None) -> Any:
    """One horizontal bar a fact, strongest on top, with matplotlib; returns the axes.

    Parameters
    ----------
    explanation
        What `Run.explain` returns.
    ax
        The axes to draw on. Without them a figure is made.
    """
    pyplot = need("matplotlib.pyplot", "plots", "plotting")
    facts, falls = explanation.facts, has_falls(explanation)
    if ax is None:
        size = (8, max(1.6 + 0.32 * len(facts), 2.4))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    places = range(len(facts))
    scale = 100 if falls and explanation.of == "probability" else 1
    ax.barh(
        places,
        [scale * fact.influence for fact in facts],
        color=[sign_of(fact.influence).line for fact in facts],
    )
    ax.set_yticks(places, [_literal(fit(fact_text(fact), _LABEL, 1)) for fact in facts])
    ax.invert_yaxis()
    ax.axvline(0, color="#222222", linewidth=0.8)
    estimated = f"influence, as {explanation.method} estimates it"
    ax.set_xlabel(_AXES[explanation.of] if falls else estimated)
    name = fit(fact_text(explanation.prediction), _LABEL, 1)
    ax.set_title(_literal(f"{name}\n{stands_text(explanation)}"), fontsize="medium")
    return ax


def facts_table(explanation: Explanation, *, full: bool = False, most: int | None = None) -> Table:
    """The facts for pages; columns that no fact fills are left out."""
    points = has_falls(explanation) and explanation.of == "probability"
    columns: list[tuple[Column, Callable[[ExplainedFact], Any]]] = [
        (Column("rank", "rank", "count"), lambda fact: fact.rank),
        (Column("fact", "fact"), lambda fact: _fact_cell(fact, full)),
        (Column("role", "in common"), lambda fact: ", ".join(fact.parts) or fact.role),
        (
            Column("influence", "influence", "points" if points else "signed"),
            lambda fact: Cell(fact.influence, tone=_tone(fact)),
        ),
        (
            Column("probability_without", "probability without", "percent"),
            lambda fact: fact.probability_without,
        ),
        (
            Column("share", "share", "share"),
            lambda fact: Cell(fact.share, tone=_tone(fact)),
        ),
        (Column("top_answer_changes", "top answer changes"), _change),
        (Column("source", "source"), lambda fact: fact.source),
    ]
    if full:
        columns.append((Column("fact_id", "id", "count"), lambda fact: fact.fact_id))
    kept = [
        (column, value)
        for column, value in columns
        if any(getattr(fact, column.name, "fact") is not None for fact in explanation.facts)
    ]
    rows = ([value(fact) for _, value in kept] for fact in explanation.facts)
    note = f"{measure_text(explanation)}. Positive supports the prediction, negative opposes it."
    if any(column.name == "share" for column, _ in kept):
        note += " Share is the part of the influence of all facts with the same sign."
    return Table.of("facts", "", [column for column, _ in kept], rows, note, most)


def _fact_cell(fact: ExplainedFact, full: bool) -> Cell:
    """The labels, and below them the names that they stand for."""
    names = [name_of(fact, place) for place in places_of(fact)]
    labels = [label_of(fact, place) for place in places_of(fact)]
    below = [name for name, label in zip(names, labels, strict=True) if name != label]
    return Cell(" ".join(labels), about=", ".join(below) if full else "")


def _change(fact: ExplainedFact) -> str:
    if not fact.top_answer_changes:
        return "no"
    answer = fact.labels.get("top_answer_without")
    return "yes" if answer is None else f"to {answer}"


def _tone(fact: ExplainedFact | GraphPath) -> str:
    sign = sign_of(fact.influence).word
    return sign if sign in ("supports", "opposes") else ""


def _about(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """What was asked, of whom, and how."""
    prediction, other = explanation.prediction, explanation.contrast
    yield "prediction", fact_text(prediction, full=True)
    if other is not None:
        yield "compared with", f"{named(other.answer, other.label)}: {standing_text(other)}"
        yield "log of their ratio", number(other.log_ratio)
    yield "top new answer", prediction.labels["top_answer"] or ""
    yield "method", explanation.method
    yield "influence on", explanation.of.replace("_", " ")
    yield "adjacent facts", f"{explanation.n_adjacent:,}"
    yield "listed facts", f"{len(explanation.facts):,}"


def _joint_tables(explanation: Explanation) -> Iterator[Table]:
    """Facts rolled back together, below how the prediction stands with all facts."""
    if explanation.stability is not None:
        rows = [(f"top {len(joint.fact_ids)}", joint) for joint in explanation.stability]
        note = "The prediction without its strongest supporting facts, rolled back together."
        yield _joint_table(explanation, "Stability", note, rows)
    if explanation.without is not None:
        ids = ", ".join(map(str, explanation.without.fact_ids))
        note = f"The prediction without the facts {ids}, rolled back together."
        together = [("together", explanation.without)]
        yield _joint_table(explanation, "Without these facts", note, together)


def _joint_table(
    explanation: Explanation, title: str, note: str, joints: Sequence[tuple[str, Joint]]
) -> Table:
    now = explanation.prediction
    unit = "points" if explanation.of == "probability" else "signed"
    columns = [
        Column("without", "without"),
        Column("probability", "probability", "percent"),
        Column("score", "rating" if is_rated(now) else "score", "score"),
        Column("rank", "rank", "count"),
        Column("influence", "influence", unit),
        Column("sum_of_single", "sum of single influences", unit),
        Column("top_answer", "top answer"),
    ]
    blank = Cell("", unit="text")
    top = now.labels["top_answer"]
    rows: list[Sequence[Any]] = [
        ("none", now.probability, now.score, now.rank, blank, blank, top),
        *(
            (
                *(name, joint.probability, joint.score, joint.rank),
                *(joint.influence, joint.sum_of_single, joint.labels["top_answer"]),
            )
            for name, joint in joints
        ),
    ]
    if is_rated(now):
        columns.pop(1)
        rows = [(row[0], *row[2:]) for row in rows]
    return Table.of(title.lower().replace(" ", "-"), title, columns, rows, note)


def _terminal_parts(
    explanation: Explanation, options: ExplainOptions, width: int | None
) -> Iterator[RenderableType | Table]:
    yield from _heading(explanation)
    if explanation.facts:
        yield heading(_list_title(explanation, options))
        yield _terminal_facts(explanation, explanation.facts, width)
        yield from _below(explanation, options)
    else:
        yield _nothing(explanation, options)
    yield from explanation.notes
    if explanation.without:
        joint = explanation.without
        yield heading(f"Without {these_facts(len(joint.fact_ids))}")
        yield _standings(explanation, "", [("without", joint)], "now")
        yield (
            f"influence {text(joint.influence, 'influence')} together; the influences of each "
            f"fact alone add up to {text(joint.sum_of_single, 'influence')}"
        )
    if explanation.stability:
        yield heading("Without its strongest supporting facts")
        joints = [(str(len(joint.fact_ids)), joint) for joint in explanation.stability]
        yield _standings(explanation, "without the top", joints, "0")
    if options.graph and explanation.graph:
        yield from _terminal_graph(explanation, width)


def _heading(explanation: Explanation) -> Iterator[RenderableType]:
    prediction, other = explanation.prediction, explanation.contrast
    yield Text(on_one_line(fact_text(prediction)), style="bold")
    stands = f"{_worth(prediction)}, rank {prediction.rank:,} of {prediction.n_candidates:,}"
    if explanation.of == "score" and not is_rated(prediction):
        stands += f", score {text(prediction.score, 'score')}"
    if prediction.top_answer != name_of(prediction, prediction.asks):
        stands += f"; the top answer is {prediction.labels['top_answer']}"
    yield stands
    if other is not None:
        rated = is_rated(other)
        ratio = "difference of their ratings" if rated else "log of the ratio of probabilities"
        yield f"why {label_of(prediction, prediction.asks)} rather than {other.label}"
        yield f"  {ratio} {other.log_ratio:+.3f}"
        yield f"  the other: {_worth(other)}, rank {other.rank:,}"


def _list_title(explanation: Explanation, options: ExplainOptions) -> str:
    if explanation.without:
        which = "These facts, each alone"
    elif options.top is None:
        which = "All facts that were asked for"
    else:
        which = f"Facts that {'oppose' if options.opposing else 'support'} it"
    return f"{which}, by {_measure(explanation)}"


def _measure(explanation: Explanation) -> str:
    """What influences are, in a few words."""
    if not has_falls(explanation):
        return f"influence as {explanation.method} estimates it"
    score = "rating" if is_rated(explanation.prediction) else "score"
    return {
        "probability": "influence on its probability",
        "score": f"influence on its {score}",
        "loss": "how much they lower its loss",
        "log_ratio": "influence on that",
    }[explanation.of]


def _terminal_facts(
    explanation: Explanation,
    facts: Sequence[ExplainedFact],
    width: int | None,
    *,
    listed: bool = True,
) -> Table:
    """One row a fact; a column that says nothing is left out. Shares are of `listed` facts."""
    without = [_without(explanation, fact) for fact in facts]
    columns: list[tuple[Column, list[Any]]] = [
        (Column("rank", "", "count"), [fact.rank for fact in facts]),
    ]
    if width is None or width >= _WIDE:
        columns.append((Column("id", "fact", "count"), [str(fact.fact_id) for fact in facts]))
    for place in places_of(facts[0]):
        columns.append((Column(place, place), [label_of(fact, place) for fact in facts]))
    letters = [" ".join(map(_LETTERS.__getitem__, fact.parts)) for fact in facts]
    columns.append((Column("parts", "in common"), letters))
    if any(fact.rating is not None for fact in facts):
        columns.append((Column("rating", "rating", "number"), [fact.rating for fact in facts]))
    columns.append((Column("influence", "influence", "influence"), _influences(facts)))
    if any(cell.value is not None for cell in without):
        columns.append((Column("without", "without", "probability"), without))
    if listed and any(fact.share is not None for fact in facts):
        columns.append((Column("share", "share", "percent"), [fact.share for fact in facts]))
    marks = [Cell("*" if fact.top_answer_changes else "", tone="changed") for fact in facts]
    columns.append((Column("mark", ""), marks))
    if any(fact.source is not None for fact in facts):
        columns.append((Column("source", "source"), [fact.source for fact in facts]))
    return _by_columns("facts", columns)


def _by_columns(name: str, columns: Sequence[tuple[Column, Sequence[Any]]]) -> Table:
    rows = zip(*(cells for _, cells in columns), strict=True)
    return Table.of(name, "", [column for column, _ in columns], rows)


def _influences(items: Sequence[ExplainedFact] | Sequence[GraphPath]) -> list[Cell]:
    return [Cell(item.influence, tone=_tone(item)) for item in items]


def _without(explanation: Explanation, item: ExplainedFact | GraphPath) -> Cell:
    """The prediction without a fact: its score, its ratio or its probability."""
    if explanation.of == "score" and has_falls(explanation):
        return Cell(explanation.prediction.score - item.influence, unit="score")
    if explanation.contrast and has_falls(explanation):
        return Cell(explanation.contrast.log_ratio - item.influence, unit="influence")
    return Cell(item.probability_without)


def _below(explanation: Explanation, options: ExplainOptions) -> Iterator[str]:
    facts = explanation.facts
    tops = {fact.labels["top_answer_without"] for fact in facts if fact.top_answer_changes}
    if tops:
        yield f"* without it the top answer is {tops.pop() if len(tops) == 1 else 'another'}"
    rival = any("rival" in fact.parts for fact in facts)
    also = ", i other answer" if rival else ""
    yield f"in common with the prediction: s subject, r relation, o object{also}"
    n_adjacent = count(explanation.n_adjacent, "adjacent fact")
    of = " named;" if explanation.without else " of"
    took = text(explanation.seconds, "seconds")
    yield f"{len(facts):,}{of} {n_adjacent}, in {took}; method {explanation.method}"
    yield f"next: {', '.join(_next(explanation, options))}"


def _next(explanation: Explanation, options: ExplainOptions) -> Iterator[str]:
    if options.top is not None and not explanation.without:
        if not options.opposing:
            yield "--opposing"
        if isinstance(options.top, int) and len(explanation.facts) == options.top:
            yield "--top all"
    if not options.stability and "groups" in get_method(explanation.method).can:
        yield "--stability"
    yield "--json"


def _nothing(explanation: Explanation, options: ExplainOptions) -> str:
    n_adjacent = count(explanation.n_adjacent, "adjacent fact")
    if options.opposing:
        return f"no fact opposes it, of {n_adjacent}; leave out --opposing for those that support"
    return f"no fact supports it, of {n_adjacent}; see those against it with --opposing"


def _standings(
    explanation: Explanation, title: str, joints: Sequence[tuple[str, Joint]], now: str
) -> Table:
    """The prediction with all facts, then without some, one row each."""
    before = explanation.prediction
    rated = is_rated(before)
    columns = [
        Column("without", title),
        Column("score", "rating", "score")
        if rated
        else Column("probability", "probability", "probability"),
        Column("rank", "rank", "count"),
        Column("top_answer", "top answer"),
    ]
    rows = [
        (now, before.score if rated else before.probability, before.rank, _top(before.labels)),
        *(
            (
                *(name, joint.score if rated else joint.probability, joint.rank),
                Cell(_top(joint.labels), tone="changed" if joint.top_answer_changes else ""),
            )
            for name, joint in joints
        ),
    ]
    return Table.of("standings", "", columns, rows)


def _terminal_graph(
    explanation: Explanation, width: int | None
) -> Iterator[RenderableType | Table]:
    graph = explanation.graph
    assert graph is not None
    lists = {"Facts between the same two entities": graph.between}
    if explanation.prediction.relation is not None:
        lists["Facts of the same relation"] = graph.same_relation
    for title, facts in lists.items():
        yield heading(title)
        if facts:
            yield _terminal_facts(explanation, facts, width, listed=False)
        else:
            yield "none that supports it"
    yield heading("Pairs that join the two through a third entity, by their joint influence")
    paths = graph.paths
    yield _paths_table(explanation, paths) if paths else "none that supports it"


def _paths_table(explanation: Explanation, paths: Sequence[GraphPath]) -> Table:
    """Two rows a pair."""
    places = places_of(paths[0].facts[0])
    columns = [
        Column("number", ""),
        *(Column(place, "") for place in places),
        Column("influence", "influence", "influence"),
        Column("without", "without", "probability"),
    ]
    blank = Cell("", unit="text")
    rows = []
    for number_, (path, influence) in enumerate(zip(paths, _influences(paths), strict=True), 1):
        first, second = ([label_of(fact, place) for place in places] for fact in path.facts)
        rows.append((str(number_), *first, influence, _without(explanation, path)))
        rows.append(("", *second, blank, blank))
    return Table.of("paths", "", columns, rows)


def _worth(item: Any) -> str:
    if item.probability is None:
        return f"rating {text(item.score, 'score')}"
    return f"probability {text(item.probability, 'probability')}"


def _top(labels: Any) -> str:
    return str(labels["top_answer"])


def _literal(words: str) -> str:
    """A text in which a dollar sign begins no formula."""
    return words.replace("$", r"\$")
