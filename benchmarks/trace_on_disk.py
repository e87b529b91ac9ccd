"""Memory of explaining with a trace of 5 GB on disk."""

from pathlib import Path

import numpy as np
from memory import anonymous, watched
from reports import Report

import whereof

N_FACTS, N_ENTITIES, N_RELATIONS, DIM = 4_200_000, 14_505, 237, 100
_BLOCK = 100_000


def measure_memory(folder: Path) -> Report:
    """Explain predictions of random arrays, and read the memory from the system."""
    rng = np.random.default_rng(0)
    run = _arrays(folder, rng)
    run.explain(*_random_prediction(rng), top=10)  # loads the kernels
    before, most, n_adjacent = anonymous(), 0, 0
    for options in ({}, {"opposing": True}, {"stability": True}, {"top": None}):
        with watched(0.002) as seen:
            explanation = run.explain(*_random_prediction(rng), **options)
        most = max(most, *(size - before for size in seen))
        n_adjacent = max(n_adjacent, explanation.n_adjacent)
    size = (folder / "trace.npy").stat().st_size
    rows = [
        ("trace on disk", f"{size / 2**20:,.0f}"),
        ("anonymous memory of the model, the facts and their index", f"{before / 2**20:,.0f}"),
        ("the most that explaining adds", f"{most / 2**20:,.0f}"),
    ]
    notes = (
        f"{N_FACTS:,} random facts, at most {n_adjacent:,} of them adjacent. Explained with top "
        "10, opposing, stability, and all adjacent facts. Goal: 500 MiB.",
    )
    return Report("Explaining from a trace of 5 GB", ("", "MiB"), rows, notes)


def _arrays(folder: Path, rng: np.random.Generator) -> whereof.Run:
    trace = np.lib.format.open_memmap(folder / "trace.npy", "w+", np.float32, (N_FACTS, 3, DIM))
    for start in range(0, N_FACTS, _BLOCK):
        shape = trace[start : start + _BLOCK].shape
        trace[start : start + _BLOCK] = rng.normal(0, 0.01, shape)
    trace.flush()
    del trace
    facts = np.column_stack(
        [rng.integers(0, n, N_FACTS) for n in (N_ENTITIES, N_RELATIONS, N_ENTITIES)]
    )
    return whereof.Run.from_arrays(
        model="distmult",
        entities=range(N_ENTITIES),
        relations=range(N_RELATIONS),
        facts=facts,
        entity_rows=rng.normal(0, 0.5, (N_ENTITIES, DIM)).astype(np.float32),
        relation_rows=rng.normal(0, 0.5, (N_RELATIONS, DIM)).astype(np.float32),
        trace=np.load(folder / "trace.npy", mmap_mode="r"),
    )


def _random_prediction(rng: np.random.Generator) -> tuple[str, ...]:
    sizes = (N_ENTITIES, N_RELATIONS, N_ENTITIES)
    return tuple(str(rng.integers(0, size)) for size in sizes)
