"""Leave-one-out: compare estimated with true influence, for all facts or some of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from whereof.chart import Bar, Chart
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import (
    MethodName,
    Protocol,
    Retrainings,
    SampleSize,
    best,
    count_single,
    table_of,
)
from whereof.evaluate.sample import Sample, Task, remove_each
from whereof.evaluate.statistics import Interval, mean_size, measured, seeds_mean, spearman
from whereof.evaluate.variant import find_variant
from whereof.retrain.engine import Job
from whereof.table import Column, Table
from whereof.types import OBJECT, RELATION, SUBJECT, Numbers
from whereof.units import count, is_number, show

_Interval = Annotated[Interval | None, Column("", "95%", "correlation", "interval")]
PAIR = np.dtype([("fact", "<i4"), ("prediction", "<i4"), ("influence", "<f8")])
"""A fact's id, the position of a prediction, and the true influence."""
_TIMED = 10
"""Number of facts to rank for the time of a method."""
_STRONGEST, _LEAST_SHARE = 10, 0.1
"""Sizes are compared for the facts whose removal lowers a prediction most: at most this number,
and only those that cause at least this share of the largest fall."""
_TENTHS = 10


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
    """The fall without this fact; negative if removing any fact raises the probability."""
    best_rank: int
    """The method's rank of that fact, after all facts with the same estimate."""
    first_fact: int | None
    first_drop: float
    """The fall of the probability without the first fact; 0 if there is none."""

    @property
    def name(self) -> str:
        return " ".join(part for part in (self.subject, self.relation, self.object) if part)


@dataclass(frozen=True)
class SizeError:
    """Estimated over true fall, for a tenth of the strongest facts, by degree."""

    degree: float
    """The median number of facts in a fact's thinnest row."""
    ratio: float
    """The median."""
    n: int
    """The number of pairs of a fact and a prediction that the method rates."""


