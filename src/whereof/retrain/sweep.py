"""Sweeps through the training of a run. Long ones store their progress, and can be continued."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, reduce
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from whereof.errors import Interrupted
from whereof.events import Advanced, Events, Note, SweepsPlanned
from whereof.explain.losses import as_rows
from whereof.explain.method import Context
from whereof.explain.methods.gradient import pull_scores
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.retrain.cuda.sweep import CudaSweep
from whereof.run.files import Arrays, Store, like
from whereof.training.leverage import unlearnt_slopes
from whereof.training.problem import Problem
from whereof.training.sweep import Adjoint, Kept, Sweep, difference_of
from whereof.types import Numbers

Columns = Sequence[Sequence[tuple[ScoredPrediction, Numbers]]]
"""What is swept: predictions with the derivative by every score. Those of a column add up."""

_TRAININGS, _MORE = 20.0, 0.1
"""The cost of a sweep of one column, in trainings on one core, and the share of it that each
further column adds."""
_GIGABYTE = 1 << 30
_CARD_MEMORY = 8 * _GIGABYTE  # of main memory, for derivatives on their way to the GPU
_SLOPES, _PROGRESS, _VERSION = "unrolled-slopes-1", "unrolled-progress", 1
"""Keys of the store, which has one unfinished sweep at most, and the version of its state."""
_KEEP_SECONDS, _KEEP_SHARE = 60.0, 20.0
"""Seconds between two writes of the state, and how often the time of a write they are at least."""
_LEAST_SECONDS = 5.0
"""A sweep that stops or ends is stored if the last write is at least this long ago."""


@contextmanager
def sweep(
    trained: Trained,
    columns: Columns,
    events: Events,
    context: Context,
    *,
    n_after: int = 0,
) -> Iterator[tuple[Numbers, bool]]:
    """(n_columns, n_facts) changes by every fact; whether the replay differs from the run.

    n_after: number of retrainings that follow; the store has the result until this ends without
    error.
    """
    problem, memory = Problem.of(trained.dataset, trained.config), _memory(context)
    at_once = memory // (2 * problem.row_bytes)
    if trained.on_card:
        at_once = _CARD_MEMORY // sum(rows.nbytes for rows in trained.parameters)
    n_rounds = -(-len(columns) // max(at_once, 1))
    rounds = np.array_split(np.arange(len(columns)), n_rounds)
    _announce(trained, rounds, context.sweep_epochs, n_after, events)
    sweeper = _sweeper(trained, problem, context.sweep_epochs, memory, events)
    n_facts = _n_swept(sweeper)
    how = _VERSION, n_facts, n_rounds, trained.n_trained, trained.on_card, sweeper.slopes is None
    shapes = [(int(n), len(problem.facts)) for n in (*(it[0] for it in rounds), len(columns))]
    progress = _Progress(trained.store, columns, how, shapes)
    count = _Count(events, n_rounds * n_facts, f"{_facts(problem)}, going back through training")
    done, differs = _go_back(trained, columns, rounds, sweeper, progress, count)
    if n_after:
        progress.write(lambda: {"done": done, "differs": np.array(differs)}, now=True)
    yield done, differs
    progress.remove()


def n_trainings(n_columns: int) -> float:
    """The cost of a sweep, in trainings on one core."""
    return _TRAININGS * (1 + _MORE * (n_columns - 1))


def share_of_epochs(trained: Trained, epochs: int | None) -> float:
    """The share of training that a sweep over the last epochs goes through; 1 for all of them."""
    assert trained.n_trained is not None
    calendar = Problem.of(trained.dataset, trained.config).calendar
    n_epochs = calendar.n_epochs(trained.n_trained)
    return min((epochs or n_epochs) / max(n_epochs, 1), 1.0)


def _announce(
    trained: Trained,
    rounds: Sequence[NDArray[np.int64]],
    epochs: int | None,
    n_after: int,
    events: Events,
) -> None:
    """Say what sweeps over some epochs, and retrainings after them, will cost, if it is known."""
    if trained.training_seconds is None or trained.on_card:
        return
    cost = sum(n_trainings(len(columns)) for columns in rounds) * share_of_epochs(trained, epochs)
    cost += n_after
    each = trained.training_seconds / (os.cpu_count() or 1)
    events.emit(SweepsPlanned(len(rounds), cost * each))


def _go_back(
    trained: Trained,
    columns: Columns,
    rounds: Sequence[NDArray[np.int64]],
    sweeper: Sweep | CudaSweep,
    progress: "_Progress",
    count: "_Count",
) -> tuple[Numbers, bool]:
    """As `sweep`, for some columns at a time, from where the same sweep was interrupted."""
    done, differs, kept = np.zeros((0, len(sweeper.problem.facts))), False, progress.read()
    if kept is not None:
        done, differs = kept["done"], bool(kept["differs"])
    for chosen in rounds:
        if chosen[0] < len(done):
            count.add(_n_swept(sweeper))
            continue
        if kept is not None:
            count.add(int(kept["n_done"]))
        so_far = {"done": done, "differs": np.array(differs)}

        def advanced(n: int, keep: Callable[[], Kept], so_far: Arrays = so_far) -> None:
            stops = count.add(n)
            is_kept = progress.write(lambda: {**keep(), **so_far}, now=stops)
            if stops:
                hint = "ask again to continue" if is_kept else "nothing was stored"
                raise Interrupted(f"the sweep was interrupted; {hint}")

        final = _final(trained, sweeper.problem, columns, chosen)
        influence, replayed = sweeper.run(final, advanced, kept)
        same = (np.array_equal(*pair) for pair in zip(replayed, trained.parameters, strict=True))
        differs = differs or not all(same)
        done, kept = np.concatenate([done, influence]), None
    return done, differs


def _n_swept(sweeper: Sweep | CudaSweep) -> int:
    """The facts that a sweep goes back over."""
    return sweeper.n_trained if sweeper.n_swept is None else sweeper.n_swept


def corrects_sizes(trained: Trained, context: Context) -> bool:
    """Whether a sweep has enough memory for the sizes of influences on rows with few facts."""
    problem = Problem.of(trained.dataset, trained.config)
    return _slopes_bytes(trained, problem) <= _memory(context)


def _memory(context: Context) -> int:
    """The bytes that a sweep may use on the CPU."""
    return int(context.sweep_memory * _GIGABYTE)


def _sweeper(
    trained: Trained, problem: Problem, epochs: int | None, memory: int, events: Events
) -> Sweep | CudaSweep:
    """A sweep over the last epochs, or over all of training, on the CPU or the GPU."""
    assert trained.n_trained is not None
    n_swept = None
    if epochs is not None:
        first = max(problem.calendar.n_epochs(trained.n_trained) - epochs, 0)
        n_swept = trained.n_trained - problem.calendar.before(first)
    slopes = _slopes(trained, problem, memory, events)
    if trained.on_card:
        return CudaSweep(problem, trained.n_trained, n_swept, slopes)
    threads = os.cpu_count() or 1
    return Sweep(problem, trained.n_trained, n_swept, slopes, memory=memory, threads=threads)


def _final(
    trained: Trained, problem: Problem, columns: Columns, chosen: NDArray[np.int64]
) -> Adjoint:
    """The derivatives of some columns by the trained rows."""
    real, shapes = difference_of(problem)[0], (rows.shape for rows in trained.parameters)
    final = Adjoint(*(np.empty((len(chosen), *shape), real) for shape in shapes))
    for place, at in enumerate(chosen):
        pulls = (pull_scores(*each) for each in columns[at])
        rows = as_rows(reduce(np.add, pulls), trained.scorer)
        final.entities[place], final.relations[place] = rows.entity_rows, rows.relation_rows
    return final


class _Progress:
    """How far a long sweep is, in the run's store: the same sweep goes on after an interruption."""

    def __init__(
        self,
        store: Store,
        columns: Columns,
        how: tuple[object, ...],
        shapes: Sequence[tuple[int, int]],
    ) -> None:
        """shapes: those of the influences after each round; the last has all."""
        self._store, self._columns, self._how, self._shapes = store, columns, how, shapes
        self._last, self._took, self._is_kept = time.monotonic(), 0.0, False

    def read(self) -> Arrays | None:
        """The state that was kept of the same sweep."""
        found = self._store.find(_PROGRESS, self._is_mine)
        self._is_kept = found is not None
        return found

    def write(self, state: Callable[[], Arrays], *, now: bool) -> bool:
        """Keep a state if it is time; whether there is one."""
        seconds = time.monotonic() - self._last
        if seconds > (_LEAST_SECONDS if now else max(_KEEP_SECONDS, _KEEP_SHARE * self._took)):
            start = time.monotonic()
            # If it cannot be written, the state before is still there.
            self._is_kept |= self._store.put(_PROGRESS, {**state(), "about": self._about})
            self._last = time.monotonic()
            self._took = self._last - start
        return self._is_kept

    def remove(self) -> None:
        """Forget what was kept, unless another process has replaced it."""
        if self._is_kept and self._store.find(_PROGRESS, self._is_mine) is not None:
            self._store.remove(_PROGRESS)

    def _is_mine(self, arrays: Arrays) -> bool:
        """Whether it is the same sweep, and nothing in its state is impossible."""
        nothing = np.zeros(0)
        done, differs, n_done = (arrays.get(it, nothing) for it in ("done", "differs", "n_done"))
        is_done, kinds = done.shape == self._shapes[-1], {it.dtype.kind for it in arrays.values()}
        return (
            np.array_equal(arrays.get("about", ()), self._about)
            and done.shape in self._shapes
            and (differs.shape, differs.dtype.kind) == ((), "b")
            and (is_done or (n_done.shape, n_done.dtype.kind) == ((), "i"))
            and kinds <= set("biuf")
            and all(np.isfinite(it).all() for it in arrays.values())
        )

    @cached_property
    def _about(self) -> NDArray[np.uint8]:
        """A digest of what is swept."""
        found = blake2b(repr(self._how).encode())
        for column in self._columns:
            for scored, slopes in column:
                found.update(repr(scored.prediction).encode())
                found.update(slopes.tobytes())
        return np.frombuffer(found.digest(), np.uint8)


