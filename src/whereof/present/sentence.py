"""Sentences that say what an explanation means."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whereof.explain.explanation import ExplainedFact, Explanation
from whereof.explain.method import able_method
from whereof.present.names import (
    Words,
    ended,
    fact_noun,
    fact_text,
    has_ratings,
    is_rated,
    name_of,
    output_unit,
    text_of,
    value_before,
)
from whereof.units import show

_DECIDED = 0.5
"""An answer depends on facts if its probability falls to this share or less without them."""
_STAYS = 0.9
"""An answer does not depend on facts if its probability keeps this share or more without them."""
_MOST_NAMED = 3
"""Number of items that a sentence names."""


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


def plain_sentence(
    explanation: Explanation, *, mark: bool = True, scale: tuple[float, float] | None = None
) -> str:
    """A sentence on the prediction without its strongest facts; empty if none supports it.

    The facts are the first 1, 3 or 10 together if the explanation has its `stability`, otherwise
    the first one alone. The sentence names another top answer only if such claims come true in
    this run. mark: whether it says at the end that this is an estimate. scale: the lowest and the
    highest rating of the data.
    """
    prediction, removals = explanation.prediction, _removals(explanation)
    if not removals:
        return ""
    answer, rated = text_of(prediction, prediction.asks), is_rated(prediction)
    is_top = prediction.top_answer == name_of(prediction, prediction.asks)
    recommends = prediction.relation is None and prediction.asks == "object"
    say, first = ("recommend", " first") if recommends else ("say", "")
    changing = [each for each in removals if is_top and each.new_top]
    original = prediction.value if explanation.stability is not None else value_before(explanation)
    falling = [each for each in removals if not rated and each.value <= _DECIDED * original]
    found = [*changing, *falling, removals[-1]][0]
    unit, stays = output_unit(prediction), is_top and found.new_top == ""
    after, before = show(found.value, unit), show(original, unit)
    of = f" of {scale[1]:g}" if rated and scale and found.value <= scale[1] else ""
    values = f"{after}{of} instead of {before}" if after != before else f"{after}{of}, as before"
    values = f"a rating of {values}" if rated else values
    said = f"without {_removed_text(explanation, found)}, the model would"
    if changing:
        said += f" {say} {found.new_top}{first}, not {answer}"
    else:
        said += f" still {say} {answer}{first}, with" if stays else f" give {answer}"
        said += f" {values}"
    if not is_top:
        said = f"the model ranks {prediction.top_label} above {answer}; {said}"
    elif (
        (stays or not rated)
        and not changing
        and len(found.fact_ids) > 1
        and found.value >= _STAYS * original
    ):
        said = f"this answer does not depend on a few {fact_noun(explanation)}s: {said}"
    is_estimate = explanation.estimate or explanation.stability is not None
    marked = f" ({'estimate' if is_estimate else 'retrained'})" if mark else ""
    return ended(f"{said[0].upper()}{said[1:]}{marked}")


def because(explanation: Explanation) -> str:
    """What in the history of its user a recommendation is made of, as one can tell the user."""
    prediction = explanation.prediction
    if prediction.relation is not None or prediction.asks != "object":
        return ""
    user, rated = text_of(prediction, "subject"), has_ratings(explanation)
    support = [fact for fact in explanation.facts if fact.influence > 0]
    own = [fact for fact in support if "subject" in fact.parts]
    parts = []
    for fact in own[:_MOST_NAMED]:
        item = text_of(fact, "object")
        parts.append(item if fact.rating is None else f"{item} with {fact.rating:g}")
    thing, has = ("rating", "rated") if rated else ("fact", "has")
    if not parts:
        return f"No listed {thing} of {user} supports it."
    said = ended(f"Because {user} {has} {_listed(parts)}")
    strongest = max(support, key=lambda fact: fact.influence)
    return said if strongest in own else f"{said} {thing.capitalize()}s of other users matter more."


def against(explanation: Explanation) -> str:
    """The facts that oppose an answer which is not on top; empty if none is listed.

    In a contrast, the facts that support the other answer.
    """
    prediction, other = explanation.prediction, explanation.contrast
    asks, answer = prediction.asks, text_of(prediction, prediction.asks)
    opposing = [fact for fact in explanation.facts if fact.influence < 0]
    opposing = sorted(opposing, key=lambda fact: fact.influence)[:_MOST_NAMED]
    is_top = prediction.top_answer == name_of(prediction, asks)
    if not opposing or (other is None and is_top):
        return ""
    verb, most = "oppose", f"{answer} most"
    if other is not None:
        rival = Words.of(two_way=prediction.relation is None).label(other.answer, other.label, asks)
        verb, most = "support", f"{rival} over {answer} most"
    noun, named = fact_noun(explanation), _listed([_short_text(fact) for fact in opposing])
    if len(opposing) == 1:
        return f"The {noun} that {verb}s {most} is {ended(named)}"
    return f"The {noun}s that {verb} {most} are {ended(named)}"


def _short_text(fact: ExplainedFact) -> str:
    """A fact by its labels; in two-way data without the user or the item of the prediction."""
    if fact.relation is not None:
        return fact_text(fact)
    rated = "" if fact.rating is None else f" (rated\N{NO-BREAK SPACE}{fact.rating:g})"
    shared = {"subject": "object", "object": "subject"}
    place = next((shared[part] for part in fact.parts if part in shared), None)
    return (fact_text(fact) if place is None else text_of(fact, place)) + rated


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
    thing = fact_noun(explanation)
    strongest = f"strongest supporting {thing}"
    strongest = f"{n_facts} {strongest}s" if n_facts > 1 else strongest
    are_named = len(facts) == n_facts <= _MOST_NAMED
    if not two_way:
        return f"the fact {fact_text(facts[0])}" if facts and n_facts == 1 else f"the {strongest}"
    if not facts or "subject" not in facts[0].parts:
        return f"the {strongest} of other users" if facts else f"the {strongest}"
    if not are_named:
        return f"the user's {strongest}"
    items = _listed([text_of(fact, "object") for fact in facts])
    if thing == "rating":
        return f"the user's rating{'s' * (n_facts > 1)} of {items}"
    return f"{items} in the user's history"


def _listed(items: Sequence[str]) -> str:
    """Items in words: `a, b and c`."""
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last
