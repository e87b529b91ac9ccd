"""Leave-one-out: compare estimated with true influence, for every training or adjacent fact.

The journal of a run keeps every retraining, so true influences are measured once and judge any
method later.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof.chart import Bar, Chart
from whereof.evaluate.evaluation import UNWRITTEN, Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import MethodName, Protocol, Retrainings, SampleSize, table_of
from whereof.evaluate.sample import Sample, Task
from whereof.evaluate.statistics import (
    Interval,
    bootstrap_interval,
    mean_size,
    seeds_mean,
    spearman,
)
from whereof.retrain.engine import Job
from whereof.table import Column, Table
from whereof.types import FactIds, Numbers
from whereof.units import count, is_number, show

_SHOWN = 40
"""Rows that people see of the table of single predictions."""

_Interval = Annotated[Interval | None, Column("", "95%", "correlation", "interval")]

PAIR = np.dtype([("fact", "<i4"), ("prediction", "<i4"), ("influence", "<f8")])
"""A fact's id, the position of a prediction, and the true influence."""


@dataclass(frozen=True)
class Order:
    """How a method orders the adjacent facts of one prediction, beside their true influence."""

    seed: int
    subject: str
    relation: str | None
    object: str
    asks: str
    n_adjacent: int
    original: float
    """Probability (or rating) in the control."""
    rho: float
    """The Spearman correlation of estimated and true influence."""
    best_fact: int
    """The id of the fact whose removal lowers the probability most."""
    best_drop: float
    """By how much; negative where the probability rises without any fact."""
    best_rank: int
    """The method's rank of that fact, after all facts with the same estimate."""
    first_fact: int | None
    """The id of the fact that the method ranks first; None where no fact supports."""
    first_drop: float
    """The fall of the probability without it; 0 where there is none."""


@dataclass(frozen=True)
class LeaveOneOut:
    """How well a method's estimates agree with the true influence."""

    method: MethodName
    rho_adjacent: Annotated[float, Column("", "rho adjacent", "correlation")]
    """Spearman correlation over adjacent facts, the mean over predictions."""
    rho_adjacent_interval: _Interval
    rho_all: Annotated[float, Column("", "rho all", "correlation")]
    """Over all facts, if all were removed; facts that are not adjacent have estimate 0."""
    rho_all_interval: _Interval
    share_of_best: Annotated[float, Column("", "of best", "percent")]
    """True drop without the method's first fact over the largest true drop: the mean."""
    n_predictions: int
    n_seeds: int
    n_facts: int
    """Distinct facts that were removed in the first seed, each alone."""
    orders: tuple[Order, ...] = field(default=(), repr=False)
    """One for every prediction of every seed, over its adjacent facts."""


@dataclass(frozen=True, eq=False)
class TrueInfluences:
    """The measured influences of one seed, which the run's folder keeps as an array.

    A matrix where all facts were removed, otherwise pairs of a fact and a prediction.
    """

    seed: int
    predictions: tuple[tuple[str | None, ...], ...]
    """The columns: subject, relation, object and which of them was asked for."""
    matrix: Any = field(default=None, repr=False, metadata=UNWRITTEN)
    """(n_facts, n_predictions) the fall of the probability (or rating) without each fact."""
    pairs: Any = field(default=None, repr=False, metadata=UNWRITTEN)
    """(n_pairs,) of `PAIR`: the same, for every prediction and each fact adjacent to it."""


class Truth(NamedTuple):
    """True influences of one seed: how far each prediction falls without each single fact."""

    original: Numbers
    """(n_predictions,) probabilities (or ratings) with all facts."""
    adjacent: tuple[FactIds, ...]
    """Per prediction, ascending."""
    drops: tuple[Numbers, ...]
    """Per prediction, the fall without each adjacent fact."""
    n_removed: int
    """Distinct facts."""
    matrix: NDArray[np.float64] | None = None
    """(n_facts, n_predictions) the fall without each fact, where all were removed."""