def _slopes(
    trained: Trained, problem: Problem, memory: int, events: Events
) -> NDArray[np.float32] | None:
    """The slopes that correct the sizes of influences on rows with few facts; stored in the run.

    None if memory is too small, or if training uses every fact once, which needs no correction.
    """
    needed, n_trained = _slopes_bytes(trained, problem), trained.n_trained or 0
    if needed > memory:
        enough = math.ceil(needed / _GIGABYTE * 1000) / 1000
        what = f"to correct them, choose --sweep-memory {enough:g} or more"
        events.emit(Note(f"influences of facts in rows with few facts will be too small; {what}"))
    if not 0 < needed <= memory:
        return None
    count = _Count(events, n_trained, f"{_facts(problem)}, training again")

    def advanced(n_more: int) -> None:
        if count.add(n_more):
            raise Interrupted("interrupted before the sweep started; nothing was stored")

    def make() -> Arrays:
        return {"slopes": unlearnt_slopes(problem, n_trained, advanced)}

    shape = (problem.calendar.n_epochs(n_trained), len(problem.facts), problem.n_directions)
    found = trained.store.get(_SLOPES, make, like(slopes=(shape, "float32")), events)
    return found["slopes"]


def _slopes_bytes(trained: Trained, problem: Problem) -> int:
    """The memory that computing the slopes takes; 0 if no slopes are needed."""
    n_facts = len(problem.facts)
    if (trained.n_trained or 0) <= n_facts and problem.n_directions == 1:
        return 0
    return n_facts * problem.trace_width * np.dtype(problem.config.precision).itemsize


def _facts(problem: Problem) -> str:
    """What people call the facts of a run."""
    return "ratings" if problem.config.rated else "facts"


class _Count:
    """Counts what is done, and reports it."""

    def __init__(self, events: Events, n_total: int, noun: str) -> None:
        self._events, self._n_total, self._noun, self._n_done = events, n_total, noun, 0

    def add(self, n_more: int) -> bool:
        """Count; whether to stop."""
        self._n_done += n_more
        self._events.emit(Advanced(min(self._n_done, self._n_total), self._n_total, self._noun))
        return self._events.should_stop()
