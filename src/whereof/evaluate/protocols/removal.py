"""Removal: remove a method's facts, retrain, and check whether the prediction falls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from whereof.chart import Bar, Box, Chart, Strip
from whereof.evaluate import protocol, statistics
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import MethodName, Retrainings, SampleSize, Size, table_of
from whereof.evaluate.sample import Sample, Task, facts_text
from whereof.evaluate.statistics import Interval, Seeds, Spread, measured
from whereof.retrain.engine import Job
from whereof.retrain.retrainer import Outcomes
from whereof.table import Cell, Column, Table
from whereof.types import FactIds, Numbers
from whereof.units import count, is_number, show

_SURE = 0.05
"""Differences with a smaller p-value are unlikely to be chance."""
_STARS = ((0.001, "***"), (0.01, "**"), (_SURE, "*"))
_METRICS = ("pd", "tc")
_Interval = Annotated[Interval | None, Column("", "95%", "percent", "interval")]


@dataclass(frozen=True)
class Removal:
    """Effect of removing the facts that a method ranks first, for one number of facts."""

    method: MethodName
    k: Size
    pd: Annotated[float, Column("", "PD", "percent")]
    pd_interval: _Interval
    pd_seeds: Seeds
    tc: Annotated[float, Column("", "TC", "percent")]
    tc_interval: _Interval
    tc_seeds: Seeds
    tc_released: float
    """TC if an answer that only a removed fact had counts as new."""
    n_predictions: int
    n_seeds: int
    removed_mean: Annotated[float, Column("", "removed", "mean", "deviation")]
    removed_std: float
    tc_released_interval: Interval | None = None
    tc_released_seeds: Seeds = ()
    removed_seeds: Seeds = ()


@dataclass(frozen=True)
class Significance:
    """A method against the baseline: paired approximate randomisation over queries."""

    method: MethodName
    baseline: str
    k: Size
    metric: Annotated[str, Column("", "metric")]
    difference: Annotated[float, Column("", "difference", "points")]
    p_value: Annotated[float, Column("", "p", "p-value")]
    interval: Annotated[Interval | None, Column("", "95%", "points", "interval")] = None
    seeds: Seeds = ()


@dataclass(frozen=True)
class Change:
    """How much further a method's facts lowered the probability than the baseline's."""

    method: MethodName
    baseline: str
    k: Size
    spread: Spread
    removed_mean: float


class RemovalProtocol(protocol.Protocol):
    """See `docs/protocols/removal.md`."""

    name = "removal"
    title = "Removing facts and retraining"
    citation = protocol.PAPER
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
        return [job for sets in sample.choose_all(options).values() for job in _jobs(sets)]

    def run(self, task: Task) -> Mapping[str, Any]:
        options, found = task.options, dict[tuple[str, Size], list[Mapping[str, Numbers]]]()
        for sample in task.seeds:
            for (method, k), sets in sample.choose_all(options).items():
                predicted = sample.predicted(method, sets)
                outcomes = task.retrain(sample, _jobs(sets), method, k, sets, predicted)
                found.setdefault((method, k), []).append(_measure(sample, sets, outcomes))
        rows = [_row(method, k, mine, options.seed) for (method, k), mine in found.items()]
        queries = [[made.answered(None) for made in sample.predictions] for sample in task.seeds]
        tests, changes = list[Significance](), list[Change]()
        for row in rows:
            if row.method == options.baseline:
                continue
            names = row.method, str(options.baseline), row.k
            both = [*zip(found[row.method, row.k], found[names[1:]], strict=True)]
            for metric in _METRICS:
                differences = [one[metric] - two[metric] for one, two in both]
                mean, interval, seeds = measured(differences, options.seed)
                p_value = statistics.randomisation_p(differences, queries, options.seed)
                tests.append(Significance(*names, metric, mean, p_value, interval, seeds))
            lower = np.concatenate([two["left"] - one["left"] for one, two in both])
            changes.append(Change(*names, statistics.spread(lower), row.removed_mean))
        return {"removal": tuple(rows), "significance": tuple(tests), "changes": tuple(changes)}

    def tables(self, found: Evaluation) -> Iterator[Table]:
        baseline = found.options.get("baseline")
        note = (
            "PD: share of predictions whose {quantity} falls. TC: share whose top answer "
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
        known = [row for row in found.removal if is_number(row.pd) and is_number(row.tc)]
        others = {row.k: row for row in known if row.method == baseline}
        first = {row.method: row for row in reversed(found.removal)}
        for row in reversed(first.values()):
            if row.method != baseline and row in known:
                yield _sentence(row, others.get(row.k), found)
        moved = []
        for row in known:
            if is_number(row.tc_released) and row.tc_released != row.tc:
                tc, released = show(row.tc, "percent"), show(row.tc_released, "percent")
                moved.append(f"{released} instead of {tc} ({_label(row)})")
        if moved:
            yield (
                "TC looks at new answers only, and the answer of a removed fact stays known. If it "
                f"counted as new, TC would be {', '.join(moved)}."
            )

    def headline(self, found: Evaluation) -> str:
        baseline = found.options.get("baseline")
        known = [row for row in found.removal if is_number(row.pd)]
        first = next((row for row in known if row.method != baseline), None)
        if first is None:
            return ""
        said = f"Removing {facts_text(first.method, first.k, first.removed_mean)} lowers the "
        said += f"{found.quantity} of {show(first.pd, 'percent')} of "
        said += count(first.n_predictions, "prediction")
        for row in known:
            if (row.method, row.k) == (baseline, first.k):
                them = facts_text(row.method, row.k, row.removed_mean)
                said += f"; removing {them}, that of {show(row.pd, 'percent')}"
        return f"{said}."

    def charts(self, found: Evaluation) -> Iterator[Chart]:
        share = Column("share", "share of predictions", "percent")
        titles = {"pd": f"PD: the {found.quantity} fell", "tc": "TC: the top answer changed"}
        sizes = [*dict.fromkeys(row.k for row in found.removal)]
        rows = sorted(found.removal, key=lambda row: sizes.index(row.k))
        for name, title in titles.items():
            values = ((row, getattr(row, name), getattr(row, f"{name}_interval")) for row in rows)
            bars = [Bar(f"k = {row.k}", row.method, *both) for row, *both in values]
            yield Chart(name, title, bars, share)
        for name, title in titles.items() if len(found.seeds) > 1 else ():
            strips = [Strip(_label(row), getattr(row, f"{name}_seeds")) for row in found.removal]
            yield Chart(f"{name}-seeds", f"{title}, by seed", strips, share)
        if found.changes:
            boxes = []
            for row in found.changes:
                numbers = {name: value for name, value in vars(row.spread).items() if name != "std"}
                boxes.append(Box(_label(row), **numbers, count=row.removed_mean))
            axis = Column("difference", f"difference of {found.quantities}", "number")
            yield Chart("changes", _changes_title(found), boxes, axis)


PROTOCOL = RemovalProtocol()


def _jobs(sets: Sequence[FactIds]) -> list[Job]:
    return [Job.of(ids, [number]) for number, ids in enumerate(sets)]


def _measure(sample: Sample, sets: Sequence[FactIds], outcomes: Outcomes) -> dict[str, Numbers]:
    """By metric, (n_predictions,): for one method and size in one seed."""
    after, top = np.concatenate(outcomes.jobs), outcomes.control["top"]
    effects = {
        "pd": sample.outputs(after) < sample.outputs(outcomes.control),
        "tc": after["top"] != top,
        "tc_released": after["top_released"] != top,
        "left": sample.outputs(after),
        "removed": [*map(len, sets)],
    }
    return {name: np.asarray(values, np.float64) for name, values in effects.items()}


def _row(method: str, k: Size, found: Sequence[Mapping[str, Numbers]], seed: int) -> Removal:
    measures: dict[str, Any] = {}
    for metric in (*_METRICS, "tc_released"):
        mean, interval, seeds = measured([each[metric] for each in found], seed)
        measures |= {metric: mean, f"{metric}_interval": interval, f"{metric}_seeds": seeds}
    sizes = [each["removed"] for each in found]
    return Removal(
        method,
        k,
        **measures,
        n_predictions=statistics.mean_size(sizes),
        n_seeds=len(found),
        removed_mean=float(np.concatenate(sizes).mean()),
        removed_std=float(np.concatenate(sizes).std()),
        removed_seeds=tuple(float(mine.mean()) for mine in sizes),
    )


def _label(row: Removal | Change) -> str:
    return f"{row.method}, k = {row.k}"


def _changes_title(found: Evaluation) -> str:
    baseline = found.changes[0].baseline
    return f"How much lower the {found.quantity} is, compared with {baseline}"


def _p_values(found: Evaluation) -> dict[tuple[str, Size, str], float]:
    return {(test.method, test.k, test.metric): test.p_value for test in found.significance}


def _starred(found: Evaluation, table: Table) -> Table:
    """Marks what differs from the baseline, by its p-value."""
    p_values, rows = _p_values(found), []
    for row in table.rows:
        cells = list(row)
        for place, column in enumerate(table.columns):
            p_value = p_values.get((row[0], row[1], column.name), 1.0)
            mark = next((stars for limit, stars in _STARS if p_value < limit), "")
            cells[place] = Cell(row[place], mark=mark) if mark else row[place]
        rows.append(tuple(cells))
    return replace(table, rows=tuple(rows))


def _sentence(row: Removal, other: Removal | None, found: Evaluation) -> str:
    seeds = f" (mean of {row.n_seeds} seeds)" if row.n_seeds > 1 else ""
    said = (
        f"Removing {facts_text(row.method, row.k, row.removed_mean)} lowers the {found.quantity} "
        f"of {show(row.pd, 'percent')} of {count(row.n_predictions, 'prediction')}{seeds}"
    )
    if other is None:
        return f"{said} and changes the top answer of {show(row.tc, 'percent')}."
    them = facts_text(other.method, other.k, other.removed_mean)
    fell, changed = (_compared(row, other, metric, found) for metric in _METRICS)
    return (
        f"{said}. For {them} it is {show(other.pd, 'percent')}: {fell}. The top answer changes for "
        f"{show(row.tc, 'percent')}, compared with {show(other.tc, 'percent')}: {changed}."
    )


def _compared(row: Removal, other: Removal, metric: str, found: Evaluation) -> str:
    difference = getattr(row, metric) - getattr(other, metric)
    if not difference:
        return "no difference"
    points = show(abs(difference), "points").removeprefix("+")
    said = f"{points} {'more' if difference > 0 else 'less'}"
    p_value = _p_values(found).get((row.method, row.k, metric))
    if p_value is None:
        return said
    p = show(p_value, "p-value")
    chance = "more than chance" if p_value < _SURE else "which may be chance"
    return f"{said}, {chance} (p {p if p.startswith('<') else f'= {p}'})"
