"""The truth on a few predictions, beyond what an evaluation of one run says of it.

Credit by step and by source train the same rows and differ in the trace alone: what was retrained
for one judges the other too.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whereof.api import Run
from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocols.leave_one_out import Order
from whereof.paper._plan import OTHER_CREDIT, TRUTH, Part
from whereof.paper._results import Document
from whereof.paper._runs import Runs
from whereof.retrain import Case


def open_other(part: Part, runs: Runs, run: Run) -> Run | None:
    """For the part of the truth, its run with the other credit; None for another part."""
    if part.name != TRUTH:
        return None
    other = runs.sibling(run, credit=OTHER_CREDIT)
    check_same_rows(run, other)
    return other


def check_same_rows(run: Run, other: Run) -> None:
    """Refuse to judge a trace by the retrainings of a model that it is not of."""
    for mine, theirs in (
        (run.entity_rows, other.entity_rows),
        (run.relation_rows, other.relation_rows),
    ):
        if not np.array_equal(mine, theirs):
            raise WhereofError(
                f"{other.path} has other rows than {run.path}, and credit changes none: they were "
                f"trained in different places; remove {run.path}, and both are trained again"
            )


def measure_truth(case: Case, other: Run, options: EvaluateOptions) -> Document:
    """How rollback orders facts by the trace of another run with the same rows."""
    from whereof.evaluate.protocols.leave_one_out import find_orders, find_truth
    from whereof.evaluate.sample import Sample, pick

    sample = pick(case, options)
    # The journal knows all of it: the evaluation retrained the same.
    truth = find_truth(sample, options)
    # Explained where the run itself is: on the card, or by the processor.
    traced = replace(case, trained=replace(other._trained, backing=case.trained.backing))
    orders = find_orders(Sample(traced, sample.predictions), "rollback", truth)
    return {"other_credit": orders, "labels": _labels(other, orders)}


def _labels(run: Run, orders: Sequence[Order]) -> dict[str, str]:
    """By name, of the entities of predictions."""
    entities = run.dataset.entities
    names = dict.fromkeys(name for each in orders for name in (each.subject, each.object))
    return {name: entities.label(entities.find(name)) for name in names}
