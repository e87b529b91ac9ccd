"""An explanation in the terminal, in a notebook, as a page and as bars."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from whereof import units
from whereof.errors import need
from whereof.explain.explanation import (
    ExplainedFact,
    Explanation,
    Graph,
    Joint,
    MethodCost,
    agreement_text,
)
from whereof.explain.explanation import Path as GraphPath
from whereof.explain.method import get_method
from whereof.explain.options import ExplainOptions
from whereof.present import html, names, sentence
from whereof.present.fact_table import fact_table, in_top_title
from whereof.present.graph import explanation_svg
from whereof.present.svg import NEITHER, fit, sign_of
from whereof.present.terminal import heading, on_one_line, room, show
from whereof.table import Cell, Column, Table

_LETTERS = {"subject": "s", "relation": "r", "object": "o", "rival": "i"}
_AXES = {"probability": "probability, in percentage points", "log_ratio": "the log of the ratio"}


def show_explanation(
    out: Console, explanation: Explanation, options: ExplainOptions, run: str | None = None
) -> None:
    """Print a heading, the facts, and what else was asked for; run: its folder, for commands."""
    show(out, *_heading(explanation))
    if explanation.facts:
        ids = (room(out) or 100) >= 100  # a narrow terminal has no room for them
        for which, facts in _lists(explanation, options):
            title = heading(_list_title(explanation, which))
            listed = replace(explanation, facts=facts)
            show(out, title, _facts_table(listed, ids=ids))
        show(out, *_below(explanation, options, run))
    else:
        noun = names.fact_noun(explanation)
        verb, remedy = "supports", f"--opposing lists {noun}s that oppose it"
        if options.opposing:
            verb, remedy = "opposes", f"leave out --opposing to list {noun}s that support it"
        show(out, f"no {noun} {verb} it, of {_ranked_text(explanation)}; {remedy}")
    show(out, *explanation.notes)
    if explanation.seeds is not None:
        show(out, agreement_text(explanation))
    for table in _joint_tables(explanation, page=False):
        show(out, "", table)
    if options.graph and explanation.graph:
        show(out, *_graph_lists(explanation, explanation.graph))


def explanation_html(explanation: Explanation) -> str:
    """The prediction in words and a table of the facts, for notebooks."""
    parts = [
        *_opening(explanation),
        ("paragraphs", [*explanation.notes, *groups_text(explanation)]),
        facts_part(explanation, most=50),
    ]
    return html.page(parts, title=names.fact_text(explanation.prediction), template="notebook")


def explanation_page(explanation: Explanation, run: str | None = None) -> str:
    """A whole HTML file: facts, graph and everything else that the explanation says.

    run: its folder, for commands.
    """
    because = sentence.because(explanation)
    parts = [
        *_opening(explanation),
        ("paragraphs", [because] if because else []),
        ("paragraphs", [f"The numbers are {confirmation_text(explanation)}."]),
        ("paragraphs", _reliability_texts(explanation, run)),
        ("paragraphs", [f"Note: {note}" for note in explanation.notes]),
        ("paragraphs", [*groups_text(explanation)]),
        ("paragraphs", [agreement_text(explanation)] if explanation.seeds else []),
        ("heading", f"The {names.fact_noun(explanation)}s it is made of"),
        facts_part(explanation, ids=True),
        ("heading", "Graph"),
        ("drawing", explanation_svg(explanation, styled=False)),
        *(("titled", table) for table in _joint_tables(explanation)),
        ("heading", "About"),
        ("items", list(_about(explanation))),
    ]
    title = names.prediction_text(explanation)
    heading = names.heading(explanation.prediction)
    return html.page(parts, title=title, heading=heading, scripts=["table.js", "facts.js"])


def facts_part(explanation: Explanation, **options: Any) -> html.Part:
    """The table of the facts, or a sentence if there are none; options: of `fact_table`."""
    if not explanation.facts:
        return "paragraphs", [f"No {names.fact_noun(explanation)}s are listed."]
    return "fact_table", fact_table(explanation, **options)


def _opening(explanation: Explanation) -> Iterator[html.Part]:
    """What the explanation says in one sentence, and how the prediction stands."""
    if said := sentence.plain_sentence(explanation, mark=False):
        is_estimate = explanation.estimate or explanation.stability is not None
        yield "sentence", said, "estimate" if is_estimate else "retrained"
    if said := sentence.against(explanation):
        yield "paragraphs", [said]
    yield "figure", *names.figure(explanation.prediction)
    if explanation.contrast is not None:
        other = explanation.contrast
        yield "paragraphs", [f"Compared with {other.label}: {names.standing_text(other)}."]


def plot_explanation(explanation: Explanation, ax: Any = None) -> Any:
    """One horizontal bar per fact, strongest on top, with matplotlib; returns the axes."""
    pyplot = need("matplotlib.pyplot", "plots", "plotting")
    facts, falls = explanation.facts, names.has_falls(explanation)
    if ax is None:
        size = (8, max(1.6 + 0.32 * len(facts), 2.4))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    places = range(len(facts))
    scale = 100 if falls and explanation.of == "probability" else 1
    influences = [fact.influence for fact in facts]
    colours = [sign_of(influence).line for influence in influences]
    ax.barh(places, [scale * influence for influence in influences], color=colours)
    ax.set_yticks(places, [_literal(names.fact_text(fact)) for fact in facts])
    ax.invert_yaxis()
    ax.axvline(0, color="#222222", linewidth=0.8)
    measured = f"influence on {_AXES.get(explanation.of, explanation.of)}"
    measured = names.estimated_title(measured, explanation)
    ax.set_xlabel(measured if falls else f"influence, as {explanation.method} estimates it")
    name, stands = names.fact_text(explanation.prediction), names.stands_text(explanation)
    ax.set_title(f"{_literal(name)}\n{stands}", fontsize="medium")
    return ax


def _literal(name: str) -> str:
    """A name that fits; dollar signs are escaped, so that matplotlib sees no formula."""
    return fit(name, 32, 1).replace("$", r"\$")


def _facts_table(explanation: Explanation, *, ids: bool = True) -> Table:
    """One row per fact, without empty columns. ids: with the ids of the facts."""
    facts, falls = explanation.facts, names.has_falls(explanation)
    two_way = explanation.prediction.relation is None  # the columns show what is in common
    estimated = partial(names.estimated_title, explanation=explanation)
    is_compared = any(fact.predicted is not None for fact in facts)
    title = "actual" if is_compared else estimated("influence")
    columns: list[tuple[Column, list[Any]]] = [
        (Column("rank", "", "count"), [fact.rank for fact in facts]),
        *names.fact_columns(facts, ids=ids),
        (Column("parts", "in common"), [None if two_way else _parts(fact) for fact in facts]),
        (Column("rating", "rating", "mean"), [fact.rating for fact in facts]),
        (Column("weight", "weight", "number"), [fact.weight for fact in facts]),
        (Column("predicted", "estimate", "influence"), [fact.predicted for fact in facts]),
        (Column("influence", title, "influence"), list(map(_influence, facts))),
        (
            Column("without", estimated("without"), "probability"),
            [_without(explanation, fact, falls) for fact in facts],
        ),
        (Column("share", "share", "share"), [fact.share for fact in facts]),
        (
            Column("top_answer_without", estimated("new top answer")),
            [_new_top(fact) if explanation.names_new_tops else None for fact in facts],
        ),
        (Column("in_top", in_top_title(explanation), "count"), [fact.in_top for fact in facts]),
        (Column("source", "source"), [fact.source for fact in facts]),
    ]
    return Table.by_columns("facts", "", columns)


def _parts(fact: ExplainedFact) -> str:
    return " ".join(_LETTERS[part] for part in fact.parts)


def _influence(item: ExplainedFact | GraphPath) -> Cell:
    return Cell(item.influence, tone=_tone(item))


def _without(
    explanation: Explanation, item: ExplainedFact | GraphPath, falls: bool
) -> Cell | float | None:
    """The prediction without a fact: its score, its ratio or its probability."""
    score = explanation.prediction.score
    if explanation.of == "score" and falls and score is not None:
        return Cell(score - item.influence, unit="rating")
    if explanation.contrast and falls:
        return Cell(explanation.contrast.log_ratio - item.influence, unit="influence")
    return item.probability_without


def _new_top(fact: ExplainedFact) -> Cell | None:
    if not fact.top_answer_changes:
        return None
    return Cell(fact.labels.get("top_answer_without") or "another", tone="changed")


def _tone(item: ExplainedFact | GraphPath) -> str:
    sign = sign_of(item.influence)
    return "" if sign is NEITHER else sign.word


def _about(explanation: Explanation) -> Iterator[tuple[str, str]]:
    prediction, other = explanation.prediction, explanation.contrast
    yield "prediction", names.fact_text(prediction, full=True)
    if other is not None:
        answer = names.named(other.answer, other.label)
        yield "compared with", f"{answer}: {names.standing_text(other)}"
        yield "log of their ratio", units.number(other.log_ratio)
    yield "top new answer", prediction.top_label
    yield "method", explanation.method
    rated = explanation.of == "score" and names.is_rated(prediction)
    yield "influence on", "rating" if rated else explanation.of.replace("_", " ")
    yield "numbers", confirmation_text(explanation)
    noun = names.fact_noun(explanation)
    yield f"adjacent {noun}s", f"{explanation.n_adjacent:,}"
    yield f"listed {noun}s", f"{len(explanation.facts):,}"


def _joint_tables(explanation: Explanation, *, page: bool = True) -> Iterator[Table]:
    """The prediction without several facts together, below the prediction with all facts."""
    tables: dict[str, dict[str, Joint]] = {}
    noun = names.fact_noun(explanation)
    if explanation.without is not None:
        n_removed = len(explanation.without.fact_ids)
        these = names.these_facts(n_removed, noun)
        title = f"Without {these}{' together' * (n_removed > 1)}"
        tables[title] = {"together": explanation.without}
    if explanation.stability is not None:
        whose = "the user's" if explanation.n_history else "its"
        title = f"Without {whose} strongest supporting {noun}s"
        tables[title] = {f"top {len(joint.fact_ids)}": joint for joint in explanation.stability}
    points = "points" if explanation.of == "probability" and page else "influence"
    more = [
        Column("influence", "estimated influence", points),
        Column("sum_of_single", "sum of single estimates", points),
    ]
    unit = "chance" if page else "probability"
    note = f"An estimate for the {noun}s of a row together, not confirmed by retraining."
    tops = sentence.names_joint_tops(explanation)
    for title, joints in tables.items():
        standings = {"none": explanation.prediction, **joints}
        is_known = not tops or all(each.rank for each in joints.values())
        why = note if is_known else f"{note} {names.NO_RANK}"
        yield names.standings_table(
            "without", title, standings, more, unit=unit, note=why, tops=tops
        )


def _heading(explanation: Explanation) -> Iterator[RenderableType]:
    prediction, other = explanation.prediction, explanation.contrast
    yield Text(on_one_line(names.fact_text(prediction)), style="bold")
    value = units.show(prediction.value, names.output_unit(prediction, "probability"))
    stands = f"{names.output_noun(prediction)} {value}, {names.rank_text(prediction)}"
    if explanation.of == "score" and not names.is_rated(prediction):
        stands += f", score {units.show(prediction.score, 'score')}"
    if prediction.top_answer != names.name_of(prediction, prediction.asks):
        stands += f"; the top answer is {prediction.top_label}"
    yield stands
    if other is not None:
        rated = names.is_rated(other)
        ratio = "difference of their ratings" if rated else "log of the ratio of probabilities"
        yield f"why {names.label_of(prediction, prediction.asks)} and not {other.label}"
        yield f"  {ratio} {other.log_ratio:+.3f}"
        yield f"  {other.label}: {names.standing_text(other, 'probability')}"


def _lists(
    explanation: Explanation, options: ExplainOptions
) -> Iterator[tuple[str, tuple[ExplainedFact, ...]]]:
    """The facts under one title; those of a user and of other users under two."""
    facts, n_history = explanation.facts, explanation.n_history
    noun = names.fact_noun(explanation)
    verb = "oppose" if options.opposing else "support"
    if n_history is not None:
        thing = f"{noun}s".capitalize()
        that = "" if options.top is None else f" that {verb} it"
        user = names.text_of(explanation.prediction, "subject")
        yield from (
            (title, listed)
            for title, listed in (
                (f"{thing} of {user}{that}", facts[:n_history]),
                (f"{thing} of other users{that}", facts[n_history:]),
            )
            if listed
        )
    elif explanation.without:
        yield f"These {noun}s, each alone", facts
    elif options.top is None:
        yield f"All requested {noun}s", facts
    else:
        yield f"{noun.capitalize()}s that {verb} it", facts


def _list_title(explanation: Explanation, which: str) -> str:
    rated = explanation.of == "score" and names.is_rated(explanation.prediction)
    others = {"loss": "influence on its loss", "log_ratio": "influence on the contrast"}
    by = others.get(explanation.of, f"influence on its {'rating' if rated else explanation.of}")
    by = names.estimated_title(by, explanation)
    if not names.has_falls(explanation):
        by = f"influence as {explanation.method} estimates it"
    return f"{which}, by {by}"


def first_fact_text(explanation: Explanation) -> str:
    """What happens to the prediction without its strongest listed fact, which is named.

    Empty if the method does not say.
    """
    prediction = explanation.prediction
    facts = sorted(explanation.facts, key=lambda fact: -abs(fact.influence))[:1]
    rated = names.is_rated(prediction)
    without = [fact.score_without if rated else fact.probability_without for fact in facts]
    if not without or without[0] is None:
        return ""
    unit, value = names.output_unit(prediction), names.value_before(explanation)
    before, after = units.show(value, unit), units.show(without[0], unit)
    verb = "fall" if without[0] < value else "rise"
    verb, values = (
        ("stay", f"at {after}") if before == after else (verb, f"from {before} to {after}")
    )
    verb = f"is estimated to {verb}" if explanation.estimate else f"{verb}s"
    whose = f" of {names.text_of(prediction, prediction.asks)}" if explanation.contrast else ""
    said = f"the {names.output_noun(prediction)}{whose} {verb} {values}"
    if facts[0].top_answer_changes and explanation.names_new_tops:
        change = "is estimated to change" if explanation.estimate else "changes"
        said += f", and the top answer {change} to {facts[0].labels['top_answer_without']}"
    named = f"{names.fact_noun(explanation)} {names.fact_text(facts[0])}"
    return f"Without the {named}, {names.ended(said)}"


def groups_text(explanation: Explanation) -> Iterator[str]:
    """Groups of facts that say nearly the same, of which the first is listed."""
    by_id = {fact.fact_id: fact for fact in explanation.facts}
    for group in explanation.groups:
        ids = [*map(str, group.fact_ids)]
        first = by_id[group.fact_ids[0]]
        ends = [names.label_of(first, place) for place in ("subject", "object")]
        yield (
            f"{len(ids)} facts between {' and '.join(ends)} say nearly the same (ids "
            f"{', '.join(ids)}). If one is removed, the others remain. So one alone may matter "
            "less than estimated, and all together may matter more. To measure both, run "
            f"`whereof verify` with --facts {','.join(ids)} --each."
        )


def _reliability_texts(explanation: Explanation, run: str | None = None) -> list[str]:
    if not explanation.estimate or explanation.reliability is None:
        return []
    can_measure = bool(explanation.costs)  # they are known if the run can be retrained
    return explanation.reliability.sentences(run, explanation.method, can_measure=can_measure)


def costs_text(explanation: Explanation) -> str:
    """What each method would cost here, how far to trust it, and which one to use."""
    said = []
    for each in explanation.costs:
        time = ""
        if each.seconds is not None:
            time = f" about {units.show(each.seconds, 'seconds')}"
        if each.method == explanation.method and get_method(each.method).prepares:
            time += " (stored now)"
        said.append(f"{each.method}{time}, {trust_text(each)}")
    best, text = explanation.recommended, f"Methods here: {'; '.join(said)}."
    if best == explanation.method:
        return f"{text} Recommended: {best}, the method used here."
    return f"{text} Recommended: --method {best}." if explanation.estimate and best else text


def trust_text(cost: MethodCost) -> str:
    """How far to trust a method; one with a budget retrains only its candidates."""
    only = " for its candidates" if "budget" in get_method(cost.method).can else ""
    return f"{cost.trust}{only}"


def confirmation_text(explanation: Explanation) -> str:
    """Whether retraining has confirmed the numbers."""
    if explanation.estimate:
        return "estimates, not confirmed by retraining"
    return "measured by retraining"


def _ranked_text(explanation: Explanation) -> str:
    """The facts that the method ranks."""
    noun = names.fact_noun(explanation)
    if get_method(explanation.method).ranks_all and not explanation.without:
        return f"all {noun}s ({explanation.n_adjacent:,} adjacent)"
    return units.count(explanation.n_adjacent, f"adjacent {noun}")


def _below(explanation: Explanation, options: ExplainOptions, run: str | None) -> Iterator[str]:
    facts = explanation.facts
    shared = {part for fact in facts for part in fact.parts}
    letters = (f"{letter} {part}" for part, letter in _LETTERS.items() if part in shared)
    if shared and explanation.prediction.relation is not None:
        yield f"in common with the prediction: {', '.join(letters)}"
    if any(fact.share is not None for fact in facts):
        yield "share: part of the influence of all facts with the same sign"
    of = " named;" if explanation.without else " of"
    took = units.show(explanation.seconds, "seconds")
    ranked = _ranked_text(explanation)
    yield f"{len(facts):,}{of} {ranked}, in {took}; method {explanation.method}"
    yield f"The numbers are {confirmation_text(explanation)}."
    yield first_fact_text(explanation)
    yield from _reliability_texts(explanation, run)
    if explanation.costs:
        yield costs_text(explanation)
    yield from groups_text(explanation)
    some = options.top is not None and not explanation.without
    n_own = explanation.n_history or 0
    more = {
        "--opposing": some and not options.opposing,
        "--top all": some and options.top in (len(facts), n_own, len(facts) - n_own),
        "--stability": not options.stability and "groups" in get_method(explanation.method).can,
        "--json": True,
    }
    yield f"next: {', '.join(name for name, useful in more.items() if useful)}"


def _graph_lists(explanation: Explanation, graph: Graph) -> Iterator[RenderableType | Table]:
    none = "none that supports it"
    lists = {"Facts between the same two entities": graph.between}
    if explanation.prediction.relation is not None:
        lists["Facts of the same relation"] = graph.same_relation
    for title, facts in lists.items():
        yield heading(title)
        shown = replace(explanation, facts=tuple(replace(fact, share=None) for fact in facts))
        yield _facts_table(shown, ids=False) if facts else none
    title = "Pairs that connect the two through a third entity"
    yield heading(f"{title}, by their estimated joint influence")
    if not graph.paths:
        yield none
        return
    places, falls = names.places_of(graph.paths[0].facts[0]), names.has_falls(explanation)
    columns = [
        Column("number", "", "count"),
        *(Column(place, "") for place in places),
        Column("influence", "estimated influence", "influence"),
        Column("without", "estimated without", "probability"),
    ]
    rows: list[Sequence[Any]] = []
    for index, path in enumerate(graph.paths, 1):
        first, second = ([names.label_of(fact, place) for place in places] for fact in path.facts)
        rows.append((index, *first, _influence(path), _without(explanation, path, falls)))
        rows.append(("", *second, "", ""))
    yield Table("paths", "", columns, rows)
