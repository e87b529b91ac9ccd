"""The facts of an explanation in groups: one table for the server, files and notebooks."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from whereof import units
from whereof.explain.explanation import ExplainedFact, Explanation
from whereof.present import names
from whereof.present.names import Words, short_relation
from whereof.present.svg import NEITHER, sign_of
from whereof.units import show, typographic

_GROUPS = {"supports": "support it", "opposes": "oppose it"}


@dataclass(frozen=True)
class ExplainedFacts:
    """What the macro `fact_table` of the templates shows."""

    words: Words
    groups: Sequence[Mapping[str, Any]]
    """Titles, and rows."""
    columns: Mapping[str, Any]
    """Which columns there are, and their titles."""
    note: str = ""
    """What the numbers mean."""
    n_more: int = 0
    """Facts that are not shown."""

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        return [row for group in self.groups for row in group["rows"]]


def fact_table(
    explanation: Explanation,
    *,
    most: int | None = None,
    ids: bool = False,
    note: bool = True,
    removed: Collection[int] = (),
    left_out: Sequence[ExplainedFact] = (),
    left_out_by: str = "",
) -> ExplainedFacts:
    """The facts of an explanation; in two-way data, those of its user come first.

    most: the number of facts to show. ids: with their ids. removed: ids of facts that are left out
    now. left_out: more such facts, which the method `left_out_by` estimated.
    """
    words = words_of(explanation)
    facts = explanation.facts[:most]
    listed = {fact.fact_id for fact in facts}
    more = [fact for fact in left_out if fact.fact_id not in listed]
    others = more if left_out_by not in ("", explanation.method) else []  # of another scale
    facts = (*facts, *(fact for fact in more if fact not in others))
    strongest = max((abs(fact.influence) for fact in (*facts, *others)), default=0.0)
    groups = list[dict[str, Any]]()
    for title, grouped in (
        *_groups(explanation, facts, words),
        (f"Estimated by {left_out_by}", others),
    ):
        ranks = count(1)  # a fact that only an address names has none
        rows = [
            _row(explanation, fact, strongest, words)
            | {"kept": fact.fact_id not in removed}
            | {"rank": next(ranks) if fact.fact_id in listed else None}
            for fact in grouped
        ]
        if rows:
            groups.append({"title": title, "rows": rows})
    columns = _columns(explanation, [row for group in groups for row in group["rows"]])
    said = _note(explanation) if note else ""
    n_more = len(explanation.facts) - len(listed)
    return ExplainedFacts(words, groups, columns | {"ids": ids}, said, n_more)


def words_of(explanation: Explanation) -> Words:
    """The words for the facts of an explanation, and for their places."""
    two_way = explanation.prediction.relation is None
    return Words.of(two_way=two_way, rated=names.has_ratings(explanation))


def _groups(
    explanation: Explanation, facts: Sequence[ExplainedFact], words: Words
) -> Iterator[tuple[str, list[ExplainedFact]]]:
    """Titles and facts: by whose they are in two-way data, otherwise by sign."""
    prediction = explanation.prediction
    if prediction.relation is None:
        thing, item = f"{words.fact}s".capitalize(), names.text_of(prediction, "object")
        others = [fact for fact in facts if "subject" not in fact.parts]
        own = [fact for fact in facts if "subject" in fact.parts]
        same_item = [fact for fact in others if "object" in fact.parts]
        yield from _by_sign(f"{thing} of {names.text_of(prediction, 'subject')}", own)
        yield from _by_sign(f"{thing} of other users with {item}", same_item)
        yield from _by_sign(f"Other {words.fact}s", [f for f in others if "object" not in f.parts])
        return
    yield from _by_sign("Facts", facts)


def _by_sign(
    title: str, facts: Sequence[ExplainedFact]
) -> Iterator[tuple[str, list[ExplainedFact]]]:
    """Those that support the prediction, those that oppose it, and the others."""
    for word, verb in _GROUPS.items():
        yield f"{title} that {verb}", [f for f in facts if sign_of(f.influence).word == word]
    yield f"{title} without influence", [f for f in facts if sign_of(f.influence) is NEITHER]


def _row(
    explanation: Explanation, fact: ExplainedFact, strongest: float, words: Words
) -> dict[str, Any]:
    sign, prediction = sign_of(fact.influence), explanation.prediction
    unit = names.influence_unit(explanation)
    ends = {prediction.subject, prediction.object}
    relation = names.label_of(fact, "relation") if fact.relation is not None else ""
    text = " ".join(label for _, label, _ in words.parts(fact))
    without, without_text = _without(explanation, fact)
    return {
        "id": fact.fact_id,
        "text": text if fact.rating is None else f"{text}, rating {fact.rating:g}",
        "parts": [(place, label, name, name in ends) for place, label, name in words.parts(fact)],
        "own": prediction.relation is None and "subject" in fact.parts,
        "same_item": "object" in fact.parts,
        "rating": fact.rating,
        "weight": fact.weight,
        "common": ", ".join(fact.parts) or "nothing",
        "role": fact.role,
        "relation": relation,
        "short": short_relation(relation),
        "source": fact.source or "",
        "tone": "" if sign is NEITHER else sign.word,
        "predicted": fact.predicted,
        "predicted_text": "" if fact.predicted is None else typographic(show(fact.predicted, unit)),
        "influence": fact.influence,
        "influence_text": typographic(show(fact.influence, unit)),
        "share": abs(fact.influence) / strongest if strongest else 0.0,
        "without": without,
        "without_text": without_text,
        "top": fact.labels.get("top_answer_without")
        if fact.top_answer_changes and explanation.names_new_tops
        else "",
        "in_top": fact.in_top,
    }


def _without(explanation: Explanation, fact: ExplainedFact) -> tuple[float | None, str]:
    """The prediction without a fact: its ratio to another answer, its score or its probability."""
    prediction, other, falls = explanation.prediction, explanation.contrast, fact.has_fall
    value, unit = fact.probability_without, names.output_unit(prediction)
    if other is not None and falls:
        value, unit = other.log_ratio - fact.influence, "influence"
    elif explanation.of == "score" and falls and prediction.score is not None:
        value, unit = prediction.score - fact.influence, "rating"
    elif names.is_rated(prediction):
        value = fact.score_without
    return value, "" if value is None else typographic(show(value, unit))


def _columns(explanation: Explanation, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    compared = any(row["predicted"] is not None for row in rows)
    noun = names.output_noun(explanation.prediction)
    if explanation.contrast is not None:
        noun = "log of the ratio"
    elif explanation.of == "score" and noun != "rating":
        noun = "score"
    return {
        "common": explanation.prediction.relation is not None,
        "source": any(row["source"] for row in rows),
        "predicted": "estimated influence" if compared else "",
        "influence": "actual influence"
        if compared
        else names.estimated_title("influence", explanation),
        "without": names.estimated_title(noun, explanation) + " without it",
        "has_without": any(row["without"] is not None for row in rows),
        "top": names.estimated_title("new top answer", explanation)
        if any(row["top"] for row in rows)
        else "",
        "in_top": in_top_title(explanation),
    }


def in_top_title(explanation: Explanation) -> str:
    """The title of the number of other seeds that have a fact; empty if there is one seed."""
    if (found := explanation.seeds) is None:
        return ""
    n_others = len(found.seeds) - 1
    return f"in top {found.top} of {units.count(n_others, 'other seed')}"


def _note(explanation: Explanation) -> str:
    compared = any(fact.predicted is not None for fact in explanation.facts)
    return (
        f"{names.measure_text(explanation)}. Positive supports the prediction, negative opposes it."
        + " Actual influences were measured by retraining." * compared
    )
