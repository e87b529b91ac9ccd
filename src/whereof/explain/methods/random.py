"""Adjacent facts in random order (NH in the paper): the baseline for every method."""

import numpy as np

from whereof._jit import kernel
from whereof.explain.method import Context, Method
from whereof.explain.methods.rollback import PAPER
from whereof.predict.scored import ScoredPrediction
from whereof.training.sampling import RANDOM_STREAM, key_of
from whereof.types import FactIds, Numbers

_11 = np.uint64(11)


class RandomMethod(Method):
    """Draws between 0 and 1, keyed by seed, prediction and fact.

    So a fact's number does not depend on which other facts there are.
    """

    name = "random"
    title = "Random adjacent facts"
    phrase = "random facts, for comparison"
    citation = PAPER
    can = frozenset({"contrast", "non-adjacent facts"})
    draws = True

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        out, triple = np.empty(len(fact_ids)), tuple(map(np.uint64, scored.prediction.triple))
        _draw(np.uint64(context.seed), triple, fact_ids, out)
        return out


RANDOM = RandomMethod()


@kernel
def _draw(seed, prediction, fact_ids, out):
    subject, relation, object_ = prediction
    query = key_of(seed, RANDOM_STREAM, subject, relation)
    for i in range(out.shape[0]):
        key = key_of(query, RANDOM_STREAM, object_, np.uint64(fact_ids[i]))
        out[i] = ((key >> _11) + 0.5) * 2.0**-53
