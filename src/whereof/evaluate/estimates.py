"""What predictions come to, after retraining and by rollback, in the same unit."""

from collections.abc import Sequence

import numpy as np

from whereof.evaluate.sample import Sample
from whereof.explain import situate
from whereof.explain._rollback import Rollback
from whereof.explain._sets import Sets
from whereof.predict import Standings
from whereof.types import FactIds, Numbers


def outputs(sample: Sample, standings: Standings) -> Numbers:
    """What influence is on: probabilities or, of a model of ratings, the ratings."""
    return np.asarray(standings[_unit(sample)], np.float64)


def rolled_back(sample: Sample, number: int, sets: Sequence[FactIds]) -> Numbers:
    """(n_sets,) the same of one prediction, each set of facts rolled back together."""
    # Situated anew: a sample that kept the scores of every answer would fill the memory.
    candidates = sample.situations[number].contest.candidates
    situation = situate(sample.case.trained, sample.asked(number), candidates)
    bounds = np.cumsum([0, *map(len, sets)])
    fact_ids = np.concatenate([np.zeros(0, np.int64), *sets])
    after = Rollback(situation, _unit(sample)).outcomes(Sets(fact_ids, bounds))
    return after.scores if sample.case.trained.learned_ratings else after.probabilities


def _unit(sample: Sample) -> str:
    return "score" if sample.case.trained.learned_ratings else "probability"
