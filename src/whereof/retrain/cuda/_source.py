"""The source of the kernels for one problem: its numbers as macros, its model translated."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from whereof.retrain.cuda._layout import OWN_THREADS, Layout, Sizes
from whereof.retrain.cuda._translating import declared
from whereof.training._problem import Problem

_FOLDER = Path(__file__).parent / "kernels"
_FILES = (
    "fleet.h",
    *(f"{n}.cu" for n in ("draw", "numbers", "candidates", "own", "step", "after")),
)


def make_source(problem: Problem, layout: Layout, *, tracked: bool) -> str:
    """Kernels for a problem; tracked: with a trace, ledgers and a meter."""
    real = "double" if problem.config.precision == "float64" else "float"
    macros = _macros(problem, layout, tracked=tracked)
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    model = declared(problem.model, real)
    return "\n".join([*lines, _text("prelude.h"), model, *map(_text, _FILES)])


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
