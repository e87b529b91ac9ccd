"""Which predictions are shown with their explanations."""

from collections.abc import Sequence

from whereof.evaluate.evaluation import Retraining

Prediction = tuple[str, str | None, str, str]
"""Subject, relation, object, and the place that was asked for."""


def choose_examples(retrainings: Sequence[Retraining], seed: int, n: int) -> list[Prediction]:
    """The predictions of a seed that fell furthest without rollback's first fact."""
    single = [
        row
        for row in retrainings
        if (row.protocol, row.method, row.k, row.seed) == ("removal", "rollback", "1", seed)
    ]
    fallen = sorted(single, key=_change)[:n]
    return [(row.subject, row.relation, row.object, row.asks) for row in fallen]


def _change(row: Retraining) -> float:
    """Of the probability; of a model of ratings, of the rating."""
    if row.actual is None or row.original is None:
        return row.actual_score - row.original_score
    return row.actual - row.original
