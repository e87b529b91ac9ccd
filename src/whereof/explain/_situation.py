"""A prediction under the trained model: how its answer stands among all candidates."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.errors import WhereofError
from whereof.explain._explanation import Standing
from whereof.explain._trained import Candidates, Trained
from whereof.models.match import MATCH_IDS, score_rows
from whereof.types import OBJECT, RELATION, SUBJECT, Numbers


@dataclass(frozen=True, eq=False)
class Contest:
    """A query and the candidates that compete for its answer."""

    trained: Trained
    given: int
    """The entity that is not asked for."""
    relation: int
    asks: str
    """The place that is asked for: object or subject."""
    candidates: Candidates

    @property
    def relation_row(self) -> int:
        """Which row of the relations the query takes."""
        return self.relation + (
            self.trained.dataset.inverse_offset if self.asks == "subject" else 0
        )

    @cached_property
    def scores(self) -> Numbers:
        """(n_candidates,) in double precision, so that rounding hides no small influence."""
        scorer = self.trained.scorer
        return np.asarray(self._plain_scores * scorer.scale + scorer.offset)

    @cached_property
    def _plain_scores(self) -> Numbers:
        rows, kind = self.candidates.rows, MATCH_IDS[self.trained.scorer.model.match]
        scores = np.empty(len(rows))
        score_rows(kind, self.query, rows, np.arange(len(rows)), rows.shape[1], scores)
        return scores

    @property
    def given_row(self) -> Numbers:
        return np.asarray(self.trained.scorer.entity_rows[self.given], np.float64)

    @property
    def relation_vector(self) -> Numbers:
        """The relation's row."""
        return np.asarray(self.trained.scorer.relation_rows[self.relation_row], np.float64)

    @cached_property
    def query(self) -> Numbers:
        """(query width,)."""
        query = np.empty(self.trained.widths.query)
        function = row_function(self.trained.scorer.model.query, 3, "float64")
        function(self.given_row, self.relation_vector, query)
        return query

    @cached_property
    def log_probabilities(self) -> Numbers:
        """(n_candidates,) of the softmax."""
        scores = self._plain_scores - self._plain_scores.max()
        return np.asarray(scores - np.log(np.exp(scores).sum()))

    @cached_property
    def probabilities(self) -> Numbers:
        """(n_candidates,)."""
        return np.exp(self.log_probabilities)

    @cached_property
    def new(self) -> NDArray[np.bool_]:
        """(n_candidates,) whether it is not known from training or validation."""
        data, adjacency = self.trained.dataset, self.trained.adjacency
        asked, given = (SUBJECT, OBJECT) if self.asks == "subject" else (OBJECT, SUBJECT)
        new = np.ones(len(self.candidates.ids), bool)
        for facts in (data.train[adjacency.facts_of_entity(self.given)], data.valid):
            mine = (facts[:, given] == self.given) & (facts[:, RELATION] == self.relation)
            places = self.candidates.places[facts[mine, asked]]
            new[places[places >= 0]] = False
        return new

    def name(self, place: int) -> str:
        """The name of a candidate."""
        return self.trained.dataset.entities.name(self.candidates.ids[place])

    def label(self, place: int) -> str:
        """The label of a candidate, or its name."""
        return self.trained.dataset.entities.label(self.candidates.ids[place])

    def place_of(self, entity: int) -> int:
        """Where an entity stands among the candidates, or -1."""
        return int(self.candidates.places[entity])

    def top_situation(self) -> "Situation":
        """The prediction of the top answer: the best one not known from training or validation."""
        if not self.new.any():
            raise WhereofError("every answer is known from training or validation; name one")
        top = np.where(self.new, self.scores, -np.inf).argmax()
        return Situation(self, int(self.candidates.ids[top]))


@dataclass(frozen=True, eq=False)
class Situation:
    """One answer of a contest: the prediction that is explained."""

    contest: Contest
    target: int
    """The entity that is the answer."""

    def __post_init__(self) -> None:
        if self.place < 0:
            name = self.trained.dataset.entities.name(self.target)
            n_candidates = len(self.contest.candidates.ids)
            raise WhereofError(
                f"{name!r} is not among the {n_candidates} candidates; choose others"
            )

    @property
    def trained(self) -> Trained:
        return self.contest.trained

    @property
    def relation(self) -> int:
        return self.contest.relation

    @property
    def subject(self) -> int:
        return self.target if self.contest.asks == "subject" else self.contest.given

    @property
    def object(self) -> int:
        return self.contest.given if self.contest.asks == "subject" else self.target

    @property
    def place(self) -> int:
        """Where the answer stands among the candidates."""
        return self.contest.place_of(self.target)

    @property
    def probability(self) -> float:
        return float(self.contest.probabilities[self.place])

    @cached_property
    def contenders(self) -> Numbers:
        """(n_candidates,) scores of the answer and all new ones; the others at minus infinity."""
        allowed = self.contest.new.copy()
        allowed[self.place] = True
        return np.where(allowed, self.contest.scores, -np.inf)

    @cached_property
    def top(self) -> int:
        """Where the top answer stands among the candidates."""
        return int(self.contenders.argmax())

    @cached_property
    def standing(self) -> Standing:
        """How the prediction stands with all facts."""
        mine = float(self.contest.scores[self.place])
        return Standing(
            probability=self.shown(self.probability),
            score=mine,
            rank=1 + int((self.contenders > mine).sum()),
            top_answer=self.contest.name(self.top),
        )

    def shown(self, probability: float) -> float | None:
        """A probability, unless scores are ratings and it means nothing."""
        return None if self.trained.learned_ratings else float(probability)


@dataclass(frozen=True)
class Aim:
    """What influence is on."""

    of: str
    """probability, score or loss of the prediction; log_ratio of a contrast."""
    rival: int | None = None
    """The entity that is the other answer of a contrast."""

    def __post_init__(self) -> None:
        assert (self.of == "log_ratio") == (self.rival is not None)

    def rival_place(self, situation: Situation) -> int | None:
        """Where the other answer stands among the candidates."""
        return None if self.rival is None else situation.contest.place_of(self.rival)

    def slopes(self, situation: Situation) -> Numbers:
        """(n_candidates,) slope of what is explained by every candidate's score."""
        contest, place = situation.contest, situation.place
        rival = self.rival_place(situation)
        slopes = np.zeros(len(contest.scores))
        slopes[place] = 1
        if rival is not None:
            slopes[rival] -= 1
        elif self.of == "loss" and situation.trained.config.loss == "sigmoid":
            slopes[place] = 1 / (1 + np.exp(situation.standing.score))
        elif self.of != "score":
            slopes -= contest.probabilities
            slopes *= situation.probability if self.of == "probability" else 1.0
        return slopes
