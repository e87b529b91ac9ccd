"""The source of the kernels for one problem: its numbers as macros, and its model."""

from dataclasses import fields
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
_OF_SIZES = "pack row relation_row query_row parts state relation_state room"
_OF_RULE = (
    "relation_width query_width match loss optimizer deferred constraint constrained "
    "constrained_relations entity_parts relation_parts source_credit"
)
"""Whose names in capitals are macros of the kernels."""
_FILES = ("draw.cu", "candidates.cu", "step.cu")


def make_source(problem: Problem, layout: Layout, *, tracked: bool) -> str:
    """Kernel source for a problem; `tracked` adds a trace, ledgers and a meter."""
    macros = _macros(problem, layout, tracked=tracked)
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    real = "double" if Sizes.of(problem).item == 8 else "float"
    parts = [*lines, f"typedef {real} real, Number;", fleet_struct(problem), _text("fleet.h")]
    return "\n".join([*parts, model_source(problem.model), *map(_text, _FILES)])


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
    rule, draw, sizes = problem.rule, problem.draw, Sizes.of(problem)
    whole = {field.name: int(getattr(layout, field.name)) for field in fields(layout)}
    whole |= {name: getattr(sizes, name) for name in _OF_SIZES.split()}
    whole |= {name: int(getattr(rule, name)) for name in _OF_RULE.split()}
    return {
        **{name.upper(): number for name, number in whole.items()},
        "WIDTH": rule.entity_width,
        "TRACE_WIDTH": problem.trace_width,
        "OWN_THREADS": min(layout.threads, OWN_THREADS),
        "BETA1": repr(rule.beta1),
        "BETA2": repr(rule.beta2),
        "EPSILON": repr(rule.epsilon),
        "MAX_NORM": repr(rule.max_norm) if rule.constrained else "1.0",
        "L2_WEIGHT": repr(rule.l2),
        "N3_WEIGHT": repr(rule.n3),
        "TRACKED": int(tracked),
        "TRACED": int(tracked and problem.config.trace),
        "DIRECTIONS": rule.n_directions,
        "DISTINCT": int(draw.distinct),
        "SEED": f"{int(draw.seed)}ull",
        **_range("OBJECT", draw.objects),
        **_range("SUBJECT", draw.subjects),
    }


def _range(name: str, drawn: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip((f"{name}_FIRST", f"{name}_COUNT", f"{name}_NEGATIVES"), drawn, strict=True))


@lru_cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
