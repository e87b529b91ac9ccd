"""A trained run, and its predictions with the scores of all their candidates.

Every probability comes from the kernels in `models.scoring`, in double precision: so all commands
agree on a prediction to the last bit.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import SPLITS, Dataset
from whereof.data.indexes import Adjacency
from whereof.errors import WhereofError
from whereof.models.scoring import Scorer, score_all, softmax
from whereof.predict.prediction import Prediction
from whereof.run.files import Store
from whereof.training.config import TrainConfig
from whereof.training.results import Checkpoint, Parameters
from whereof.types import OBJECT, RELATION, SUBJECT, Facts, Numbers, Rows

if TYPE_CHECKING:
    from whereof.predict.fold_in import FoldIn

STANDING = np.dtype(
    [("probability", "f8"), ("score", "f8"), ("rank", "i4"), ("top", "i4"), ("top_released", "i4")],
    align=True,
)
"""The standing of one prediction; `top` is the id of the top answer. Rank and top answer skip what
is known from training and validation, removed facts too, other than the prediction. `top_released`
is the top answer if an answer that only a removed fact had counts as new."""

Standings = NDArray[np.void]
"""(n,) of STANDING."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The candidates, and properties of their rows that bounds need."""

    ids: NDArray[np.int64]
    """(n_candidates,) ascending."""
    rows: Rows
    """(n_candidates, width)"""
    places: NDArray[np.int32]
    """(n_entities,) the position of each entity among the candidates, or -1."""

    @cached_property
    def squares(self) -> Numbers:
        """(n_candidates,) squared norms of the rows."""
        return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows, dtype=np.float64))

    @property
    def reach(self) -> float:
        """The largest norm of a candidate row."""
        return float(np.sqrt(self.squares.max()))

    @cached_property
    def radius(self) -> float:
        """The largest distance of a row from the mean of all."""
        centre = self._centre
        squares = self.squares - 2 * (self.rows @ centre) + centre @ centre
        # The difference of squares loses digits; a bound must not become too small.
        return float(np.sqrt(squares.max() + 1e-6 * self.squares.max()))

    @cached_property
    def scatter(self) -> Numbers:
        """(width, width) sum over rows of (e - mean)(e - mean)^T, rounded up slightly."""
        centred = self.rows - self._centre.astype(self.rows.dtype)
        scatter = (centred.T @ centred).astype(np.float64)
        # Rounding must not make the bound too small.
        return np.asarray(scatter + 1e-5 * np.trace(scatter) * np.eye(len(scatter)))

    @cached_property
    def _centre(self) -> Numbers:
        return np.asarray(self.rows.mean(axis=0, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model with its facts, its trace and the index of adjacent facts."""

    scorer: Scorer
    dataset: Dataset
    config: TrainConfig
    adjacency: Adjacency
    trace: NDArray[Any] | None
    """(n_facts, trace width); None for a run without a trace."""
    read_checkpoints: Callable[[], Sequence[Checkpoint]] = tuple
    """Reads the checkpoints of training that were kept."""
    n_trained: int | None = None
    """Facts that it was trained on, over all epochs; None if that is not known."""
    store: Store = field(default_factory=Store, repr=False)
    """Stores what methods prepare."""
    backing: "Callable[[ScoredPrediction], Any] | None" = None
    """Scores removals against all candidates; None for the CPU."""
    fold_in: "FoldIn | None" = None
    """Solves for the row of a new user, whose history are the facts; see `predict.fold_in`."""
    training_seconds: float | None = None
    """Of one training on one core; None if that is not known."""
    unlearned: bool = False
    """Whether facts were unlearned from it, so that no training gives its rows."""

    def __post_init__(self) -> None:
        if not self.store.serves(self.scorer):
            object.__setattr__(self, "store", Store())  # other parameters have other arrays
        if self.trace is None:
            return
        wanted = (self.dataset.n_facts, self.slots[-1].stop)
        if self.trace.shape != wanted:
            raise WhereofError(
                f"the trace has shape {self.trace.shape}, and these facts need {wanted}: "
                "it belongs to other data or another model"
            )

    @property
    def on_card(self) -> bool:
        """Whether methods with the ability `device` compute on a GPU."""
        return self.backing is not None

    @property
    def known_from(self) -> tuple[str, ...]:
        """The names of the splits; the facts of a new user are their history."""
        return SPLITS if self.fold_in is None else ("history", *SPLITS[1:])

    @property
    def parameters(self) -> Parameters:
        return Parameters(self.scorer.entity_rows, self.scorer.relation_rows)

    @cached_property
    def slots(self) -> tuple[slice, ...]:
        """A fact's parts of the trace: subject, relation, object, inverse relation."""
        return self.scorer.model.widths(self.config.dim).slots(1 + self.config.inverse)

    def known(self, prediction: Prediction) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The known answers to a question, and the training fact with each, (n,) both.

        In place of a fact, -1 stands for validation and -2 for test; they come in this order.
        """
        asked, given = (SUBJECT, OBJECT) if prediction.asks == "subject" else (OBJECT, SUBJECT)
        answers, by = [], []
        for facts, fact_ids, adjacency in self._splits:
            ids = adjacency.facts_of_entity(prediction.given)
            near = facts[ids]
            mine = near[:, RELATION] == prediction.relation
            mine &= near[:, given] == prediction.given
            answers.append(near[mine, asked])
            by.append(fact_ids[ids[mine]])
        return np.concatenate(answers), np.concatenate(by)

    @cached_property
    def _splits(self) -> tuple[tuple[Facts, NDArray[np.int64], Adjacency], ...]:
        """Facts, the ids or marks that `known` gives them, and their index: train, held out."""
        data = self.dataset
        facts = np.concatenate([data.valid, data.test])
        marks = np.repeat(np.array([-1, -2]), (len(data.valid), len(data.test)))
        held_out = Adjacency.of(facts, data.n_entities, 0)
        return (data.train, np.arange(data.n_facts), self.adjacency), (facts, marks, held_out)

    @cached_property
    def everyone(self) -> dict[str, Candidates]:
        """For each place that can be predicted, all entities that can be there."""
        places = {"subject": self.dataset.subjects, "object": self.dataset.objects}
        return {asks: self.candidates(ids) for asks, ids in places.items()}

    def candidates(self, ids: range | NDArray[np.integer]) -> Candidates:
        """These entities as candidates; the rows of a range are not copied."""
        rows = self.scorer.entity_rows
        places = np.full(len(rows), -1, np.int32)
        listed = np.unique(np.asarray(ids, np.int64))
        places[listed] = np.arange(len(listed), dtype=np.int32)
        mine = rows[ids.start : ids.stop] if isinstance(ids, range) else rows[listed]
        return Candidates(listed, mine, places)

    def score(
        self, prediction: Prediction, candidates: Candidates | None = None
    ) -> "ScoredPrediction":
        """A prediction among candidates; by default, among all that can be the answer."""
        return ScoredPrediction(self, prediction, candidates or self.everyone[prediction.asks])


@dataclass(frozen=True)
class Standing:
    """Probability, score, rank and top answer of a prediction under some parameters."""

    probability: float | None
    """None for a rating model: its score is the rating."""
    score: float | None
    """None in an estimate that does not have it."""
    rank: int
    """Skips answers known from training and validation, except this one; 0 if an estimate does not
    tell."""
    top_answer: str
    """The best new answer: not known from training or validation, or the prediction itself.

    Empty if an estimate does not tell."""
    labels: dict[str, str | None]
    """The label of the top answer, or its name."""

    @property
    def top_label(self) -> str:
        """The label of the top answer; empty if an estimate does not tell."""
        return self.labels["top_answer"] or ""

    @property
    def value(self) -> float:
        """The probability; for a rating model, the rating."""
        value = self.score if self.probability is None else self.probability
        assert value is not None, "a rating model always has a score"
        return value


def name_standings(trained: Trained, standings: Standings) -> tuple[Standing, ...]:
    """Standings with names in place of ids."""
    entities, found = trained.dataset.entities, []
    for probability, score, rank, top, _ in standings.tolist():
        shown = None if trained.config.rated else probability
        known = None if math.isnan(score) else score
        names = ("", None) if top < 0 else (entities.name(top), entities.label(top))
        found.append(Standing(shown, known, rank, names[0], {"top_answer": names[1]}))
    return tuple(found)


_SHARED = ("query", "plain_scores", "scores", "_softmax", "log_probabilities", "splits", "new")
"""Values that all answers to one question share."""


@dataclass(frozen=True, eq=False)
class ScoredPrediction:
    """A prediction under a run's parameters. Its arrays are computed once, when first read."""

    trained: Trained
    prediction: Prediction
    candidates: Candidates

    def __post_init__(self) -> None:
        target = self.prediction.target
        if target is not None and self.candidates.places[target] < 0:
            name = self.trained.dataset.entities.name(target)
            raise WhereofError(
                f"{name!r} is not among the {len(self.candidates.ids)} candidates; choose others"
            )

    def answered(self, target: int) -> "ScoredPrediction":
        """Another answer to the same question; shares what was computed."""
        other = replace(self, prediction=self.prediction.answered(target))
        other.__dict__.update({k: v for k, v in self.__dict__.items() if k in _SHARED})
        return other

    def best_new(self) -> "ScoredPrediction":
        """The best new answer to the same question."""
        if not self.new.any():
            raise WhereofError("every answer is known from training or validation; name one")
        top = np.where(self.new, self.scores, -np.inf).argmax()
        return self.answered(int(self.candidates.ids[top]))

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """Arrays that methods compute for this prediction more than once, by keys of theirs."""
        return {}

    @property
    def target(self) -> int:
        """The entity that is the answer."""
        assert self.prediction.target is not None
        return self.prediction.target

    @property
    def relation_row(self) -> int:
        """The number of the relation's row."""
        return self.prediction.relation_row(self.trained.dataset)

    @cached_property
    def query(self) -> Numbers:
        """(query width,) the query vector."""
        given, relation = np.array([self.prediction.given]), np.array([self.relation_row])
        return np.asarray(self.trained.scorer.queries(given, relation, "float64")[0])

    @cached_property
    def plain_scores(self) -> Numbers:
        """(n_candidates,) scores of the model, not scaled to ratings."""
        rows = self.candidates.rows
        whole = np.array([[0, len(rows)]])
        return np.asarray(score_all(self.trained.scorer.model, self.query[None], rows, whole)[0])

    @cached_property
    def scores(self) -> Numbers:
        scorer = self.trained.scorer
        return np.asarray(self.plain_scores * scorer.scale + scorer.offset)

    @cached_property
    def _softmax(self) -> tuple[Numbers, float]:
        found = softmax(self.plain_scores[None], np.array([len(self.plain_scores)]))
        return found.exponentials[0] / found.totals[0], float(found.totals[0])

    @property
    def probabilities(self) -> Numbers:
        """(n_candidates,) probabilities of the softmax."""
        return self._softmax[0]

    @cached_property
    def log_probabilities(self) -> Numbers:
        """(n_candidates,) log probabilities, finite even if a probability underflows."""
        return np.asarray(self.plain_scores - self.plain_scores.max() - np.log(self._softmax[1]))

    @cached_property
    def splits(self) -> NDArray[np.int8]:
        """(n_candidates,) the first of SPLITS that contains each as an answer, or -1."""
        answers, facts = self.trained.known(self.prediction)
        places, codes = self.candidates.places[answers], np.maximum(-facts, 0)
        splits, inside = np.full(len(self.candidates.ids), -1, np.int8), places >= 0
        splits[places[inside][::-1]] = codes[inside][::-1]  # training facts come last and stay
        return splits

    @cached_property
    def new(self) -> NDArray[np.bool_]:
        """(n_candidates,) whether it is not known from training or validation."""
        return np.asarray((self.splits < 0) | (self.splits == SPLITS.index("test")))

    @property
    def place(self) -> int:
        """The position of the answer among the candidates."""
        return int(self.candidates.places[self.target])

    @property
    def probability(self) -> float:
        return float(self.probabilities[self.place])

    @cached_property
    def contenders(self) -> Numbers:
        """(n_candidates,) plain scores of the answer and of new candidates; others minus infinity.

        NaN is minus infinity too: it is never the top answer.
        """
        allowed = self.new.copy()
        allowed[self.place] = True
        return np.where(allowed, np.fmax(self.plain_scores, -np.inf), -np.inf)

    def strongest(self, most: int) -> list[int]:
        """The entities of the answer and of the best new candidates, the answer first."""
        order = np.argsort(-self.contenders, kind="stable")[:most]
        fits = order[np.isfinite(self.contenders[order])]
        return [*dict.fromkeys([self.target, *self.candidates.ids[fits].tolist()])]

    @cached_property
    def top(self) -> int:
        """The entity that is the top answer."""
        return int(self.candidates.ids[self.contenders.argmax()])

    @cached_property
    def standing(self) -> Standing:
        """The standing of the prediction with all facts."""
        rank = 1 + (self.contenders > self.plain_scores[self.place]).sum()
        stands = (self.probability, self.scores[self.place], rank, self.top, self.top)
        return name_standings(self.trained, np.array([stands], STANDING))[0]
