"""The two comparisons of train.py: Whereof with its peers, and optimizers and models."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from contenders import Outcome, floor, make_trainer, outcome, whereof_step
from numpy.linalg import norm
from problems import RESCAL_DIM, Steps, list_steps, make_problem
from reports import Report
from rounds import Contender, Plan, Times, measure

from whereof.data.dataset import Dataset
from whereof.models import MODELS
from whereof.training.problem import Problem

OPTIMIZERS = ("sgd", "adagrad", "adam", "adam-lazy")
TRACED, UNTRACED = "whereof, traced", "whereof, not traced"
FLOOR, FLOOR_PREFETCHED = "floor: same rows read and written", "floor with prefetch"
TORCH = "PyTorch, sparse, SparseAdam"
TORCH_PART = 4
MOST_COST, LEAST_SPEED_UP, MOST_FLOORS = 0.10, 15, 2
SAME = 0.01
"""The largest difference that rounding can explain, as a share of the distance from the start."""

_SETTINGS_COLUMNS = (
    "model, optimizer",
    "best us/step",
    "median us/step",
    "facts/s",
    "dim",
    "row",
    "trace bytes/fact",
)
_SETTINGS_NOTES = (
    "facts/s: from the median. row: numbers stored for an entity, with the optimizer's moments. "
    "ComplEx, SimplE and RotatE have two parts of the given dimension.",
    f"RESCAL has dim {RESCAL_DIM}. mf and mf-biased train on the distinct (subject, object) pairs.",
)


@dataclass(frozen=True)
class Measured:
    """A report and the rounds behind it."""

    report: Report
    plan: Plan
    times: Sequence[Times]

    def to_dict(self) -> dict[str, Any]:
        rounds = {times.name: times.micros.tolist() for times in self.times}
        return vars(self.report) | vars(self.plan) | {"microseconds": rounds}


def compare_peers(data: Dataset, plan: Plan, order: str) -> Measured:
    """With and without trace, PyTorch, and the lower bound: DistMult with lazy Adam."""
    problem = make_problem(data, order=order)
    n_steps = plan.total()
    steps = list_steps(problem, n_steps)
    trainer = make_trainer(problem, 2 * n_steps, traced=True)
    contenders = [
        whereof_step(TRACED, trainer, traced=True),
        whereof_step(UNTRACED, trainer, traced=False),
        floor(FLOOR, trainer, steps, prefetched=False),
        floor(FLOOR_PREFETCHED, trainer, steps, prefetched=True),
    ]
    if find_spec("torch") is None:
        times = measure(contenders, plan)
        notes = ["PyTorch is left out, since it is not installed; see requirements/bench.txt."]
    else:
        times, notes = _with_torch(contenders, plan, problem, steps)
    title = f"One step: FB15k-237, DistMult, the paper's setting with adam-lazy, {order} order"
    columns = ("program", "best us/step", "median us/step", "relative to the traced step")
    rows = [(*_cells(each), _range(each, times[0])) for each in times]
    report = Report(title, columns, rows, [*_verdicts(times), *notes, _explain(plan)])
    return Measured(report, plan, times)


def _with_torch(
    contenders: list[Contender], plan: Plan, problem: Problem, steps: Steps
) -> tuple[list[Times], list[str]]:
    from pytorch import TorchStep  # not needed for the rest

    n_steps = plan.total(TORCH_PART)
    peer = TorchStep(problem, steps.first(n_steps))
    times = measure([*contenders, peer.contender(TORCH, TORCH_PART)], plan)
    return times, [_same_step(problem, peer.outcome(), n_steps)]


def _same_step(problem: Problem, theirs: Outcome, n_steps: int) -> str:
    """Stop if the peer does not compute the same step."""
    ours = outcome(problem, n_steps)
    start, _ = problem.initial_rows()
    apart = norm(ours.entity_rows - theirs.entity_rows) / norm(ours.entity_rows - start)
    line = (
        f"After {n_steps:,} steps, the entity rows differ by {apart:.1e} of their distance from "
        f"the start. Mean loss {ours.mean_loss:.5f} in Whereof, {theirs.mean_loss:.5f} in PyTorch."
    )
    if apart > SAME:
        raise SystemExit(f"not the same step: {line}")
    return line


def _verdicts(times: Sequence[Times]) -> list[str]:
    """The three ratios with their goals."""
    by_name = {each.name: each for each in times}
    traced = by_name[TRACED]
    cost = traced.over(by_name[UNTRACED]).median - 1
    floors = traced.over(by_name[FLOOR]).median
    strict = traced.over(by_name[FLOOR_PREFETCHED]).median
    lines = [
        f"Tracing costs {cost:.1%} (goal: at most {MOST_COST:.0%}).",
        f"The traced step takes {floors:.2f} times the floor (goal: at most {MOST_FLOORS}); "
        f"{strict:.2f} times the floor with prefetch.",
    ]
    if TORCH in by_name:
        speed_up = by_name[TORCH].over(traced).median
        lines.insert(
            1, f"PyTorch takes {speed_up:.1f} times as long (goal: at least {LEAST_SPEED_UP})."
        )
    return lines


def _explain(plan: Plan) -> str:
    return (
        f"{plan.timed * plan.rounds:,} timed steps each (1/{TORCH_PART} of them for PyTorch) in "
        f"{plan.rounds} interleaved rounds. Ratios are medians over rounds, quartiles in brackets."
    )


def compare_settings(data: Dataset, plan: Plan, order: str) -> Measured:
    """Every optimizer with DistMult, and every model with lazy Adam, traced."""
    pairs = [("distmult", "adam-lazy")]
    pairs += [("distmult", other) for other in OPTIMIZERS if other != "adam-lazy"]
    pairs += [(model, "adam-lazy") for model in MODELS if model != "distmult"]
    problems = [make_problem(data, m, optimizer=o, order=order) for m, o in pairs]
    names = [f"{model}, {optimizer}" for model, optimizer in pairs]
    contenders = [
        whereof_step(name, make_trainer(problem, plan.total(), traced=True))
        for name, problem in zip(names, problems, strict=True)
    ]
    times = measure(contenders, plan)
    rows = [
        (*_cells(each), f"{1e6 / each.median:,.0f}", *_sizes(problem), _range(each, times[0]))
        for each, problem in zip(times, problems, strict=True)
    ]
    columns = (*_SETTINGS_COLUMNS, f"relative to {names[0]}")
    title = f"Other optimizers and models: FB15k-237, 500 negatives, traced, {order} order"
    return Measured(Report(title, columns, rows, _SETTINGS_NOTES), plan, times)


def _cells(times: Times) -> tuple[str, str, str]:
    return times.name, f"{times.best:.1f}", f"{times.median:.1f}"


def _range(times: Times, base: Times) -> str:
    if times is base:
        return "1"
    ratio = times.over(base)
    return f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _sizes(problem: Problem) -> tuple[str, str, str]:
    """Dimension, numbers per entity, and bytes of trace per fact."""
    entities, _ = problem.tables()
    n_bytes = problem.trace_width * entities.state.itemsize
    return str(problem.config.dim), str(entities.state.shape[1]), f"{n_bytes:,}"
