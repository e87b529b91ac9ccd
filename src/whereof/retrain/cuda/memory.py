"""The data of a fleet in GPU memory: one table that kernels, sizes and allocation are made of."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whereof.retrain.cuda.layout import Layout, Sizes
from whereof.training.optimizers import fill_tails
from whereof.training.problem import Problem
from whereof.training.tables import N_TAILS
from whereof.training.timeline import fading
from whereof.types import FactIds

LEDGERS = ("owned", "drift", "projection")
COPIED = ("entities", "relations", *LEDGERS, *(f"{name}_relations" for name in LEDGERS))
"""Arrays that a trainer copies before it reads rows with pending drift."""
_CHUNK_BYTES = 1 << 27  # bytes for the candidates of the steps that are drawn at a time
_C_TYPES = {"i4": "int", "u4": "unsigned", "i8": "long long", "f8": "double", "u1": "char"}
_C_TYPES["kept"] = "Kept"  # of logged rows


class _Array(NamedTuple):
    """An array of the kernels: its type, its shape, and whether a fleet needs it."""

    type: str
    shape: tuple[int, ...]
    there: bool = True


def _fields(
    problem: Problem,
    n_models: int,
    *,
    tracked: bool = False,
    crowded: bool = True,
    weighs: bool = True,
) -> dict[str, _Array | int]:
    """The fields of the struct Fleet, 8 bytes each: arrays and numbers.

    crowded: shared memory has no room for the data of every candidate; weighs: models change the
    weights of facts.
    """
    sizes, widths, config = Sizes.of(problem), problem.widths, problem.config
    real, n_facts = f"f{sizes.item}", len(problem.facts)
    n_entities, n_relations = problem.n_entities, problem.n_relation_rows
    n_steps, n_words = chunk_size(problem) * problem.n_directions, math.ceil(n_facts / 32)
    # After this number of updates, Adam's bias corrections are 1.
    n_times = math.ceil(44 / -math.log(max(config.beta1, config.beta2, 1e-10))) + 3
    n_times = min(n_times, n_facts * problem.n_directions * config.epochs + 1)
    horizon = len(fading(config.beta1, config.beta2)[1])
    of_entities = _Array(real, (n_entities, widths.entity), tracked)
    of_relations = _Array(real, (n_relations, widths.relation), tracked)
    return {
        # Rows, each with its moments, and the count at which a row is up to date.
        "entities": _Array(real, (n_models, n_entities, sizes.state)),
        "relations": _Array(real, (n_models, n_relations, sizes.relation_state)),
        "entity_counts": _Array("i4", (n_models, n_entities), sizes.deferred),
        "relation_counts": _Array("i4", (n_models, n_relations), sizes.deferred),
        "removed": _Array("u4", (n_models, n_words)),  # one bit per fact
        "counts": _Array("i8", (n_models,)),  # number of updates so far
        "facts": _Array("i4", (n_facts, 3)),
        "order": _Array("i4", (n_facts,)),  # fact ids of the epoch
        "steps": _Array("i4", (n_steps, 5)),  # fact, subject, relation, object, n candidates
        "candidates": _Array("i4", (n_steps, sizes.most)),  # distinct ids, drawn how often:
        "repeats": _Array("i4", (n_steps, sizes.most), not problem.draw.distinct),
        "rates": _Array("f8", (n_steps,)),
        "times": _Array("f8", (n_times, 6)),  # by count: four tails, step, correction
        "powers": _Array("f8", (horizon, 5)),  # by counts missed: four powers, beta2's
        "targets": _Array(real, (n_facts,), config.rated),
        "weights": _Array("f8", (n_facts,), problem.weighted or weighs),
        "factors": _Array("f8", (n_models,), weighs),
        "trace": _Array(real, (n_facts, problem.trace_width), tracked and config.trace),
        **dict.fromkeys(LEDGERS, of_entities),
        **{f"{name}_relations": of_relations for name in LEDGERS},
        "meter": _Array("f8", (5,), tracked),  # loss, facts, two norms, slope
        "room": _Array("u1", (n_models, sizes.room), crowded),
        # What a sweep places; see kernels/sweep.cu.
        "log": _Array("kept", (), False),
        "marks": _Array("i4", (), False),  # count after each step, place of its subject or -1
        "common": _Array(real, (), False),
        "adjoint": _Array(real, (), False),
        "adjoint_relations": _Array(real, (), False),
        "adjoint_counts": _Array("f8", (), False),
        "tangents": _Array(real, (), False),
        "influence": _Array("f8", (), False),
        "slopes": _Array("f4", (), False),  # of the epoch, see `Sweep`
        "n_facts": n_facts,
        "log_first": 0,  # the first step in the log
        "logs": 0,  # whether training logs its steps
        "n_entities": n_entities,
        "n_relations": n_relations,
        "n_words": n_words,
        "most": sizes.most,
        "n_times": n_times,
        "horizon": horizon,
        "first": 0,
        "epoch": 0,
    }


def fleet_struct(problem: Problem) -> str:
    """The struct Fleet in C."""
    lines = ["typedef struct {"]
    for name, it in _fields(problem, 1).items():
        kind = f"{_C_TYPES.get(it.type, 'float')} *" if isinstance(it, _Array) else "long long "
        lines.append(f"{kind}{name};")
    return "\n".join([*lines, "} Fleet;"])


@dataclass(frozen=True)
class Memory:
    """Bytes of GPU memory for fleets of a problem."""

    of_model: int
    shared: int  # bytes that are independent of the number of models

    @classmethod
    def of(cls, problem: Problem, *, tracked: bool = False) -> "Memory":
        one, two = (
            {
                name: math.prod(it.shape) * np.dtype(it.type).itemsize
                for name, it in _fields(problem, n_models, tracked=tracked).items()
                if isinstance(it, _Array) and it.there
            }
            for n_models in (1, 2)
        )
        of_model = sum(two.values()) - sum(one.values())
        # Some arrays exist twice while an epoch starts, or while rows are read.
        twice = sum(one[name] for name in ("order", *(COPIED if tracked else ())))
        return cls(of_model, sum(one.values()) - of_model + twice)

    def n_models(self, free: int) -> int:
        """Number of models that fit into this number of bytes."""
        return max(free - self.shared, 0) // self.of_model


def chunk_size(problem: Problem) -> int:
    """Number of facts whose steps are drawn at a time."""
    size = _CHUNK_BYTES // (4 * Sizes.of(problem).most * problem.n_directions)
    return min(max(size, 1), len(problem.facts))


def place(
    xp: Any,
    problem: Problem,
    layout: Layout,
    removed: Sequence[FactIds],
    factors: Sequence[float] | None = None,
    *,
    tracked: bool,
) -> dict[str, Any]:
    """The initial arrays on the GPU and numbers of the struct Fleet; None for what is left out.

    removed: the facts that each model skips or, with factors, whose weights it multiplies.
    """
    crowded, weighs = not layout.room_shared, factors is not None
    fields = _fields(problem, len(removed), tracked=tracked, crowded=crowded, weighs=weighs)
    placed: dict[str, Any] = {
        name: it if isinstance(it, int) else xp.zeros(it.shape, it.type) if it.there else None
        for name, it in fields.items()
    }
    # Every model starts with the same rows, and with the same moments: 0, or Adagrad's start.
    sizes, config = Sizes.of(problem), problem.config
    entity_rows, relation_rows = problem.initial_rows()
    for name, rows, stop in (
        ("entities", entity_rows, sizes.row),
        ("relations", relation_rows, sizes.relation_row),
    ):
        placed[name][:, :, : rows.shape[1]] = xp.asarray(rows.copy())
        placed[name][:, :, stop:] = config.accumulator if config.optimizer == "adagrad" else 0
    given: dict[str, Any] = {"facts": problem.facts, **_times(problem, placed["n_times"])}
    if problem.config.rated:
        given["targets"] = problem.targets
    if problem.weighted or weighs:
        given["weights"] = problem.weights if problem.weighted else np.ones(len(problem.facts))
    if factors is not None:
        given["factors"] = np.array(factors)
    if any(map(len, removed)):
        given["removed"] = words = np.zeros(placed["removed"].shape, np.uint32)
        for mine, facts in zip(words, removed, strict=True):
            np.bitwise_or.at(mine, facts >> 5, np.uint32(1) << (facts & 31).astype(np.uint32))
    else:
        placed["n_words"] = 0
    for name, array in given.items():
        placed[name][:] = xp.asarray(array.astype(placed[name].dtype))
    return placed


def _times(problem: Problem, n: int) -> dict[str, NDArray[np.float64]]:
    """Future drift and Adam's corrections by count, and powers by number of missed counts."""
    config = problem.config
    powers, fades = fading(config.beta1, config.beta2)
    counts = np.arange(n + len(fades), dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.sqrt(1 - config.beta2**counts)
        steps = correction / (1 - config.beta1**counts)
    steps[0] = 0
    tails = np.zeros((n, N_TAILS))
    if problem.rule.deferred:
        fill_tails(config.rate * steps[1:], config.beta1, config.beta2, tails)
    times = np.column_stack([tails, steps[:n], correction[:n]])
    return {"times": times, "powers": np.column_stack([powers, fades])}
