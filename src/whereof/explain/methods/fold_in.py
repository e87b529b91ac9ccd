"""Fold-in: compute the row of a new user again without items of the history."""

import numpy as np

from whereof.errors import WhereofError
from whereof.explain.method import Context, Method, Removed, Sets, quantity_of
from whereof.predict.predictions import Predictions
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.training.results import Parameters


class FoldInMethod(Method):
    """Computes the row of a new user again without each item of the history.

    The influences are exact, because the rows of the items stay the same.
    """

    name = "fold-in"
    title = "Fold-in"
    phrase = "exact for a new user, whose row is computed again"
    citation = (
        "Hu, Koren and Volinsky, Collaborative Filtering for Implicit Feedback Datasets, ICDM 2008"
    )
    needs = frozenset({"history"})
    can = frozenset({"groups", "contrast", "standings"})
    nominates = False

    def check(self, trained: Trained) -> None:
        super().check(trained)
        if trained.fold_in is None:
            raise WhereofError(
                "method fold-in explains new users; give what the user chose with --history FILE"
            )

    def notes(self, trained: Trained) -> tuple[str, ...]:
        return ("without an item of the history, only the row of the user is computed again",)

    def remove(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Removed:
        """The prediction without each set of the history's items."""
        trained, solver, aim = scored.trained, scored.trained.fold_in, context.aim
        assert solver is not None, "checked before"
        asked = [scored.prediction]
        asked += [scored.prediction.answered(aim.rival)] if aim.rival is not None else []
        predictions, every = Predictions.of(trained, asked), np.arange(len(solver.items))
        rows = Parameters(trained.scorer.entity_rows.copy(), trained.scorer.relation_rows)
        before, after = predictions.stand(rows), []
        for first, last in zip(sets.bounds[:-1], sets.bounds[1:], strict=True):
            removed = sets.fact_ids[first:last]
            rows.entity_rows[0] = solver.solve(np.setdiff1d(every, removed), solver.row)
            after.append(predictions.stand(rows, removed=removed))
        standings = np.array(after, before.dtype).reshape(-1, len(asked))
        sigmoid = trained.config.loss == "sigmoid"
        falls = quantity_of(aim.of, before, sigmoid) - quantity_of(aim.of, standings, sigmoid)
        return Removed(np.asarray(falls), standings[:, 0])


FOLD_IN = FoldInMethod()