@dataclass(frozen=True)
class LeaveOneOut:
    """How well a method's estimates agree with the true influence."""

    method: MethodName
    rho_adjacent: Annotated[float, Column("", "rho adjacent", "correlation")]
    rho_adjacent_interval: _Interval
    rho_all: Annotated[float, Column("", "rho all", "correlation")]
    """Over all facts, or a random sample; facts that are not adjacent may have estimate 0."""
    rho_all_interval: _Interval
    share_of_best: Annotated[float, Column("", "of best", "percent")]
    n_predictions: int
    n_seeds: int
    n_facts: int
    orders: tuple[Order, ...] = field(default=(), repr=False)
    size_error: Annotated[float | None, Column("", "size", "number")] = None
    """Estimated over true fall without the strongest fact: the median over predictions. None for
    a method whose numbers are not falls."""
    size_worst: Annotated[float | None, Column("", "worst tenth", "number")] = None
    """The ratio of `size_by_degree` that is furthest from 1."""
    seconds: Annotated[float | None, Column("", "time", "seconds")] = None
    """For one prediction."""
    size_by_degree: tuple[SizeError, ...] = ()


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
        """Remove facts one by one; see `Sample.removable`."""
        numbers = range(len(sample))
        super().__init__(sample.case.seed, tuple(map(sample.name, numbers)))
        self.fact_ids = sample.removable(options)
        self.falls = sample.falls(self.fact_ids)
        self.n_removed = len(np.unique(np.concatenate(self.fact_ids)))
        self.original = sample.outputs(sample.ask([]).control)
        near = [np.isin(self.fact_ids[n], sample.adjacent(n)) for n in numbers]
        self.near = near
        self.adjacent = [ids[mine] for ids, mine in zip(self.fact_ids, near, strict=True)]
        self.drops = [falls[mine] for falls, mine in zip(self.falls, near, strict=True)]
        self.degrees = thinnest_rows(sample)
        if not options.adjacent_only and options.facts is None:
            self.matrix = np.stack(self.falls, axis=1)

    @property
    def array(self) -> Any:
        """The matrix or, without it, (n_pairs,) of `PAIR`: predictions with each of their facts."""
        if self.matrix is not None:
            return self.matrix
        sizes = [*map(len, self.fact_ids)]
        pairs = np.zeros(sum(sizes), PAIR)
        pairs["fact"] = np.concatenate(self.fact_ids)
        pairs["prediction"] = np.repeat(np.arange(len(sizes)), sizes)
        pairs["influence"] = np.concatenate(self.falls)
        return pairs

    def order(self, number: int, estimates: Numbers) -> Order:
        """How a method orders the adjacent facts of a prediction, by its estimates of all."""
        fact_ids, drops = self.adjacent[number], self.drops[number]
        estimates = estimates[self.near[number]]
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

    def ratios(self, number: int, estimates: Numbers) -> Numbers:
        """(n, 2) for the strongest facts of a prediction: degree, and estimated over true fall.

        The ratio is NaN for a fact that the method does not rate: its estimate is 0.
        """
        falls = self.falls[number]
        strongest = np.argsort(-falls, kind="stable")[:_STRONGEST]
        least = _LEAST_SHARE * falls.max(initial=0.0)
        strongest = strongest[(falls[strongest] >= least) & (falls[strongest] > 0)]
        degrees, rated = self.degrees[self.fact_ids[number][strongest]], estimates[strongest] != 0
        ratios = np.where(rated, estimates[strongest], np.nan) / falls[strongest]
        return np.stack([degrees, ratios], axis=1)


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
    by_method = repeated = True
    options = ("adjacent_only", "facts")

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        n_facts = count_single(options, size)
        if options.adjacent_only and options.facts is None:
            return Retrainings(adjacent=n_facts)
        return Retrainings(single=n_facts)

    def jobs(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        """One retraining per fact, for all predictions that it is removed for."""
        return remove_each(sample.removable(options))

    def run(self, task: Task) -> Mapping[str, Any]:
        """Compare estimated with true influence. Single retrainings are too many to be listed."""
        options, seeds = task.options, task.seeds
        truths = tuple(Truth(sample, options) for sample in seeds)
        counts = mean_size(seeds), len(seeds), truths[0].n_removed
        rows = (_compare(method, seeds, truths, options, counts) for method in options.methods)
        return {"leave_one_out": tuple(rows), "true_influences": truths}

    def arrays(self, found: Evaluation) -> Mapping[str, Numbers]:
        return {f"seed-{truth.seed}": truth.array for truth in found.true_influences}

    def tables(self, found: Evaluation) -> Iterator[Table]:
        which = "adjacent facts" if found.options.get("adjacent_only") else "every fact"
        if found.options.get("facts"):
            which = "some facts"
        note = (
            "rho: Spearman's correlation of estimated and true influence. of best: the true fall "
            "without the method's first fact, as a share of the largest fall by any fact. size: "
            "median of estimated over true fall of the strongest fact; worst tenth: that of the "
            "tenth of facts, by degree, that is furthest from 1. time: for one prediction."
        )
        title = f"Correlation with the true influence of {which}"
        yield table_of("leave-one-out", found, found.leave_one_out, title, note)
        pairs = [(row.method, order) for row in found.leave_one_out for order in row.orders]
        yield from sizes_tables(found)
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

    def headline(self, found: Evaluation) -> str:
        for name, which in (("rho_all", "all"), ("rho_adjacent", "adjacent")):
            if row := best(found.leave_one_out, name):
                rho = show(getattr(row, name), "correlation")
                return (
                    f"The order of {row.method} is closest to the true one: Spearman's rho {rho} "
                    f"over {which} facts."
                )
        return ""

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


def thinnest_rows(sample: Sample) -> Numbers:
    """(n_facts,) degree of the thinnest row of each fact: of its entities and its relation."""
    data = sample.case.trained.dataset
    facts = data.train
    ends = facts[:, [SUBJECT, OBJECT]]
    loops = np.bincount(ends[ends[:, 0] == ends[:, 1], 0], minlength=data.n_entities)
    degrees = np.bincount(ends.ravel(), minlength=data.n_entities) - loops  # a loop counts once
    found = degrees[ends].min(axis=1)
    if not data.two_way:
        found = np.minimum(found, np.bincount(facts[:, RELATION])[facts[:, RELATION]])
    return np.asarray(found, np.float64)


def _compare(
    method: str,
    seeds: Sequence[Sample],
    truths: Sequence[Truth],
    options: EvaluateOptions,
    counts: tuple[int, int, int],
) -> LeaveOneOut:
    """The row of one method."""
    adjacent, everywhere, shares, orders, ratios = [], [], [], list[Order](), list[Numbers]()
    for sample, truth in zip(seeds, truths, strict=True):
        sample.rank(method, _TIMED)
        every = sample.influences(method) if truth.matrix is not None else None
        rhos, first, mine = list[float](), list[float](), list[Order]()
        for number, row in enumerate(sample.each_influences(method) if every is None else every):
            estimates = row[truth.fact_ids[number]]
            rhos.append(spearman(estimates, truth.falls[number]))
            first.append(_share_of_best(estimates, truth.falls[number]))
            ratios.append(truth.ratios(number, estimates))
            if len(truth.adjacent[number]):
                mine.append(truth.order(number, estimates))
        orders += mine
        adjacent.append(np.array([order.rho for order in mine]))
        everywhere.append(np.full(len(rhos), np.nan) if options.adjacent_only else np.array(rhos))
        shares.append(np.array(first))
    rho, rho_all = (measured(each, options.seed)[:2] for each in (adjacent, everywhere))
    row = LeaveOneOut(method, *rho, *rho_all, seeds_mean(shares), *counts, tuple(orders))
    times = [sample.seconds[method] for sample in seeds if method in sample.seconds]
    seconds = float(np.mean(times)) if times else None
    if "standings" not in find_variant(method).method.can:  # its numbers are no falls
        return replace(row, seconds=seconds)
    groups = size_by_degree(np.concatenate(ratios))
    firsts = [each[0, 1] for each in ratios if len(each) and np.isfinite(each[0, 1])]
    return replace(
        row,
        size_error=float(np.median(firsts)) if firsts else None,
        size_worst=max((each.ratio for each in groups if each.n), key=_distance, default=None),
        seconds=seconds,
        size_by_degree=groups,
    )


def size_by_degree(ratios: Numbers) -> tuple[SizeError, ...]:
    """Medians of tenths of pairs (degree, ratio), lowest degrees first; ratios may be NaN."""
    ordered = ratios[np.argsort(ratios[:, 0], kind="stable")]
    tenths = (each for each in np.array_split(ordered, _TENTHS) if len(each))
    found = []
    for degrees, mine in (each.T for each in tenths):
        known = mine[np.isfinite(mine)]
        ratio = float(np.median(known)) if len(known) else np.nan
        found.append(SizeError(float(np.median(degrees)), ratio, len(known)))
    return tuple(found)


def _distance(ratio: float) -> float:
    """How far a ratio is from 1, too large or too small; infinite for one without its sign."""
    return abs(float(np.log(ratio))) if ratio > 0 else np.inf


def sizes_tables(found: Evaluation) -> Iterator[Table]:
    """Estimated over true fall by degree: a row per tenth, a column per method."""
    rows = [row for row in found.leave_one_out if row.size_by_degree]
    if not rows:
        return
    columns = [Column("degree", "degree", "mean"), Column("n", "facts", "count")]
    columns += [Column(row.method, row.method, "number") for row in rows]
    tenths = zip(*(row.size_by_degree for row in rows), strict=True)
    cells = []
    for each in tenths:
        n_most = max(mine.n for mine in each)
        cells.append((each[0].degree, n_most, *(mine.ratio for mine in each)))
    note = (
        "For the strongest facts of every prediction, split into tenths by degree. degree: the "
        "number of facts of the fact's subject, relation or object, whichever has fewest; median "
        "of the tenth. 1 is right."
    )
    title = "Estimated over true fall, by degree"
    yield Table("leave-one-out-sizes", title, columns, cells, note)


def _share_of_best(estimates: Numbers, drops: Numbers) -> float:
    """True fall by the first fact over the largest; NaN where no fact lowers the probability.

    Where no fact supports by the method's estimate, nothing is removed and nothing falls.
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
    share = "" if found.rated else ", as a share of the probability with all facts"
    note = (
        f"first, best: the fall of the {found.quantity} without the fact that the method ranks "
        f"first, and without the fact whose removal lowers it most{share}."
    )
    return Table("leave-one-out-predictions", "By prediction", columns, rows, note, most=40)
