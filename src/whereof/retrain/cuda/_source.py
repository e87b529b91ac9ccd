"""The source of the kernels for one problem: its numbers as macros, and its model."""

from functools import lru_cache
from pathlib import Path
from textwrap import dedent
from typing import Any

from whereof.errors import WhereofError
from whereof.models import Model
from whereof.retrain.cuda._layout import OWN_THREADS, Layout, Sizes
from whereof.training.problem import Problem

_FOLDER = Path(__file__).parent / "kernels"
_FILES = (
    "fleet.h",
    *(f"{n}.cu" for n in ("draw", "numbers", "candidates", "own", "step", "after")),
)


def make_source(problem: Problem, layout: Layout, *, tracked: bool) -> str:
    """Kernels for a problem; tracked: with a trace, ledgers and a meter."""
    macros = _macros(problem, layout, tracked=tracked)
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    return "\n".join([*lines, _text("prelude.h"), model_source(problem.model), *map(_text, _FILES)])


def model_source(model: Model) -> str:
    """The functions of a model in C; scores of predictions are in double precision always."""
    if model.cuda is None:
        raise WhereofError(
            f"model {model.name} has no CUDA code; choose engine local or device cpu, or declare "
            "its `cuda` (docs/add-a-model.md)"
        )
    vectors = {"query": "s r q", "query_in_double": "s r q", "query_vjp": "s r dq ds dr"}
    parts = []
    for name, named in vectors.items():
        real = "double" if name == "query_in_double" else "real"
        body = model.cuda.query_vjp if name == "query_vjp" else model.cuda.query
        head = ", ".join(f"Number *{vector}" for vector in named.split())
        text = f"DEVICE void {name}({head}) {{\n{dedent(body).strip()}\n}}"
        parts.append(f"#define Number {real}\n{text}\n#undef Number")
    return "\n\n".join(parts)


def _macros(problem: Problem, layout: Layout, *, tracked: bool) -> dict[str, Any]:
    rule, draw, sizes = problem.rule, problem.draw, Sizes.of(problem)
    switches = {"DOUBLE": ""} if sizes.item == 8 else {}
    return {
        **switches,
        "WIDTH": rule.entity_width,
        "ROW": sizes.row,
        "RELATION_WIDTH": rule.relation_width,
        "RELATION_ROW": sizes.relation_row,
        "QUERY_WIDTH": rule.query_width,
        "QUERY_ROW": sizes.query_row,
        "PARTS": sizes.parts,
        "STATE": sizes.state,
        "RELATION_STATE": sizes.relation_state,
        "TRACE_WIDTH": problem.trace_width,
        "THREADS": layout.threads,
        "BLOCKS": layout.blocks,
        "GROUP": layout.group,
        "PACKS": layout.packs,
        "TURNS": layout.turns,
        "OWN_THREADS": min(layout.threads, OWN_THREADS),
        "HELD": layout.held,
        "AHEAD": int(layout.ahead),
        "SCORED": layout.scored,
        "MOVED": layout.moved,
        "ROOM_SHARED": int(layout.room_shared),
        "ROOM": sizes.room,
        "MATCH": rule.match,
        "LOSS": rule.loss,
        "OPTIMIZER": rule.optimizer,
        "DEFERRED": int(rule.deferred),
        "BETA1": repr(rule.beta1),
        "BETA2": repr(rule.beta2),
        "EPSILON": repr(rule.epsilon),
        "CONSTRAINT": rule.constraint,
        "MAX_NORM": repr(rule.max_norm) if rule.constrained else "1.0",
        "CONSTRAINED": int(rule.constrained),
        "CONSTRAINED_RELATIONS": int(rule.constrained_relations),
        "L2_WEIGHT": repr(rule.l2),
        "N3_WEIGHT": repr(rule.n3),
        "ENTITY_PARTS": rule.entity_parts,
        "RELATION_PARTS": rule.relation_parts,
        "SOURCE_CREDIT": int(rule.source_credit),
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
