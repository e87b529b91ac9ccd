"""Names, words and tables for facts, predictions and their standings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whereof.explain.explanation import Explanation, NamedFact, NamedPrediction
from whereof.predict.scored import Standing
from whereof.table import Cell, Column, Table
from whereof.types import PLACES
from whereof.units import count, ordinal, show

if TYPE_CHECKING:
    from whereof.explain.impact import Impact
    from whereof.predict.answers import Answer
    from whereof.retrain.smallest import Smallest
    from whereof.retrain.sufficient import Sufficient
    from whereof.retrain.verify import Verdict

_FALLS = {
    "probability": "the probability with all {0}s minus the probability without the {0}, in "
    "percentage points",
    "score": "the score with all {0}s minus the score without the {0}",
    "loss": "the loss without the {0} minus the loss with all {0}s",
    "log_ratio": "the log of the ratio of both probabilities with all {0}s minus that without the "
    "{0}",
}
"""What an influence means for methods that score the prediction without the fact."""


SPLITS = {"train": "training", "valid": "validation", "test": "test", "history": "the history"}
"""Where an answer is known from, in words."""
_LONG = 30
"""Letters of a relation above which tables and lists shorten it."""
_SHORT = 10
"""Letters of the last step of a relation below which the step before it is shown too."""

NO_RANK = (
    "A rank of - is not known: the method follows only the strongest rivals. "
    "`whereof explain` with --rivals N follows more."
)
_OTHER_RANKS = "A rank of - is not known: the control has other ranks than the stored run."
_FILE_NAME = 100
"""Letters of the name of a file."""

Named = NamedFact | NamedPrediction


@dataclass(frozen=True)
class Words:
    """What the places of a fact, and a fact, are called."""

    subject: str = "subject"
    object: str = "object"
    fact: str = "fact"
    two_way: bool = False

    @classmethod
    def of(cls, *, two_way: bool, rated: bool = False) -> "Words":
        """The words for two-way data, with or without ratings, or for other data."""
        return cls("user", "item", "rating" if rated else "fact", True) if two_way else cls()

    def place(self, place: str) -> str:
        """The name of a place: subject or object."""
        return str(getattr(self, place, place))

    def parts(self, item: Named) -> list[tuple[str, str, str]]:
        """Place, label and name of each part of a fact or prediction."""
        parts = []
        for place in places_of(item):
            name, label = name_of(item, place), label_of(item, place)
            shown = label if place == "relation" else self.label(name, label, place)
            parts.append((place, shown, name))
        return parts

    def label(self, name: str | None, label: str | None, place: str) -> str:
        """The label of an entity; without one, `user` or `item` stands before the name.

        Names such as `user1` already start with this word.
        """
        word = self.place(place)
        if self.two_way and label in (None, "", name) and not f"{name}".lower().startswith(word):
            return f"{word} {name}"
        return label or name or ""


def query_text(query: Mapping[str, Any], labels: Mapping[str, str | None]) -> str:
    """The names of a query by their labels: `user 405, Heat`, or subject, relation, object."""
    words, parts = Words.of(two_way=not query.get("relation")), list[str]()
    for place in PLACES[3]:
        name, label = query.get(place), labels.get(place)
        if name in (None, "", "_"):
            continue
        is_relation = place == "relation"
        parts.append(
            short_relation(label or name) if is_relation else words.label(name, label, place)
        )
    return (", " if words.two_way else " ").join(parts)


def short_relation(label: str) -> str:
    """A relation that is a long path, by its last step, or two if that is one short word."""
    steps = label.rstrip("/").split("/")
    if len(label) <= _LONG or len(steps) <= 3:
        return label
    return f"…/{'/'.join(steps[-2:] if len(steps[-1]) < _SHORT else steps[-1:])}"


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
    return Words.of(two_way=fact.relation is None).place(place)


def text_of(fact: Named, place: str) -> str:
    """The label in one place; in two-way data, a name without a label is `user 196`."""
    name, label = name_of(fact, place), label_of(fact, place)
    return Words.of(two_way=fact.relation is None).label(name, label, place)


def full_text_of(fact: Named, place: str) -> str:
    """The label in one place, and the name that it stands for."""
    text = text_of(fact, place)
    return named(name_of(fact, place), text) if text == label_of(fact, place) else text


def fact_text(fact: Named, *, full: bool = False) -> str:
    """A fact or a prediction by its labels; with `full`, also its names."""
    write = full_text_of if full else text_of
    texts = [write(fact, place) for place in places_of(fact)]
    return (", " if fact.relation is None else " ").join(texts)


def file_name(kind: str, prediction: NamedPrediction, ending: str) -> str:
    """A name for a file about a prediction: `explanation-india-students-usa.csv`."""
    words = re.findall(r"[A-Za-z0-9_]+", fact_text(prediction))
    return f"{'-'.join([kind, *words])[:_FILE_NAME]}.{ending}"


def heading(fact: Named) -> str | list[tuple[str, str]]:
    """The places of a prediction and their labels; in two-way data, one text."""
    if fact.relation is None:
        return fact_text(fact)
    return [(place, label_of(fact, place)) for place in places_of(fact)]


def is_rated(item: Standing) -> bool:
    """Whether this is a rating model: its score replaces the probability."""
    return item.probability is None


def output_noun(item: Standing) -> str:
    """What the model predicts: probability or rating."""
    return "rating" if is_rated(item) else "probability"


def output_unit(item: Standing, unit: str = "chance") -> str:
    """The unit of ratings, or this unit for probabilities."""
    return "rating" if is_rated(item) else unit


def standing_text(item: Standing, unit: str = "chance") -> str:
    """The probability in this unit, or the rating, and the rank."""
    output = show(item.value, output_unit(item, unit))
    return f"{output_noun(item)} {output}, rank {item.rank:,}"


def figure(prediction: NamedPrediction) -> tuple[str, str]:
    """The probability or the rating, and what else is known of the standing."""
    about = f"{output_noun(prediction)}, {rank_text(prediction)}"
    if prediction.top_answer != name_of(prediction, prediction.asks):
        about += f"; the top answer is {prediction.top_label}"
    return amount_text(prediction), about


def rank_text(prediction: NamedPrediction) -> str:
    """The rank, and the number of answers that it counts; where a known answer would be."""
    noun = "answer" if prediction.relation is not None else place_noun(prediction, prediction.asks)
    among = f"among {count(prediction.n_new, f'new {noun}')}"
    if prediction.is_new:
        return f"rank {prediction.rank:,} {among}"
    where = SPLITS[prediction.known or ""]
    return f"known from {where}, would be {ordinal(prediction.rank)} {among}"


def amount_text(item: Standing) -> str:
    """The probability in percent, or the rating."""
    return show(item.value, output_unit(item))


def rating_text(rating: float, scale: tuple[float, float] | None, unit: str = "") -> str:
    """A rating of the data or, in a unit, one that is predicted: `4.21 of 5`, or `above 5`."""
    if unit and scale is not None and not scale[0] <= rating <= scale[1]:
        return f"below {scale[0]:g}" if rating < scale[0] else f"above {scale[1]:g}"
    text = show(rating, unit) if unit else f"{rating:g}"
    return text if scale is None else f"{text} of {scale[1]:g}"


def value_text(item: "Standing | Answer", scale: tuple[float, float] | None) -> str:
    """The probability in percent, or the rating and the highest one of the data."""
    if item.probability is None:
        return rating_text(item.score or 0.0, scale, "rating")
    return show(item.probability, "chance")


def scale_text(ratings: Iterable[float], low: float, high: float) -> str:
    """A sentence on ratings that a model predicts beyond those of the data; empty if none is."""
    if all(low <= each <= high for each in ratings):
        return ""
    return f"Ratings in the data go from {low:g} to {high:g}; the model's can go beyond."


def effort_text(result: "Verdict | Smallest | Sufficient | Impact") -> str:
    """Number of retrainings, how many were stored already, and the time."""
    known = f", {result.n_known:,} stored already" if result.n_known else ""
    took = show(result.seconds, "seconds")
    return f"{count(result.n_retrainings, 'retraining')}{known}, in {took}"


def stands_text(explanation: Explanation) -> str:
    """The standing of a prediction, and of the answer that it is compared with."""
    prediction, other = explanation.prediction, explanation.contrast
    than = "" if other is None else f"; compared with {other.label}: {standing_text(other)}"
    stands = f"{output_noun(prediction)} {amount_text(prediction)}"
    return f"{stands}, {rank_text(prediction)}{than}"


def prediction_text(explanation: Explanation) -> str:
    """One line with the prediction and its standing."""
    return f"{fact_text(explanation.prediction)}: {stands_text(explanation)}"


def value_before(explanation: Explanation) -> float:
    """The probability, or the rating, from which influences are measured.

    Retraining may start from another one than the stored run has, for example after `unlearn`.
    """
    prediction, facts = explanation.prediction, explanation.facts
    rated = is_rated(prediction)
    if explanation.estimate or explanation.of != ("score" if rated else "probability") or not facts:
        return prediction.value
    without = facts[0].score_without if rated else facts[0].probability_without
    return prediction.value if without is None else without + facts[0].influence


def has_falls(explanation: Explanation) -> bool:
    """Whether influences are differences; methods that score nothing without the fact have none."""
    return all(fact.has_fall for fact in explanation.facts)


def measure_text(explanation: Explanation) -> str:
    """What the influences of an explanation mean."""
    if has_falls(explanation):
        estimated = "an estimate of " if explanation.estimate else ""
        falls = _FALLS[explanation.of]
        if is_rated(explanation.prediction):
            falls = falls.replace("score", "predicted rating")
        return f"Influence is {estimated}{falls.format(fact_noun(explanation))}"
    scale = f"Influence is an estimate on the scale of {explanation.method}"
    return f"{scale}: compare it only with other numbers of this method"


def estimated_title(title: str, explanation: Explanation) -> str:
    """The title of a number, which says if no retraining has confirmed it."""
    return f"estimated {title}" if explanation.estimate else title


def influence_unit(explanation: Explanation) -> str:
    """Differences of probabilities are in percentage points; others have a sign."""
    in_points = explanation.of == "probability" and has_falls(explanation)
    return "points" if in_points else "signed"


def has_ratings(explanation: Explanation) -> bool:
    """Whether the facts of an explanation have ratings."""
    rated = is_rated(explanation.prediction)
    return rated or any(fact.rating is not None for fact in explanation.facts)


def fact_noun(explanation: Explanation) -> str:
    """What the facts of an explanation are called: rating or fact."""
    return "rating" if has_ratings(explanation) else "fact"


def noun_of(facts: Sequence[NamedFact]) -> str:
    """What these facts are called: rating or fact."""
    return "rating" if any(fact.rating is not None for fact in facts) else "fact"


def these_facts(n_facts: int, noun: str = "fact") -> str:
    """Words for some facts: `this fact`, or `these 3 facts`."""
    return f"this {noun}" if n_facts == 1 else f"these {count(n_facts, noun)}"


def removed_text(removed: Sequence[NamedFact], prediction: NamedPrediction) -> str:
    """Words for removed facts: the name of a single one, otherwise their number."""
    noun = noun_of(removed)
    if len(removed) != 1:
        return these_facts(len(removed), noun)
    (fact,) = removed
    if noun == "fact":
        return f"the fact {fact_text(fact)}"
    own = name_of(fact, "subject") == name_of(prediction, "subject")
    whose = "" if own else f" by {text_of(fact, 'subject')}"
    return f"the rating of {text_of(fact, 'object')}{whose}"


def fact_columns(
    facts: Sequence[NamedFact], *, ids: bool = True
) -> Iterator[tuple[Column, list[Any]]]:
    """The ids and labels of facts."""
    title = "fact" if noun_of(facts) == "fact" else "id"
    yield Column("fact_id", title, "count"), [str(fact.fact_id) if ids else None for fact in facts]
    for place in places_of(facts[0]) if facts else ():
        yield Column(place, place_noun(facts[0], place)), [text_of(fact, place) for fact in facts]


def removal_table(result: "Verdict | Smallest") -> Table:
    """The prediction before and after facts are removed, as estimated and as retrained."""
    removed, noun = result.facts, noun_of(result.facts)
    every = {"before": result.before, "estimated": result.predicted, "actual": result.actual}
    known = {name: each for name, each in every.items() if each is not None}
    note = (
        f"before: retrained with all {noun}s, the control. estimated: without retraining. "
        f"actual: retrained without the {noun}{'s' * (len(removed) != 1)}. {rank_note(result)}"
    )
    together = " together" * (len(removed) != 1)
    title = f"Without {these_facts(len(removed), noun)}{together}"
    return standings_table("", title, known, note=note.strip())


def answers_table(result: "Verdict | Smallest") -> Table:
    """The top answers before and after retraining; new ones have ranks."""
    unit, place = output_unit(result.before), result.prediction.asks
    words = Words.of(two_way=result.prediction.relation is None)
    columns = [
        Column("answer", words.place(place) if words.two_way else "answer"),
        Column("before", "before", unit),
        Column("rank_before", "rank", "count"),
        Column("actual", "actual", unit),
        Column("rank_actual", "rank", "count"),
    ]
    rows = []
    for each in result.top_answers:
        cell = Cell(each.rank_actual, tone="changed" * (each.rank_before != each.rank_actual))
        label = words.label(each.entity, each.label, place)
        rows.append((label, each.before, each.rank_before, each.actual, cell))
    note = "Both columns were measured by retraining: with all facts, and without these."
    if not result.prediction.is_new:
        answer = text_of(result.prediction, place)
        note += f" Ranks count only new answers. {answer} is known; its rank is the one that it "
        note += "would have as a new answer."
    return Table("top_answers", "Top answers", columns, rows, note)


def ended(text: str) -> str:
    """A sentence with a full stop; a name at its end, such as Inc., may bring its own."""
    return text if text.endswith(".") else f"{text}."


def standings_table(
    first: str,
    title: str,
    standings: Mapping[str, Standing],
    more: Sequence[Column] = (),
    *,
    unit: str = "chance",
    note: str = "",
    tops: bool = True,
) -> Table:
    """One row per standing, compared with the first; `more` are other fields of theirs.

    tops: whether to show ranks and top answers.
    """
    before = next(iter(standings.values()))
    columns = [
        Column(first or "standing", first),
        Column("value", output_noun(before), output_unit(before, unit)),
        *([Column("rank", "rank", "count")] if tops else []),
        *more,
        *([Column("top_answer", "top answer")] if tops else []),
    ]
    rows = []
    for name, each in standings.items():
        others = (getattr(each, column.name, "") for column in more)
        rank, top = ([each.rank or None], [top_cell(each, before)]) if tops else ([], [])
        rows.append((name, each.value, *rank, *others, *top))
    return Table("standings", title, columns, rows, note)


def rank_note(result: "Verdict | Smallest") -> str:
    """Why the rank of the estimate is not known; empty if it is."""
    if result.predicted is None or result.predicted.rank:
        return ""
    return NO_RANK if result.control_matches_run else _OTHER_RANKS


def top_cell(standing: Standing, before: Standing) -> Cell:
    """The top answer, if it is known; it stands out if it was another one before."""
    changes = standing.top_answer not in ("", before.top_answer)
    return Cell(standing.top_label, tone="changed" * changes)
