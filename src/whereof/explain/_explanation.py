"""What an explanation says: plain records that people can sort, save and draw."""

from dataclasses import dataclass
from typing import Any

from whereof._extras import need
from whereof.registry import render


@dataclass(frozen=True)
class Standing:
    """How a prediction stands under some parameters."""

    probability: float | None
    """None for a model of ratings, whose scores are ratings."""
    score: float
    rank: int
    """Skips answers known from training and validation, other than this one."""
    top_answer: str
    """The best answer that is not known from training or validation, or is the prediction."""


@dataclass(frozen=True)
class Prediction:
    """What is explained, by name, and how it stands with all facts."""

    subject: str
    relation: str | None
    """None in two-way data."""
    object: str
    probability: float | None
    rank: int
    score: float
    top_answer: str
    """The best answer that is not known from training or validation, or is the prediction."""
    asks: str
    """The place whose candidates compete: object or subject."""
    labels: dict[str, str | None]
    """Of subject, relation, object and top answer: the names again where there are none."""
    n_candidates: int


@dataclass(frozen=True)
class Contrast:
    """The answer that the prediction is compared with."""

    answer: str
    label: str
    probability: float | None
    rank: int
    score: float
    log_ratio: float
    """log of the prediction's probability over that of the answer: the difference of scores, or of
    ratings."""


@dataclass(frozen=True)
class ExplainedFact:
    """One training fact, and what the prediction owes to it."""

    fact_id: int
    subject: str
    relation: str | None
    object: str
    role: str
    """What it shares with the prediction: subject, relation or object; several of these; rival,
    only the other answer of a contrast; or none, of a fact that was named and shares nothing."""
    influence: float
    probability_without: float | None
    top_answer_changes: bool | None
    rank: int
    """From 1 on, in the order of the list."""
    share: float
    """Of the listed facts' influence, all taken as positive."""
    parts: tuple[str, ...]
    """All that it shares with the prediction: subject, relation, object, rival."""
    labels: dict[str, str | None]
    """Of subject, relation, object and the top answer without it."""
    top_answer_without: str | None
    """As in the prediction, without this fact."""
    score_without: float | None
    rating: float | None = None
    """What the user gave the item, in data that says so."""
    source: str | None = None
    """Where the fact came from, in data that says so."""


@dataclass(frozen=True)
class Joint:
    """What rolling back several facts together does."""

    fact_ids: tuple[int, ...]
    influence: float
    """Of all together; not the sum of what each does alone."""
    sum_of_single: float
    probability: float | None
    score: float
    rank: int
    top_answer: str
    """The best answer that is not known from training or validation, or is the prediction."""
    top_answer_changes: bool
    labels: dict[str, str]
    """Of the top answer."""


@dataclass(frozen=True)
class Path:
    """Two facts that join the prediction's entities through a third."""

    entity: str
    label: str
    facts: tuple[ExplainedFact, ExplainedFact]
    """That of the subject's side first."""
    influence: float
    """Of both together."""
    probability_without: float | None


@dataclass(frozen=True)
class Graph:
    """The explanation graph of the paper: what ties the prediction to the data."""

    between: tuple[ExplainedFact, ...]
    """Facts between the same two entities, in either direction."""
    same_relation: tuple[ExplainedFact, ...]
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Explanation:
    """The facts that made the model say so, ranked."""

    prediction: Prediction
    method: str
    of: str
    """What influence is on: probability, score, loss or log_ratio."""
    n_adjacent: int
    seconds: float
    facts: tuple[ExplainedFact, ...]
    contrast: Contrast | None = None
    without: Joint | None = None
    stability: tuple[Joint, ...] | None = None
    """Without the 1, 3 and 10 facts that support most, as far as there are so many."""
    graph: Graph | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What `whereof explain --json` prints: plain values only."""
        document: dict[str, Any] = as_plain(self)
        return document

    def to_pandas(self) -> Any:
        """One row a fact, strongest first."""
        pandas = need("pandas", "pandas", "tables of pandas")
        rows = [fact_row(as_plain(fact)) for fact in self.facts]
        return pandas.DataFrame(rows, columns=FACT_COLUMNS)

    def __str__(self) -> str:
        """What is explained and how it stands, then one line a fact."""
        stands = self.prediction
        worth = (
            f"score {stands.score:.3f}"
            if stands.probability is None
            else f"probability {stands.probability:.4g}"
        )
        lines = [f"{_words(stands.labels)}: {worth}, rank {stands.rank} of {stands.n_candidates}"]
        lines += [f"{fact.influence:+.4g}  {_words(fact.labels)}" for fact in self.facts]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(render("explanation-html", self))

    def plot(self, ax: Any = None) -> Any:
        """Influences as bars, with matplotlib; returns the axes."""
        return render("explanation-plot", self, ax)


def _words(labels: dict[str, str | None]) -> str:
    return " ".join(filter(None, (labels[place] for place in _PLACES)))


_LEAVES = (str, int, float, bool, type(None))


def as_plain(value: Any) -> Any:
    """Records as dicts and tuples as lists, all the way down; dataclasses' own way is slow."""
    if type(value) in _LEAVES:
        return value
    if isinstance(value, tuple):
        return [as_plain(item) for item in value]
    fields = value if isinstance(value, dict) else vars(value)
    return {name: as_plain(item) for name, item in fields.items()}


FACT_COLUMNS = (
    "fact_id",
    "subject",
    "relation",
    "object",
    "role",
    "influence",
    "probability_without",
    "top_answer_changes",
    "rank",
    "share",
    "top_answer_without",
    "score_without",
    "parts",
    "subject_label",
    "relation_label",
    "object_label",
    "rating",
    "source",
)
"""Of tables with one row a fact."""
_PLACES = ("subject", "relation", "object")


def fact_row(fact: dict[str, Any]) -> tuple[Any, ...]:
    """What a plain fact has in each of FACT_COLUMNS."""
    cells = fact | {f"{place}_label": fact["labels"][place] for place in _PLACES}
    cells["parts"] = "+".join(fact["parts"])
    return tuple(cells[name] for name in FACT_COLUMNS)
