"""Removal: remove a method's facts, retrain, and check whether the prediction falls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof.chart import Bar, Box, Chart, Strip
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import (
    PAPER,
    MethodName,
    Protocol,
    Retrainings,
    SampleSize,
    Size,
    table_of,
)
from whereof.evaluate.sample import Sample, Task, facts_text
from whereof.evaluate.statistics import (
    Interval,
    Spread,
    mean_size,
    over_seeds,
    randomisation_p,
    spread,
)
from whereof.predict.standing import Standings
from whereof.retrain.engine import Job
from whereof.table import Cell, Column, Table
from whereof.types import FactIds, Numbers
from whereof.units import count, is_number, show

_SURE = 0.05
"""Differences with a smaller p-value are unlikely to be chance."""
_STARS = ((0.001, "***"), (0.01, "**"), (_SURE, "*"))
_METRICS = ("pd", "tc")
_Interval = Annotated[Interval | None, Column("", "95%", "percent", "interval")]
Choice = tuple[str, Size]
"""A method and a size: one row of the table."""


@dataclass(frozen=True)
class Removal:
    """Effect of removing the facts that a method ranks first, for one number of facts."""

    method: MethodName
    k: Size
    pd: Annotated[float, Column("", "PD", "percent")]
    """Probability drop: the share of predictions whose probability (or rating) fell."""
    pd_interval: _Interval
    pd_seeds: tuple[float, ...]
    """One value per seed."""
    tc: Annotated[float, Column("", "TC", "percent")]
    """Top change: the share of predictions whose query has another top answer."""
    tc_interval: _Interval
    tc_seeds: tuple[float, ...]
    tc_released: float
    """TC if an answer that only a removed fact had counts as new."""
    n_predictions: int
    n_seeds: int
    removed_mean: Annotated[float, Column("", "removed", "mean", "deviation")]
    removed_std: float
    tc_released_interval: Interval | None = None
    tc_released_seeds: tuple[float, ...] = ()
    removed_seeds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Significance:
    """A method against the baseline: paired approximate randomisation over queries."""

    method: MethodName
    baseline: str
    k: Size
    metric: Annotated[str, Column("", "metric")]
    """pd or tc."""
    difference: Annotated[float, Column("", "difference", "points")]
    p_value: Annotated[float, Column("", "p", "p-value")]
    interval: Annotated[Interval | None, Column("", "95%", "points", "interval")] = None
    """Of the difference."""
    seeds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Change:
    """How much further a method's facts lowered the probability than the baseline's."""

    method: MethodName
    baseline: str
    k: Size
    spread: Spread
    """The probability without the baseline's facts minus that without the method's."""
    removed_mean: float


class _Removed(NamedTuple):
    """A sample's predictions after every removal."""

    sample: Sample
    control: Standings
    sets: Mapping[Choice, Sequence[FactIds]]
    after: Mapping[Choice, Standings]

    def measured(self, metric: str, cell: Choice) -> Numbers:
        """(n_predictions,) 1 where the probability fell (pd), or the top answer changed."""
        if metric == "pd":
            return (self.left(cell) < self.sample.outputs(self.control)).astype(np.float64)
        top = "top_released" if metric == "tc_released" else "top"
        return np.asarray(self.after[cell][top] != self.control["top"], np.float64)

    def left(self, cell: Choice) -> Numbers:
        """(n_predictions,) the probability (or rating) after removal."""
        return self.sample.outputs(self.after[cell])

    def sizes(self, cell: Choice) -> NDArray[np.int64]:
        """(n_predictions,) the number of removed facts."""
        return np.array([*map(len, self.sets[cell])], np.int64)


