"""The source of the kernels for one problem: its numbers as macros, and its model."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from whereof.errors import WhereofError
from whereof.models import Model
from whereof.retrain.cuda.layout import OWN_THREADS, Layout, Sizes
from whereof.retrain.cuda.memory import fleet_struct
from whereof.training.problem import Problem

_FOLDER = Path(__file__).parent / "kernels"
_FILES = ("draw.cu", "rows.cu", "log.cu", "candidates.cu", "step.cu")


def make_source(
    problem: Problem,
    layout: Layout,
    *,
    tracked: bool = False,
    weighs: bool = False,
    log: Sizes | None = None,
) -> str:
    """Kernel source for a problem.

    tracked: with a trace, ledgers and a meter; weighs: models change the weights of facts; log: the
    widths of rows that `train` can log.
    """
    found = _macros(problem, layout, tracked=tracked)
    found |= {"WEIGHTED": int(problem.weighted or weighs)}
    return _source(problem, found, log or Sizes.of(problem), _FILES, logged=log is not None)


def make_sweep_source(
    problem: Problem, layout: Layout, *, finite: bool, unlearnt: bool, reach: float
) -> str:
    """Source of the kernels that go back over training; see `Sweep` for the CPU.

    unlearnt: credit steps by the slopes of `Sweep`.
    """
    found = _macros(problem, layout, tracked=False) | {"SWEPT": 1, "REACH": reach}
    found |= {"FINITE": int(finite), "UNLEARNT": int(unlearnt)}
    return _source(problem, found, Sizes.of(problem), (*_FILES, "sweep.cu"))


def _source(
    problem: Problem, macros: dict[str, Any], log: Sizes, files: Sequence[str], logged: bool = False
) -> str:
    widths = ("row", "state", "relation_row", "relation_state")
    macros |= {f"KEPT_{name.upper()}": getattr(log, name) for name in widths}
    macros |= {"LOGGED": int(logged)}
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    real, kept = ("double" if it.item == 8 else "float" for it in (Sizes.of(problem), log))
    lines += [f"typedef {real} real, Number;", f"typedef {kept} Kept;"]
    parts = [*lines, fleet_struct(problem), _text("fleet.h"), model_source(problem.model)]
    return "\n".join([*parts, *map(_text, files)])


def model_source(model: Model) -> str:
    """The functions of a model in C."""
    if model.cuda is None:
        raise WhereofError(
            f"model {model.name} has no CUDA code; choose engine local or device cpu, or declare "
            "its `cuda` (docs/add-a-model.md)"
        )
    bodies = {
        "query(real *s, real *r, real *q)": model.cuda.query,
        "query_vjp(real *s, real *r, real *dq, real *ds, real *dr)": model.cuda.query_vjp,
    }
    return "\n\n".join(
        f"DEVICE void {head} {{\n{dedent(body).strip()}\n}}" for head, body in bodies.items()
    )


def _macros(problem: Problem, layout: Layout, *, tracked: bool) -> dict[str, Any]:
    """The numbers of Rule, Layout and Sizes under their names in capitals, and some more."""
    rule, draw, sizes = problem.rule, problem.draw, Sizes.of(problem)
    found = {**rule._asdict(), **vars(layout), **vars(sizes)}
    found |= {name: getattr(sizes, name) for name in ("state", "relation_state", "room")}
    found |= {
        "max_norm": rule.max_norm if rule.constrained else 1.0,
        "trace_width": problem.trace_width,
        "own_threads": min(layout.threads, OWN_THREADS),
        "tracked": tracked,
        "traced": tracked and problem.config.trace,
        "distinct": draw.distinct,
        "weighted": problem.weighted,
    }
    for name, drawn in (("object", draw.objects), ("subject", draw.subjects)):
        parts = ("first", "count", "negatives")
        found |= {f"{name}_{part}": n for part, n in zip(parts, drawn, strict=True)}
    numbers = {name: int(it) if isinstance(it, bool) else it for name, it in found.items()}
    return {name.upper(): it for name, it in numbers.items()} | {"SEED": f"{int(draw.seed)}ull"}


@lru_cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
