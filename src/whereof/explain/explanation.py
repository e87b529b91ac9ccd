"""Records of an explanation."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, get_type_hints

from whereof.graph import graph_of
from whereof.predict.scored import Standing
from whereof.records import as_plain
from whereof.registry import render
from whereof.run.reliability import Reliability
from whereof.table import Tabular, arrow_schema, arrow_table
from whereof.types import PLACES
from whereof.units import count


@dataclass(frozen=True, kw_only=True)
class NamedPrediction(Standing):
    """A prediction with names, and its standing with all facts."""

    subject: str
    relation: str | None
    """None in two-way data."""
    object: str
    asks: str
    """The predicted place: object or subject."""
    labels: dict[str, str | None]
    """Labels of subject, relation, object and top answer, or their names."""
    n_candidates: int
    n_new: int
    """Number of candidates that are not known from training or validation: the rank counts them."""
    known: str | None = None
    """The split that contains it as a fact: train, valid or test; or history, of a new user."""

    @property
    def is_new(self) -> bool:
        """Whether it is known neither from training or a history, nor from validation.

        Only then it has a rank.
        """
        return self.known in (None, "test")


@dataclass(frozen=True, kw_only=True)
class Contrast(Standing):
    """The answer that the prediction is compared with, and its standing."""

    answer: str
    label: str
    log_ratio: float
    """log of the ratio of both probabilities: the difference of the scores, or of the ratings."""


@dataclass(frozen=True, kw_only=True)
class NamedFact:
    """A training fact with its names. Subclasses add what else is known of it."""

    fact_id: int
    subject: str
    relation: str | None
    object: str
    labels: dict[str, str | None]
    """Labels of subject, relation and object, or their names."""
    rating: float | None = None
    """The user's rating of the item, in data with ratings."""
    source: str | None = None
    """The source of the fact, in data with sources."""
    weight: float | None = None
    """The weight of the fact in training, in data with weights."""


@dataclass(frozen=True, kw_only=True)
class ExplainedFact(NamedFact):
    """A fact and its influence on the prediction."""

    role: str
    """What it shares with the prediction: subject, relation or object; several of these; rival,
    only the other answer of a contrast; or none, for a named fact that shares nothing."""
    parts: tuple[str, ...]
    """Everything it shares with the prediction: subject, relation, object, rival."""
    influence: float
    rank: int
    """Position in the list, counted from 1."""
    share: float | None
    """Its share of the influence of all facts with the same sign; None if not all were scored."""
    probability_without: float | None = None
    score_without: float | None = None
    top_answer_without: str | None = None
    """The label is `top_answer_without` in `labels`."""
    top_answer_changes: bool | None = None
    predicted: float | None = None
    """The estimate for an influence that was measured by retraining."""
    nominated_by: tuple[str, ...] | None = None
    """Names of the methods that chose the fact for retraining."""
    in_top: int | None = None
    """With several seeds, the number of other seeds that have the fact among their top facts."""
    mean_influence: float | None = None
    """With several seeds, the mean over all of them; `std_influence` is the standard deviation."""
    std_influence: float | None = None

    @property
    def has_fall(self) -> bool:
        """Whether the method scores the prediction without the fact."""
        return self.score_without is not None or self.probability_without is not None


@dataclass(frozen=True)
class MethodCost:
    """What an explanation by a method costs, and how far to trust it."""

    method: str
    seconds: float | None
    """Estimated; None if far less than a training."""
    trust: str
    """exact, close, rough or not measured."""


@dataclass(frozen=True)
class SeedAgreement:
    """How an explanation agrees with those of the same config under other seeds."""

    seeds: tuple[int, ...]
    """The seed of the run comes first."""
    top: int
    """The number of top facts that are compared."""
    rank_agreement: float | None
    """Mean Spearman correlation of influences over pairs of seeds; None if there is none."""
    n_facts: int
    """Number of facts whose influences are compared."""
    standings: tuple[Standing, ...]
    """The prediction under each seed."""


@dataclass(frozen=True, kw_only=True)
class Joint(Standing):
    """The standing of the prediction after several facts are removed together, as estimated."""

    fact_ids: tuple[int, ...]
    influence: float
    """Influence of all together, which is not the sum of the single influences."""
    sum_of_single: float
    top_answer_changes: bool | None
    """None if the estimate does not tell."""


@dataclass(frozen=True)
class Path:
    """Two facts that connect the prediction's entities through a third entity."""

    entity: str
    label: str
    facts: tuple[ExplainedFact, ExplainedFact]
    """The fact on the subject's side first."""
    influence: float
    """Of both together."""
    probability_without: float | None


