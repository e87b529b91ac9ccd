"""Exact influence: every fact left out alone, and the model trained again without it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from whereof.errors import WhereofError
from whereof.explain._rollback import Outcomes
from whereof.explain._search import Ranked, rank_outcomes
from whereof.explain._situation import Aim, Situation
from whereof.predict import Standings, stand_alike
from whereof.types import FactIds, Numbers


@dataclass(frozen=True, eq=False)
class LeftOut:
    """How predictions stand after retraining without each of some facts."""

    stored: Standings
    """(n_predictions,) in the run as it was stored."""
    control: Standings
    """(n_predictions,) retrained with all facts."""
    without: Standings
    """(n_facts, n_predictions)"""
    n_retrained: int
    n_known: int
    """Retrainings that were known from before."""

    @property
    def matches(self) -> bool:
        """Whether retraining with all facts leads to what is stored."""
        return stand_alike(self.control, self.stored)


LeaveOut = Callable[[Sequence[Situation], FactIds], LeftOut]
"""Trains the model again without each fact, for predictions over all candidates."""


def rank_retrained(
    situation: Situation, aim: Aim, fact_ids: FactIds, top: int | str | None, *, opposing: bool
) -> Ranked:
    """The order of true influences: against retraining with all facts, not the stored rows."""
    trained, contest = situation.trained, situation.contest
    if trained.leave_out is None:
        raise WhereofError("method retrain trains the run again; ask it through Run.explain")
    everyone = trained.all_candidates(contest.asks)
    if not np.array_equal(contest.candidates.ids, everyone.ids):
        raise WhereofError(f"method retrain takes all {contest.asks}s; leave out candidates")
    rivals = [] if aim.rival is None else [Situation(contest, aim.rival)]
    found = trained.leave_out([situation, *rivals], fact_ids)
    without, sigmoid = found.without[:, 0], trained.config.loss == "sigmoid"
    outcomes = Outcomes(
        influences=_worth(aim.of, found.control, sigmoid) - _worth(aim.of, found.without, sigmoid),
        probabilities=without["probability"],
        scores=without["score"],
        ranks=without["rank"].astype(np.int64),
        tops=contest.candidates.places[without["top"]].astype(np.int64),
    )
    return replace(
        rank_outcomes(outcomes, top, opposing=opposing),
        top_before=contest.place_of(int(found.control["top"][0])),
        notes=() if found.matches else (_DIFFERS,),
    )


_DIFFERS = (
    "retraining with all facts does not lead to the stored run, as on another kind of "
    "processor: influences are against that retraining"
)


def _worth(of: str, standings: Standings, sigmoid: bool) -> Numbers:
    """What is explained, of standings (..., n_predictions)."""
    scores, probabilities = standings["score"], standings["probability"][..., 0]
    if of == "log_ratio":
        return np.asarray(scores[..., 0] - scores[..., 1])
    if of == "score":
        return np.asarray(scores[..., 0])
    if of == "probability":
        return np.asarray(probabilities)
    if sigmoid:
        return np.asarray(-np.logaddexp(0, -scores[..., 0]))
    return np.asarray(np.log(np.maximum(probabilities, np.finfo(np.float64).tiny)))
