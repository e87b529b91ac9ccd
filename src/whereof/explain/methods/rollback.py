"""Gradient rollback: subtract what a fact changed in training, and look at the prediction."""

from whereof.explain.method import Context, Method, Ranked
from whereof.explain.rollback import Rollback, Sets
from whereof.explain.search import search
from whereof.predict.scored import ScoredPrediction
from whereof.types import FactIds, Numbers

PAPER = (
    "Lawrence, Sztyler and Niepert, Explaining Neural Matrix Factorization with Gradient "
    "Rollback, AAAI 2021"
)


class RollbackMethod(Method):
    """The method of the paper. Its search skips facts that bounds rule out."""

    name = "rollback"
    title = "Gradient rollback"
    citation = PAPER
    needs = frozenset({"trace"})
    can = frozenset({"groups", "contrast", "device", "standings"})

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        """(n_facts,) the quantity less what it is after the fact is rolled back."""
        return self._rollback(scored, context).outcomes(Sets.each(fact_ids)).influences

    def rank(
        self,
        scored: ScoredPrediction,
        fact_ids: FactIds,
        context: Context,
        top: int | str | None,
        *,
        opposing: bool = False,
    ) -> Ranked:
        """See `Method`."""
        rollback, sets = self._rollback(scored, context), Sets.each(fact_ids)
        return search(rollback, sets, top, opposing=opposing, exhaustive=context.exhaustive)

    def _rollback(self, scored: ScoredPrediction, context: Context) -> Rollback:
        aim = context.aim
        return Rollback(scored, aim.of, aim.rival_place(scored))


class SameAnswerRollback(RollbackMethod):
    """Rollback of facts with the same answer in the same place."""

    name = "rollback-o"
    title = "Gradient rollback, facts with the same answer only"
    same_answer = True


ROLLBACK, ROLLBACK_O = RollbackMethod(), SameAnswerRollback()