class RemovalProtocol(Protocol):
    """See `docs/protocols/removal.md`."""

    name = "removal"
    title = "Removing facts and retraining"
    citation = PAPER
    fields: ClassVar[Mapping[str, Any]] = {
        "removal": tuple[Removal, ...],
        "significance": tuple[Significance, ...],
        "changes": tuple[Change, ...],
    }
    by_method = by_size = True

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        n_cells = len(options.methods) * size.n_predictions
        n_sets = sum(k != 1 for k in options.sizes)
        return Retrainings(adjacent=n_cells * (1 in options.sizes), sets=n_cells * n_sets)

    def jobs(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        return [job for jobs in _jobs(_choose(sample, options)).values() for job in jobs]

    def run(self, task: Task) -> Mapping[str, Any]:
        found = [_remove(sample, task) for sample in task.seeds]
        return {
            "removal": tuple(_row(found, cell, task.options.seed) for cell in found[0].sets),
            "significance": tuple(_compare(found, task.options)),
            "changes": tuple(_changes(found, task.options)),
        }

    def tables(self, found: Evaluation) -> Iterator[Table]:
        baseline = found.options.get("baseline")
        note = (
            f"PD: share of predictions whose {found.quantity} falls. TC: share whose top answer "
            "changes. 95%: interval."
        )
        if found.significance:
            note += f" *, **, ***: differs from {baseline}, p < 0.05, 0.01, 0.001."
        yield _starred(found, table_of("removal", found, found.removal, "", note))
        if found.significance:
            note = "p: how likely such a difference is by chance (paired randomisation test)."
            title = f"Difference to {baseline}"
            yield table_of("significance", found, found.significance, title, note)
        if found.changes:
            yield table_of("changes", found, found.changes, _changes_title(found))

    def sentences(self, found: Evaluation) -> Iterator[str]:
        """One for every method, about its first size; the tables have all of them."""
        baseline = found.options.get("baseline")
        others = {row.k: row for row in found.removal if row.method == baseline}
        first = {row.method: row for row in reversed(found.removal)}
        for row in reversed(first.values()):
            if row.method != baseline and is_number(row.pd) and is_number(row.tc):
                yield _sentence(row, others.get(row.k), found)
        yield from _released(found.removal)

    def headlines(self, found: Evaluation) -> list[str]:
        return [*self.sentences(found)][:1]

    def charts(self, found: Evaluation) -> Iterator[Chart]:
        share = Column("share", "share of predictions", "percent")
        titles = {"pd": f"PD: the {found.quantity} fell", "tc": "TC: the top answer changed"}
        sizes = [*dict.fromkeys(row.k for row in found.removal)]
        for name, title in titles.items():
            value = attrgetter(name, f"{name}_interval")
            rows = sorted(found.removal, key=lambda row: sizes.index(row.k))
            bars = [Bar(f"k = {row.k}", row.method, *value(row)) for row in rows]
            yield Chart(name, title, bars, share)
        for name, title in titles.items() if len(found.seeds) > 1 else ():
            seeds = attrgetter(f"{name}_seeds")
            strips = [Strip(f"{row.method}, k = {row.k}", seeds(row)) for row in found.removal]
            yield Chart(f"{name}-seeds", f"{title}, by seed", strips, share)
        if found.changes:
            names = ("low", "first_quarter", "median", "third_quarter", "high", "mean", "count")
            boxes = []
            for row in found.changes:
                heights = (*astuple(row.spread)[:6], row.removed_mean)
                label = f"{row.method}, k = {row.k}"
                boxes.append(Box(label, **dict(zip(names, heights, strict=True))))
            axis = Column("difference", f"difference of {found.quantities}", "number")
            yield Chart("changes", _changes_title(found), boxes, axis)


PROTOCOL = RemovalProtocol()


def _choose(sample: Sample, options: EvaluateOptions) -> dict[Choice, Sequence[FactIds]]:
    return {
        (method, k): ids
        for method in options.methods
        for k, ids in sample.choose(method, options.sizes).items()
    }


def _jobs(sets: Mapping[Choice, Sequence[FactIds]]) -> dict[Choice, list[Job]]:
    return {
        cell: [Job.of(ids, [number]) for number, ids in enumerate(mine)]
        for cell, mine in sets.items()
    }


def _remove(sample: Sample, task: Task) -> _Removed:
    sets = _choose(sample, task.options)
    jobs = _jobs(sets)
    outcomes = sample.ask([job for mine in jobs.values() for job in mine])
    standings = np.concatenate(outcomes.jobs).reshape(len(sets), len(sample), 1)
    for (method, k), after in zip(sets, standings, strict=True):
        task.record(
            *(sample, jobs[method, k], outcomes.control, after),
            method=method,
            k=k,
            sets=sets[method, k],
            predicted=sample.predicted(method, sets[method, k]),
        )
    return _Removed(sample, outcomes.control, sets, dict(zip(sets, standings[..., 0], strict=True)))


def _row(found: Sequence[_Removed], cell: Choice, seed: int) -> Removal:
    """One method and size, over all seeds."""
    measures: dict[str, Any] = {}
    for metric in (*_METRICS, "tc_released"):
        mean, interval, seeds = over_seeds([each.measured(metric, cell) for each in found], seed)
        measures |= {metric: mean, f"{metric}_interval": interval, f"{metric}_seeds": seeds}
    sizes = [each.sizes(cell) for each in found]
    return Removal(
        *cell,
        **measures,
        n_predictions=mean_size(sizes),
        n_seeds=len(found),
        removed_mean=float(np.concatenate(sizes).mean()),
        removed_std=float(np.concatenate(sizes).std()),
        removed_seeds=tuple(float(mine.mean()) for mine in sizes),
    )


def _pairs(found: Sequence[_Removed], options: EvaluateOptions) -> Iterator[tuple[Choice, Choice]]:
    """Every cell of another method beside that of the baseline."""
    for method, k in found[0].sets:
        if method != options.baseline:
            yield (method, k), (str(options.baseline), k)


def _compare(found: Sequence[_Removed], options: EvaluateOptions) -> Iterator[Significance]:
    queries = [[made.answered(None) for made in each.sample.predictions] for each in found]
    for mine, other in _pairs(found, options):
        for metric in _METRICS:
            differences = [
                each.measured(metric, mine) - each.measured(metric, other) for each in found
            ]
            difference, interval, seeds = over_seeds(differences, options.seed)
            p_value = randomisation_p(differences, options.seed, queries=queries)
            yield Significance(
                *(mine[0], other[0], mine[1], metric), difference, p_value, interval, seeds
            )


def _changes(found: Sequence[_Removed], options: EvaluateOptions) -> Iterator[Change]:
    for mine, other in _pairs(found, options):
        lower = np.concatenate([each.left(other) - each.left(mine) for each in found])
        removed = float(np.concatenate([each.sizes(mine) for each in found]).mean())
        yield Change(mine[0], other[0], mine[1], spread(lower), removed)


def _starred(found: Evaluation, table: Table) -> Table:
    """Marks what differs from the baseline, by its p-value."""
    p_values = {(test.method, test.k, test.metric): test.p_value for test in found.significance}

    def cell(row: tuple[Any, ...], column: Column, value: Any) -> Any:
        p_value = p_values.get((row[0], row[1], column.name), 1.0)
        mark = next((stars for limit, stars in _STARS if p_value < limit), "")
        return Cell(value, mark=mark) if mark else value

    rows = [tuple(map(partial(cell, row), table.columns, row)) for row in table.rows]
    return replace(table, rows=tuple(rows))


def _changes_title(found: Evaluation) -> str:
    baseline = found.changes[0].baseline
    return f"How much lower the {found.quantity} is than without the facts of {baseline}"


def _sentence(row: Removal, other: Removal | None, found: Evaluation) -> str:
    """The effect of removal for one method and size, compared with the baseline."""
    seeds = f" (mean of {row.n_seeds} seeds)" if row.n_seeds > 1 else ""
    said = (
        f"Removing {facts_text(row.method, row.k, row.removed_mean)} lowers the {found.quantity} "
        f"of {show(row.pd, 'percent')} of {count(row.n_predictions, 'prediction')}{seeds}"
    )
    if other is None or not is_number(other.pd) or not is_number(other.tc):
        return f"{said} and changes the top answer of {show(row.tc, 'percent')}."
    them = facts_text(other.method, other.k, other.removed_mean)
    fell, changed = (_compared(row, other, metric, found) for metric in _METRICS)
    return (
        f"{said}. For {them} it is {show(other.pd, 'percent')}: {fell}. The top answer changes for "
        f"{show(row.tc, 'percent')}, compared with {show(other.tc, 'percent')}: {changed}."
    )


def _compared(row: Removal, other: Removal, metric: str, found: Evaluation) -> str:
    """The difference, and whether chance explains it."""
    difference = getattr(row, metric) - getattr(other, metric)
    if not difference:
        return "no difference"
    points = show(abs(difference), "points").removeprefix("+")
    said = f"{points} {'more' if difference > 0 else 'less'}"
    for test in found.significance:
        if (test.method, test.k, test.metric) == (row.method, row.k, metric):
            p = show(test.p_value, "p-value")
            p = f"p {p}" if p.startswith("<") else f"p = {p}"
            chance = "more than chance" if test.p_value < _SURE else "which may be chance"
            return f"{said}, {chance} ({p})"
    return said


def _released(rows: Sequence[Removal]) -> Iterator[str]:
    """TC with the other choice of which answers are known after a removal."""
    moved = [
        f"{show(row.tc_released, 'percent')} instead of {show(row.tc, 'percent')} "
        f"({row.method}, k = {row.k})"
        for row in rows
        if is_number(row.tc) and is_number(row.tc_released) and row.tc_released != row.tc
    ]
    if moved:
        yield (
            "TC ignores answers that are known from training, also if their fact is removed. If "
            f"answers known only from removed facts count as new, TC is {', '.join(moved)}."
        )