@dataclass(frozen=True)
class Graph:
    """The explanation graph of the paper: facts that connect the prediction's entities."""

    between: tuple[ExplainedFact, ...]
    """Facts between the same two entities, in either direction."""
    same_relation: tuple[ExplainedFact, ...]
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Explanation(Tabular):
    """The facts that a prediction is made of, ranked by influence."""

    prediction: NamedPrediction
    method: str
    of: str
    """What the influence is measured on: probability, score, loss or log_ratio."""
    n_adjacent: int
    seconds: float
    facts: tuple[ExplainedFact, ...]
    n_history: int | None = None
    """In data of users and items, the number of facts of the prediction's own user: they come first
    in `facts`. None in other data, and if facts were named."""
    contrast: Contrast | None = None
    without: Joint | None = None
    stability: tuple[Joint, ...] | None = None
    """The prediction without its 1, 3 and 10 strongest supporting facts, as far as they exist. In
    data of users and items, these are facts of the prediction's own user, if any support it."""
    graph: Graph | None = None
    groups: tuple[Joint, ...] = ()
    """Facts that say nearly the same, a listed one first, rolled back together."""
    estimate: bool = True
    """Whether the influences are estimates, which no retraining has confirmed."""
    seeds: SeedAgreement | None = None
    sweep_epochs: int | None = None
    """The last epochs of training, if a sweep went back over these alone."""
    reliability: Reliability | None = None
    """How reliable estimates of this run are; None if the explanation is one of many."""
    costs: tuple[MethodCost, ...] = ()
    """Cost and trust of methods for this prediction; empty if the run cannot be retrained."""
    recommended: str | None = None
    """The cheapest method that can be trusted; None if there is none."""
    notes: tuple[str, ...] = ()

    @property
    def names_new_tops(self) -> bool:
        """Whether to say that a top answer changes: it was measured, or such claims come true."""
        claims = None if self.reliability is None else self.reliability.of(self.method)
        return not self.estimate or (claims is not None and claims.believable)

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof explain --json` prints."""
        document: dict[str, Any] = as_plain(self)
        for name in ("top_answer", "labels") if self.contrast else ():
            del document["contrast"][name]
        return document

    def to_arrow(self) -> Any:
        """An Arrow table with one row per fact, strongest first."""
        rows = [fact_row(as_plain(fact), estimate=self.estimate) for fact in self.facts]
        return arrow_table(arrow_schema(FACT_COLUMNS), rows)

    def to_networkx(self) -> Any:
        """A NetworkX graph: the facts with their influence, and the prediction itself.

        An edge goes from subject to object. Its key is the id of the fact; that of the prediction
        is "prediction". The attribute `kind` is fact or prediction. In two-way data, nodes are
        named subject:NAME and object:NAME.
        """
        return graph_of(self._edges())

    def _edges(self) -> Iterator[dict[str, Any]]:
        named = (*PLACES[3], "labels", "probability", "score", "rank")
        asked = {name: getattr(self.prediction, name) for name in named}
        yield {**asked, "key": "prediction", "kind": "prediction"}
        for fact in map(as_plain, self.facts):
            row = dict(zip(FACT_COLUMNS, fact_row(fact, estimate=self.estimate), strict=True))
            labels = {name: row.pop(f"{name}_label") for name in PLACES[3]}
            yield row | {"labels": labels, "key": row.pop("fact_id"), "kind": "fact"}

    def to_file(self, path: str | FilePath, *, force: bool = False) -> None:
        """Write the explanation to a file, in the format of its ending.

        .graphml is the graph of `to_networkx`. .ttl and .nt are RDF: the prediction as a quoted
        triple, annotated with its facts. .jsonl, .tsv, .txt and .csv have a row per fact, and so
        has .parquet. All but .parquet may end in .gz. `force` overwrites a file that exists.
        """
        render("explanation-file", FilePath(path), self, force)

    def __str__(self) -> str:
        """The prediction and its standing, then one line per fact."""
        stands = self.prediction
        rated = stands.probability is None
        output = f"score {stands.score:.3f}" if rated else f"probability {stands.probability:.4g}"
        rank = f"rank {stands.rank} among {count(stands.n_new, 'new answer')}"
        lines = [f"{_words(stands.labels)}: {output}, {rank}"]
        lines += ["estimated influences:"] if self.estimate and self.facts else []
        lines += [f"{fact.influence:+.4g}  {_words(fact.labels)}" for fact in self.facts]
        lines += [agreement_text(self)] if self.seeds else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(render("explanation-html", self))

    def show(self, height: int = 640) -> None:
        """Display the page of `whereof explain --html` in a notebook. No server is needed.

        `height` is the height of the page in pixels.
        """
        render("show", render("explanation-page", self), height)

    def plot(self, ax: Any = None) -> Any:
        """Plot the influences as bars with matplotlib; return the axes."""
        return render("explanation-plot", self, ax)


def _words(labels: dict[str, str | None]) -> str:
    return " ".join(filter(None, (labels[place] for place in PLACES[3])))


def agreement_text(explanation: Explanation) -> str:
    """How far several seeds agree, in words."""
    found, facts = explanation.seeds, explanation.facts
    assert found is not None
    text = f"Under {len(found.seeds)} seeds"
    if found.rank_agreement is None:
        text += ", the ranks of the facts cannot be compared"
    else:
        text += f", the ranks of the facts have a mean correlation of {found.rank_agreement:.2f}"
    if facts:
        others = count(len(found.seeds) - 1, "other seed")
        text += f". The first fact is among the top {found.top} in {facts[0].in_top} of {others}"
    return f"{text}."


_NAMES = """
    fact_id subject relation object role influence probability_without top_answer_changes rank share
    top_answer_without score_without parts subject_label relation_label object_label rating source
    weight predicted nominated_by in_top mean_influence std_influence estimate
"""
_TYPES = get_type_hints(ExplainedFact) | {"parts": str, "nominated_by": str, "estimate": bool}
FACT_COLUMNS = {name: _TYPES.get(name, str) for name in _NAMES.split()}
"""Columns of tables with one row per fact, and their types."""


def fact_row(fact: dict[str, Any], *, estimate: bool) -> tuple[Any, ...]:
    """The values of a fact for FACT_COLUMNS."""
    cells = fact | {"estimate": estimate}
    cells |= {f"{place}_label": fact["labels"][place] for place in PLACES[3]}
    for name in ("parts", "nominated_by"):
        cells[name] = None if fact[name] is None else "+".join(fact[name])
    return tuple(cells[name] for name in FACT_COLUMNS)
