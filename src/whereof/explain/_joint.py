"""Several facts rolled back together, which is not the sum of what each does alone."""

import numpy as np

from whereof.explain._explanation import Joint
from whereof.explain._rollback import Rollback
from whereof.explain._sets import Sets
from whereof.types import FactIds


def roll_back_jointly(rollback: Rollback, fact_ids: FactIds) -> Joint:
    """How the prediction stands without these facts."""
    situation, together = rollback.situation, Sets(fact_ids, np.array([0, len(fact_ids)]))
    after = rollback.outcomes(together)
    top = int(after.tops[0])
    return Joint(
        fact_ids=tuple(map(int, fact_ids)),
        influence=float(after.influences[0]),
        sum_of_single=float(rollback.outcomes(Sets.each(fact_ids)).influences.sum()),
        probability=situation.shown(after.probabilities[0]),
        score=float(after.scores[0]),
        rank=int(after.ranks[0]),
        top_answer=situation.contest.name(top),
        top_answer_changes=top != situation.top,
        labels={"top_answer": situation.contest.label(top)},
    )
