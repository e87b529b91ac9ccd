"""The truth on a few predictions, beyond what an evaluation of one run says of it.

Credit by step and by source train the same rows and differ in the trace alone: what was retrained
for one judges the other too.
"""

from collections.abc import Sequence
from dataclasses import replace

from whence.api import Run
from whence.api._cases import open_case
from whence.engines import Engine
from whence.evaluate.options import EvaluateOptions
from whence.evaluate.results import Evaluation, Order
from whence.paper._plan import Part
from whence.paper._results import Document
from whence.paper._runs import Runs
from whence.paper._watch import PaperWatch
from whence.verify import Case

TRUTH = "truth"
"""The name of its part."""
OTHER_CREDIT = "step"
"""Beside that of the run."""


def count_truth(part: Part, case: Case) -> int | None:
    """How many facts the part of the truth removes; None of another part."""
    if part.name != TRUTH:
        return None
    from whence.evaluate.leave_one_out import count_adjacent
    from whence.evaluate.picking import pick

    sample = pick(case, EvaluateOptions(protocols=part.protocols, **part.asked))
    return count_adjacent(sample)


def measure_truth(
    part: Part, runs: Runs, run: Run, evaluation: Evaluation, engine: Engine
) -> Document:
    """What the part of the truth has more than others; of another part, nothing."""
    if part.name != TRUTH:
        return {}
    other, options = runs.sibling(run, credit=OTHER_CREDIT), evaluation.options
    orders = _orders(run, other, EvaluateOptions.from_dict(options), engine, runs.watch)
    return {"other_credit": orders, "labels": _labels(run, orders)}


def _orders(
    run: Run, other: Run, options: EvaluateOptions, engine: Engine, watch: PaperWatch
) -> Sequence[Order]:
    """How rollback orders facts by the trace of another run with the same rows."""
    from whence.evaluate.leave_one_out import find_orders, find_truth
    from whence.evaluate.picking import pick
    from whence.evaluate.sample import Sample

    with open_case(run, engine, watch) as case:
        sample = pick(case, options)
        # The journal knows all of it: the evaluation retrained the same.
        truth = find_truth(sample, adjacent_only=options.adjacent_only)
        traced = replace(case, trained=other._trained)
        return find_orders(Sample(traced, sample.situations), "rollback", truth)


def _labels(run: Run, orders: Sequence[Order]) -> dict[str, str]:
    """By name, of the entities of predictions."""
    entities = run.dataset.entities
    names = dict.fromkeys(name for each in orders for name in (each.subject, each.object))
    return {name: entities.label(entities.find(name)) for name in names}
