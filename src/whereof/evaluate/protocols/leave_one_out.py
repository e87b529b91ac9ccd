"""Leave-one-out: compare estimated with true influence, for every training or adjacent fact."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np

from whereof.chart import Bar, Chart
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import MethodName, Protocol, Retrainings, SampleSize, best, table_of
from whereof.evaluate.sample import Sample, Task
from whereof.evaluate.statistics import Interval, mean_size, measured, seeds_mean, spearman
from whereof.retrain.engine import Job
from whereof.table import Column, Table
from whereof.types import Numbers
from whereof.units import count, is_number, show

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
    rho: float
    best_fact: int
    best_drop: float
    """By how much; negative where the probability rises without any fact."""
    best_rank: int
    """The method's rank of that fact, after all facts with the same estimate."""
    first_fact: int | None
    first_drop: float
    """The fall of the probability without it; 0 where there is none."""

    @property
    def name(self) -> str:
        return " ".join(part for part in (self.subject, self.relation, self.object) if part)


@dataclass(frozen=True)
class LeaveOneOut:
    """How well a method's estimates agree with the true influence."""

    method: MethodName
    rho_adjacent: Annotated[float, Column("", "rho adjacent", "correlation")]
    rho_adjacent_interval: _Interval
    rho_all: Annotated[float, Column("", "rho all", "correlation")]
    """Over all facts, if all were removed; facts that are not adjacent have estimate 0."""
    rho_all_interval: _Interval
    share_of_best: Annotated[float, Column("", "of best", "percent")]
    n_predictions: int
    n_seeds: int
    n_facts: int
    orders: tuple[Order, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class TrueInfluences:
    """What the array of true influences of one seed, in the run's folder, is about."""

    seed: int
    predictions: tuple[tuple[str, str | None, str, str], ...]
    """The columns: subject, relation, object and which of them was asked for."""


class Truth(TrueInfluences):
    """True influences of one seed: how far each prediction falls without each single fact."""

    matrix: Numbers | None = None
    """(n_facts, n_predictions) falls of the probability (or rating), if all facts were removed."""

    def __init__(self, sample: Sample, options: EvaluateOptions) -> None:
        """Remove facts one by one: all of them or, for each prediction, those adjacent to it."""
        numbers = range(len(sample))
        super().__init__(sample.case.seed, tuple(map(sample.name, numbers)))
        jobs = PROTOCOL.jobs(sample, options)
        outcomes = sample.ask(jobs)
        self.n_removed, self.original = len(jobs), sample.outputs(outcomes.control)
        self.adjacent = [*map(sample.adjacent, numbers)]
        which = np.concatenate([Job.control(0).which, *(job.which for job in jobs)])
        after = sample.outputs(np.concatenate([outcomes.control[:0], *outcomes.jobs]))
        falls = self.original[which] - after
        if options.adjacent_only:
            ordered = falls[np.argsort(which, kind="stable")]  # of each prediction, facts ascending
            self.drops = np.split(ordered, np.cumsum([*map(len, self.adjacent)])[:-1])
        else:
            self.matrix = falls.reshape(-1, len(sample))
            self.drops = [self.matrix[ids, n] for n, ids in enumerate(self.adjacent)]

    @property
    def array(self) -> Any:
        """The matrix or, without it, (n_pairs,) of `PAIR`: predictions with each adjacent fact."""
        if self.matrix is not None:
            return self.matrix
        sizes = [*map(len, self.adjacent)]
        pairs = np.zeros(sum(sizes), PAIR)
        pairs["fact"] = np.concatenate(self.adjacent)
        pairs["prediction"] = np.repeat(np.arange(len(sizes)), sizes)
        pairs["influence"] = np.concatenate(self.drops)
        return pairs

    def order(self, number: int, estimates: Numbers) -> Order:
        """How a method orders the adjacent facts of a prediction, by its estimates of them."""
        fact_ids, drops = self.adjacent[number], self.drops[number]
        best, first = int(drops.argmax()), int(estimates.argmax())
        supports = bool(estimates[first] > 0)
        return Order(
            self.seed,
            *self.predictions[number],
            n_adjacent=len(fact_ids),
            original=float(self.original[number]),
            rho=spearman(estimates, drops),
            best_fact=int(fact_ids[best]),
            best_drop=float(drops[best]),
            best_rank=int((estimates >= estimates[best]).sum()),
            first_fact=int(fact_ids[first]) if supports else None,
            first_drop=float(drops[first]) if supports else 0.0,
        )


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
        """One retraining per fact, for all predictions or those that the fact is adjacent to."""
        every = range(len(sample))
        if not options.adjacent_only:
            return [Job.of([fact], every) for fact in range(sample.n_facts)]
        near = [*map(sample.adjacent, every)]
        ids, owners = np.concatenate(near), np.repeat(every, [*map(len, near)])
        order = np.argsort(ids, kind="stable")
        fact_ids, starts = np.unique(ids[order], return_index=True)
        which = np.split(owners[order], starts[1:])
        return [Job.of([fact], mine) for fact, mine in zip(fact_ids, which, strict=False)]

    def run(self, task: Task) -> Mapping[str, Any]:
        """Compare estimated with true influence. Single retrainings are too many to be listed."""
        options, rows = task.options, list[LeaveOneOut]()
        truths = tuple(Truth(sample, options) for sample in task.seeds)
        counts = mean_size(task.seeds), len(task.seeds), truths[0].n_removed
        for method in options.methods:
            everywhere, shares, orders = [], [], []
            for sample, truth in zip(task.seeds, truths, strict=True):
                whole = () if truth.matrix is None else (sample.influences(method), truth.matrix.T)
                every = whole[0] if whole else sample.each_influences(method)
                near = [mine[ids] for mine, ids in zip(every, truth.adjacent, strict=True)]
                orders.append([truth.order(n, mine) for n, mine in enumerate(near) if len(mine)])
                rhos = map(spearman, *whole) if whole else [np.nan] * len(sample)
                everywhere.append(np.array([*rhos]))
                shares.append(np.array([*map(_share_of_best, *(whole or (near, truth.drops)))]))
            adjacent = [np.array([order.rho for order in mine]) for mine in orders]
            rho, rho_all = (measured(each, options.seed)[:2] for each in (adjacent, everywhere))
            share, listed = seeds_mean(shares), tuple(chain(*orders))
            rows.append(LeaveOneOut(method, *rho, *rho_all, share, *counts, listed))
        return {"leave_one_out": tuple(rows), "true_influences": truths}

    def arrays(self, found: Evaluation) -> Mapping[str, Numbers]:
        return {f"seed-{truth.seed}": truth.array for truth in found.true_influences}

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
        row = best(rows, "rho_all") or best(rows, "rho_adjacent")
        if not row:
            return
        near, every = (show(rho, "correlation") for rho in (row.rho_adjacent, row.rho_all))
        noun, rho = "fact", f"{every} over all facts, {near} over adjacent ones"
        if not is_number(row.rho_all):
            noun, rho = "adjacent fact", f"{near} over the adjacent facts of a prediction"
        yield (
            f"Each of {count(row.n_facts, noun)} was removed alone. The order of {row.method} is "
            f"closest to the true one: Spearman's rho {rho}. Its first fact achieves "
            f"{show(row.share_of_best, 'percent')} of the largest fall that any one fact causes."
        )

    def charts(self, found: Evaluation) -> Iterator[Chart]:
        groups = {"rho_adjacent": "over adjacent facts", "rho_all": "over all facts"}
        bars = [
            Bar(group, row.method, getattr(row, name), getattr(row, f"{name}_interval"))
            for name, group in groups.items()
            for row in found.leave_one_out
            if is_number(getattr(row, name))
        ]
        x = Column("rho", "mean of Spearman's rho", "correlation")
        yield Chart("leave-one-out", "Estimated and true influence", bars, x)


PROTOCOL = LeaveOneOutProtocol()


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
    rows = []
    for method, each in sorted(pairs, key=lambda pair: (pair[1].seed, pair[1].name)):
        whole = 1.0 if found.rated else each.original  # drops are shares of the probability before
        drops = (drop / whole if whole else None for drop in (each.first_drop, each.best_drop))
        rows.append((each.name, method, each.n_adjacent, each.rho, *drops, each.best_rank))
    note = (
        f"first, best: the fall of the {found.quantity} without the fact that the method ranks "
        "first, and without the fact whose removal lowers it most."
    )
    return Table("leave-one-out-predictions", "By prediction", columns, rows, note, most=40)
