"""Text and tables for facts, predictions and their standings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whereof.explain.explanation import Explanation, NamedFact, NamedPrediction
from whereof.explain.method import able_method
from whereof.predict.scored import Standing
from whereof.table import Cell, Column, Table
from whereof.units import count, show

if TYPE_CHECKING:
    from whereof.retrain.smallest import Smallest
    from whereof.retrain.sufficient import Sufficient
    from whereof.retrain.verify import Verdict

_FALLS = {
    "probability": "the probability with all facts minus the probability without the fact, in "
    "percentage points",
    "score": "the score with all facts minus the score without the fact",
    "loss": "the loss without the fact minus the loss with all facts",
    "log_ratio": "the log of the ratio of both probabilities with all facts minus that without the "
    "fact",
}
"""What an influence means for methods that score the prediction without the fact."""

_DECIDED = 0.5
"""An answer depends on facts if its probability falls to this share or less without them."""
_MOST_NAMED = 3
"""Number of items that a sentence names."""

Named = NamedFact | NamedPrediction


def named(name: str, label: str) -> str:
    """A label with its name in parentheses, or the name if there is no label."""
    return name if label == name else f"{label} ({name})"


def name_of(fact: Named, place: str) -> str:
    """The name in one place of a fact; empty for the relation in two-way data."""
    return str(getattr(fact, place) or "")


def label_of(fact: Named, place: str) -> str:
    """The label in one place of a fact, or its name."""
    return fact.labels[place] or name_of(fact, place)


def places_of(fact: Named) -> list[str]:
    """The places of a fact; two-way data has no relation."""
    relation = [] if fact.relation is None else ["relation"]
    return ["subject", *relation, "object"]


def place_noun(fact: Named, place: str) -> str:
    """The word for a place: two-way data has users and items."""
    nouns = {"subject": "user", "object": "item"} if fact.relation is None else {}
    return nouns.get(place, place)


def text_of(fact: Named, place: str) -> str:
    """The label in one place; in two-way data, a name without a label is `user 196`."""
    name, label = name_of(fact, place), label_of(fact, place)
    if fact.relation is None and label == name:
        return f"{place_noun(fact, place)} {name}"
    return label


def full_text_of(fact: Named, place: str) -> str:
    """The label in one place, and the name that it stands for."""
    text = text_of(fact, place)
    return named(name_of(fact, place), text) if text == label_of(fact, place) else text


def fact_text(fact: Named, *, full: bool = False) -> str:
    """A fact or a prediction by its labels; with `full`, also its names."""
    write = full_text_of if full else text_of
    texts = [write(fact, place) for place in places_of(fact)]
    return (", " if fact.relation is None else " ").join(texts)


def heading(fact: Named) -> str | list[tuple[str, str]]:
    """The places of a prediction and their labels; in two-way data, one text."""
    if fact.relation is None:
        return fact_text(fact)
    return [(place, label_of(fact, place)) for place in places_of(fact)]


def is_rated(item: Standing) -> bool:
    """Whether the model predicts ratings: its score replaces the probability."""
    return item.probability is None


def output_noun(item: Standing) -> str:
    """What the model predicts: probability or rating."""
    return "rating" if is_rated(item) else "probability"


def output_unit(item: Standing, unit: str = "percent") -> str:
    """The unit of ratings, or this unit for probabilities."""
    return "rating" if is_rated(item) else unit


def standing_text(item: Standing, unit: str = "percent") -> str:
    """The probability in this unit, or the rating, and the rank."""
    output = show(item.value, output_unit(item, unit))
    return f"{output_noun(item)} {output}, rank {item.rank:,}"


def figure(prediction: NamedPrediction) -> tuple[str, str]:
    """The probability or the rating, and what else is known of the standing."""
    about = f"{output_noun(prediction)}, rank {prediction.rank:,} of {prediction.n_candidates:,}"
    if prediction.top_answer != name_of(prediction, prediction.asks):
        about += f"; the top answer is {prediction.top_label}"
    return amount_text(prediction), about


def amount_text(item: Standing) -> str:
    """The probability in percent, or the rating."""
    return show(item.value, output_unit(item))


def effort_text(result: "Verdict | Smallest | Sufficient") -> str:
    """Number of retrainings, how many were stored already, and the time."""
    known = f", {result.n_known:,} stored already" if result.n_known else ""
    took = show(result.seconds, "seconds")
    return f"{count(result.n_retrainings, 'retraining')}{known}, in {took}"


def stands_text(explanation: Explanation) -> str:
    """The standing of a prediction, and of the answer that it is compared with."""
    prediction, other = explanation.prediction, explanation.contrast
    than = "" if other is None else f"; compared with {other.label}: {standing_text(other)}"
    return f"{standing_text(prediction)} of {prediction.n_candidates:,}{than}"


def prediction_text(explanation: Explanation) -> str:
    """One line with the prediction and its standing."""
    return f"{fact_text(explanation.prediction)}: {stands_text(explanation)}"


def has_falls(explanation: Explanation) -> bool:
    """Whether influences are differences; methods that score nothing without the fact have none."""
    return all(
        fact.score_without is not None or fact.probability_without is not None
        for fact in explanation.facts
    )


def measure_text(explanation: Explanation) -> str:
    """What the influences of an explanation mean."""
    if has_falls(explanation):
        estimated = "an estimate of " if explanation.estimate else ""
        falls = _FALLS[explanation.of]
        if is_rated(explanation.prediction):
            falls = falls.replace("score", "rating")
        return f"Influence is {estimated}{falls}"
    scale = f"Influence is an estimate on the scale of {explanation.method}"
    return f"{scale}: compare it only with other numbers of this method"


def estimated_title(title: str, explanation: Explanation) -> str:
    """The title of a number, which says if no retraining has confirmed it."""
    return f"estimated {title}" if explanation.estimate else title


def influence_unit(explanation: Explanation) -> str:
    """Differences of probabilities are in percentage points; others have a sign."""
    in_points = explanation.of == "probability" and has_falls(explanation)
    return "points" if in_points else "signed"


def noun_of(facts: Sequence[NamedFact]) -> str:
    """What these facts are called: rating or fact."""
    return "rating" if any(fact.rating is not None for fact in facts) else "fact"


def these_facts(n_facts: int, noun: str = "fact") -> str:
    """Words for some facts: `this fact`, or `these 3 facts`."""
    return f"this {noun}" if n_facts == 1 else f"these {count(n_facts, noun)}"


def fact_columns(
    facts: Sequence[NamedFact], *, ids: bool = True, full: bool = False
) -> Iterator[tuple[Column, list[Any]]]:
    """The ids and labels of facts; with `full`, also the names that labels stand for."""
    yield Column("fact_id", "fact", "count"), [str(fact.fact_id) if ids else None for fact in facts]
    for place in places_of(facts[0]) if facts else ():
        cells = []
        for fact in facts:
            name, label = name_of(fact, place), label_of(fact, place)
            cells.append(Cell(label, about=name if full and name != label else ""))
        yield Column(place, place_noun(facts[0], place)), cells


def removal_table(
    removed: Sequence[NamedFact], before: Standing, predicted: Standing | None, actual: Standing
) -> Table:
    """The prediction before and after facts are removed, as estimated and as retrained."""
    noun = noun_of(removed)
    every = {"before": before, "estimated": predicted, "actual": actual}
    known = {name: each for name, each in every.items() if each is not None}
    note = (
        f"before: retrained with all {noun}s, the control. estimated: without retraining. "
        f"actual: retrained without the {noun}{'s' * (len(removed) != 1)}."
    )
    together = " together" * (len(removed) != 1)
    title = f"Without {these_facts(len(removed), noun)}{together}"
    return standings_table("", title, known, note=note)


def standings_table(
    first: str,
    title: str,
    standings: Mapping[str, Standing],
    more: Sequence[Column] = (),
    *,
    unit: str = "percent",
    note: str = "",
    tops: bool = True,
) -> Table:
    """One row per standing, compared with the first; `more` are other fields of theirs.

    tops: whether to show the top answers.
    """
    before = next(iter(standings.values()))
    columns = [
        Column(first, first),
        Column("value", output_noun(before), output_unit(before, unit)),
        Column("rank", "rank", "count"),
        *more,
        *([Column("top_answer", "top answer")] if tops else []),
    ]
    rows = []
    for name, each in standings.items():
        others = (getattr(each, column.name, "") for column in more)
        top = [top_cell(each, before)] if tops else []
        rows.append((name, each.value, each.rank or None, *others, *top))
    return Table("standings", title, columns, rows, note)


def top_cell(standing: Standing, before: Standing) -> Cell:
    """The top answer, if it is known; it stands out if it was another one before."""
    changes = standing.top_answer not in ("", before.top_answer)
    return Cell(standing.top_label, tone="changed" * changes)


def names_joint_tops(explanation: Explanation) -> bool:
    """Whether claims about the top answer without several facts are reliable enough to show."""
    remover = able_method("groups", explanation.method).name
    return replace(explanation, method=remover, estimate=True).names_new_tops


@dataclass(frozen=True)
class _Removal:
    """The prediction without some of its strongest facts."""

    fact_ids: tuple[int, ...]
    value: float
    """The probability, or the rating."""
    new_top: str | None
    """The new top answer: empty if it stays, None if it is not known or not reliable enough."""


def plain_sentence(explanation: Explanation, *, mark: bool = True) -> str:
    """A sentence on the prediction without its strongest facts; empty if none supports it.

    The facts are the first 1, 3 or 10 together if the explanation has its `stability`, otherwise
    the first one alone. The sentence names another top answer only if such claims come true in
    this run. mark: whether it says at the end that this is an estimate.
    """
    prediction, removals = explanation.prediction, _removals(explanation)
    if not removals:
        return ""
    answer, rated = text_of(prediction, prediction.asks), is_rated(prediction)
    is_top = prediction.top_answer == name_of(prediction, prediction.asks)
    recommends = prediction.relation is None and prediction.asks == "object"
    say, first = ("recommend", " first") if recommends else ("say", "")
    changing = [each for each in removals if is_top and each.new_top]
    falling = [each for each in removals if not rated and each.value <= _DECIDED * prediction.value]
    found = [*changing, *falling, removals[-1]][0]
    unit, stays = output_unit(prediction), is_top and found.new_top == ""
    after, before = show(found.value, unit), show(prediction.value, unit)
    values = f"{after} instead of {before}" if after != before else f"{after}, as before"
    values = f"a rating of {values}" if rated else values
    said = f"without {_removed_text(explanation, found)}, the model would"
    if changing:
        said += f" {say} {found.new_top}{first}, not {answer}"
    else:
        said += f" still {say} {answer}{first}, with" if stays else f" give {answer}"
        said += f" {values}"
    if not is_top:
        said = f"the model ranks {prediction.top_label} above {answer}; {said}"
    elif (stays or not rated) and not changing and not falling and len(found.fact_ids) > 1:
        thing = "ratings" if has_ratings(explanation) else "facts"
        said = f"this answer does not depend on a few {thing}: {said}"
    is_estimate = explanation.estimate or explanation.stability is not None
    marked = f" ({'estimate' if is_estimate else 'retrained'})" if mark else ""
    return f"{said[0].upper()}{said[1:]}{marked}."


def _removals(explanation: Explanation) -> list[_Removal]:
    """The prediction without its first facts, fewest first."""
    tops, found = names_joint_tops(explanation), list[_Removal]()
    for joint in explanation.stability or ():
        known = tops and joint.top_answer_changes is not None
        top: str | None = joint.top_label if joint.top_answer_changes else ""
        found.append(_Removal(joint.fact_ids, joint.value, top if known else None))
    if explanation.stability is not None:
        return found
    for fact in [fact for fact in explanation.facts if fact.influence > 0][:1]:
        rated = is_rated(explanation.prediction)
        value = fact.score_without if rated else fact.probability_without
        top = fact.labels.get("top_answer_without") if fact.top_answer_changes else ""
        known = explanation.names_new_tops and fact.top_answer_changes is not None
        if value is not None:
            found.append(_Removal((fact.fact_id,), value, top if known else None))
    return found


def _removed_text(explanation: Explanation, removal: _Removal) -> str:
    """The facts of a removal: by name if they are few, else their number."""
    by_id = {fact.fact_id: fact for fact in explanation.facts}
    facts = [by_id[fact_id] for fact_id in removal.fact_ids if fact_id in by_id]
    n_facts, two_way = len(removal.fact_ids), explanation.prediction.relation is None
    thing = "rating" if has_ratings(explanation) else "fact"
    strongest = f"strongest supporting {thing}"
    strongest = f"{n_facts} {strongest}s" if n_facts > 1 else strongest
    are_named = len(facts) == n_facts <= _MOST_NAMED
    if not two_way:
        return f"the fact {fact_text(facts[0])}" if facts and n_facts == 1 else f"the {strongest}"
    if not facts or "subject" not in facts[0].parts:
        return f"the {strongest} of other users" if facts else f"the {strongest}"
    if not are_named:
        return f"the user's {strongest}"
    *others, last = (text_of(fact, "object") for fact in facts)
    items = f"{', '.join(others)} and {last}" if others else last
    if thing == "rating":
        return f"the user's rating{'s' * (n_facts > 1)} of {items}"
    return f"{items} in the user's history"


def has_ratings(explanation: Explanation) -> bool:
    """Whether the facts of an explanation have ratings."""
    return is_rated(explanation.prediction) or any(
        fact.rating is not None for fact in explanation.facts
    )