class LeaveOneOutProtocol(Protocol):
    """See `docs/protocols/leave-one-out.md`."""

    name = "leave-one-out"
    title = "True influence, fact by fact"
    citation = (
        "Koh and Liang, Understanding Black-box Predictions via Influence Functions, ICML 2017"
    )
    fields: ClassVar[Mapping[str, Any]] = {
        "leave_one_out": tuple[LeaveOneOut, ...],
        "true_influences": tuple[TrueInfluences, ...],
    }
    by_method = True
    options = ("adjacent_only",)

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        if options.adjacent_only:
            return Retrainings(adjacent=size.n_adjacent)
        return Retrainings(single=size.n_facts)

    def jobs(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        if options.adjacent_only:
            return _adjacent_jobs(sample)
        every = np.arange(len(sample))
        return [Job.of([fact], every) for fact in range(sample.n_facts)]

    def run(self, task: Task) -> Mapping[str, Any]:
        """Compare estimated with true influence. Single retrainings are too many to be listed."""
        truths = [find_truth(sample, task.options) for sample in task.seeds]
        rows = (_judge(method, task, truths) for method in task.options.methods)
        named = map(_true_influences, task.seeds, truths)
        return {"leave_one_out": tuple(rows), "true_influences": tuple(named)}

    def arrays(self, found: Evaluation) -> Mapping[str, Numbers]:
        arrays = {
            f"seed-{each.seed}": each.pairs if each.matrix is None else each.matrix
            for each in found.true_influences
        }
        return {name: array for name, array in arrays.items() if array is not None}

    def tables(self, found: Evaluation) -> Iterator[Table]:
        which = "adjacent facts" if found.options.get("adjacent_only") else "every fact"
        note = (
            "rho: Spearman's correlation of estimated and true influence. of best: the true drop "
            "without the method's first fact, as a share of the largest drop by any fact."
        )
        title = f"Correlation with the true influence of {which}"
        yield table_of("leave-one-out", found, found.leave_one_out, title, note)
        pairs = [(row.method, order) for row in found.leave_one_out for order in row.orders]
        if pairs:
            yield _orders_table(found, pairs)

    def sentences(self, found: Evaluation) -> Iterator[str]:
        rows = found.leave_one_out
        everywhere = any(is_number(row.rho_all) for row in rows)
        name = "rho_all" if everywhere else "rho_adjacent"
        ranked = [row for row in rows if is_number(getattr(row, name))]
        if not ranked:
            return
        best = max(ranked, key=lambda row: float(getattr(row, name)))
        near, every = (show(rho, "correlation") for rho in (best.rho_adjacent, best.rho_all))
        noun, rho = "adjacent fact", f"{near} over the adjacent facts of a prediction"
        if everywhere:
            noun, rho = "fact", f"{every} over all facts, {near} over adjacent ones"
        yield (
            f"Each of {count(best.n_facts, noun)} was removed alone. The order of {best.method} is "
            f"closest to the true one: Spearman's rho {rho}. Its first fact achieves "
            f"{show(best.share_of_best, 'percent')} of the largest fall that any one fact causes."
        )

    def charts(self, found: Evaluation) -> Iterator[Chart]:
        groups = {"rho_adjacent": "over adjacent facts", "rho_all": "over all facts"}
        bars = (
            Bar(group, row.method, getattr(row, name), getattr(row, f"{name}_interval"))
            for name, group in groups.items()
            for row in found.leave_one_out
            if is_number(getattr(row, name))
        )
        x = Column("rho", "mean of Spearman's rho", "correlation")
        yield Chart("leave-one-out", "Estimated and true influence", tuple(bars), x)


PROTOCOL = LeaveOneOutProtocol()


def _adjacent_jobs(sample: Sample) -> list[Job]:
    """One retraining per fact, for all predictions that the fact is adjacent to."""
    near = [sample.adjacent(number) for number in range(len(sample))]
    ids, owners = np.concatenate(near), np.repeat(np.arange(len(near)), [*map(len, near)])
    order = np.argsort(ids, kind="stable")
    fact_ids, starts = np.unique(ids[order], return_index=True)
    which = np.split(owners[order], starts[1:])
    return [Job.of([fact], mine) for fact, mine in zip(fact_ids, which, strict=False)]


def find_truth(sample: Sample, options: EvaluateOptions) -> Truth:
    """Remove facts one by one: all of them or, for each prediction, those adjacent to it."""
    jobs = PROTOCOL.jobs(sample, options)
    outcomes = sample.ask(jobs)
    original = sample.outputs(outcomes.control)
    near = tuple(sample.adjacent(number) for number in range(len(sample)))
    if not options.adjacent_only:
        matrix = original - np.array([sample.outputs(each) for each in outcomes.jobs])
        drops = tuple(matrix[ids, number] for number, ids in enumerate(near))
        return Truth(original, near, drops, len(jobs), matrix)
    # In the order of `near`: of each prediction, its facts ascending.
    fall: list[list[float]] = [[] for _ in near]
    for job, standings in zip(jobs, outcomes.jobs, strict=True):
        after = sample.outputs(standings)
        for number, value in zip(job.which.tolist(), after.tolist(), strict=True):
            fall[number].append(original[number] - value)
    return Truth(original, near, tuple(map(np.array, fall)), len(jobs))


def _true_influences(sample: Sample, truth: Truth) -> TrueInfluences:
    names = tuple(sample.name(number) for number in range(len(sample)))
    if truth.matrix is not None:
        return TrueInfluences(sample.case.seed, names, matrix=truth.matrix)
    sizes = [*map(len, truth.adjacent)]
    pairs = np.zeros(sum(sizes), PAIR)
    pairs["fact"] = np.concatenate(truth.adjacent)
    pairs["prediction"] = np.repeat(np.arange(len(sizes)), sizes)
    pairs["influence"] = np.concatenate(truth.drops)
    return TrueInfluences(sample.case.seed, names, pairs=pairs)


def find_orders(sample: Sample, estimates: Iterable[Numbers], truth: Truth) -> list[Order]:
    """How a method orders the adjacent facts of every prediction that has some.

    estimates: for every prediction, those of its adjacent facts.
    """
    return [
        _order(sample, truth, number, mine) for number, mine in enumerate(estimates) if len(mine)
    ]


def _order(sample: Sample, truth: Truth, number: int, estimates: Numbers) -> Order:
    """The order for one prediction; estimates: (n_adjacent,) of its adjacent facts."""
    fact_ids, drops = truth.adjacent[number], truth.drops[number]
    best, first = int(drops.argmax()), int(estimates.argmax())
    supports = bool(estimates[first] > 0)
    return Order(
        sample.case.seed,
        *sample.name(number),
        n_adjacent=len(fact_ids),
        original=float(truth.original[number]),
        rho=spearman(estimates, drops),
        best_fact=int(fact_ids[best]),
        best_drop=float(drops[best]),
        best_rank=int((estimates >= estimates[best]).sum()),
        first_fact=int(fact_ids[first]) if supports else None,
        first_drop=float(drops[first]) if supports else 0.0,
    )


def _judge(method: str, task: Task, truths: Sequence[Truth]) -> LeaveOneOut:
    """One method, over all seeds."""
    seed, everywhere, shares, orders = task.options.seed, [], [], []
    for sample, truth in zip(task.seeds, truths, strict=True):
        every = () if truth.matrix is None else sample.influences(method)
        near = sample.adjacent_influences(method)
        orders.append(find_orders(sample, near, truth))
        if truth.matrix is None:
            everywhere.append(np.full(len(sample), np.nan))
            shares.append(np.array([*map(_share_of_best, near, truth.drops)]))
        else:
            everywhere.append(np.array([*map(spearman, every, truth.matrix.T)]))
            shares.append(np.array([*map(_share_of_best, every, truth.matrix.T)]))
    adjacent = [np.array([order.rho for order in mine]) for mine in orders]
    return LeaveOneOut(
        method=method,
        rho_adjacent=seeds_mean(adjacent),
        rho_adjacent_interval=bootstrap_interval(adjacent, seed),
        rho_all=seeds_mean(everywhere),
        rho_all_interval=bootstrap_interval(everywhere, seed),
        share_of_best=seeds_mean(shares),
        n_predictions=mean_size(task.seeds),
        n_seeds=len(task.seeds),
        n_facts=truths[0].n_removed,
        orders=tuple(order for mine in orders for order in mine),
    )


def _share_of_best(estimates: Numbers, drops: Numbers) -> float:
    """True drop by the first fact over the largest; NaN where no fact lowers the probability.

    Where no fact supports by the method's estimate, nothing is removed and nothing drops.
    """
    best = float(drops.max(initial=0.0))
    if best <= 0:
        return float("nan")
    first = int(estimates.argmax())
    return float(drops[first]) / best if estimates[first] > 0 else 0.0


def _orders_table(found: Evaluation, pairs: Sequence[tuple[str, Order]]) -> Table:
    """The rows of single predictions."""
    unit = "correlation" if found.rated else "percent"
    columns = (
        Column("prediction", "prediction"),
        Column("method", "method"),
        Column("n_adjacent", "facts", "count"),
        Column("rho", "rho", "correlation"),
        Column("first_drop", "first", unit),
        Column("best_drop", "best", unit),
        Column("best_rank", "rank of best", "count"),
    )
    ordered = sorted(pairs, key=lambda pair: (pair[1].seed, _name(pair[1])))
    rows = (
        (
            *(_name(order), method, order.n_adjacent, order.rho),
            *(_drop(found, order, drop) for drop in (order.first_drop, order.best_drop)),
            order.best_rank,
        )
        for method, order in ordered
    )
    note = (
        f"first, best: the fall of the {found.quantity} without the fact that the method ranks "
        "first, and without the fact whose removal lowers it most."
    )
    return Table.of("leave-one-out-predictions", "By prediction", columns, rows, note, _SHOWN)


def _name(order: Order) -> str:
    parts = (order.subject, order.relation, order.object)
    return " ".join(part for part in parts if part is not None)


def _drop(found: Evaluation, order: Order, drop: float) -> float | None:
    """The drop as a share of the probability before; for ratings, the drop itself."""
    if found.rated:
        return drop
    return drop / order.original if order.original else None
