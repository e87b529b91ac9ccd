"""What predictions come to, after retraining and by rollback, in the same unit."""

import numpy as np

from whence.evaluate.sample import Sample
from whence.explain import Situation
from whence.explain._rollback import Rollback
from whence.explain._sets import Sets
from whence.predict import Standings
from whence.types import FactIds, Numbers


def outputs(sample: Sample, standings: Standings) -> Numbers:
    """What influence is on: probabilities or, of a model of ratings, scores."""
    name = "score" if sample.case.trained.learned_ratings else "probability"
    return np.asarray(standings[name], np.float64)


def rolled_back(situation: Situation, fact_ids: FactIds) -> Numbers:
    """(n_facts,) the same of one prediction, as rollback foretells it without each fact alone."""
    ratings = situation.trained.learned_ratings
    rollback = Rollback(situation, "score" if ratings else "probability")
    after = rollback.outcomes(Sets.each(fact_ids))
    return after.scores if ratings else after.probabilities
