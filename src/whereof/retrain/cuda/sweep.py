"""The sweep on a GPU: training backwards for many predictions, one block of threads each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.retrain.cuda.card import Card, open_card, unfit
from whereof.retrain.cuda.engine import check_problem
from whereof.retrain.cuda.fleet import Fleet
from whereof.retrain.cuda.layout import Sizes, plan_sweep
from whereof.retrain.cuda.memory import chunk_size
from whereof.retrain.cuda.source import make_sweep_source
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.sweep import (
    Adjoint,
    Advanced,
    Kept,
    as_kept,
    can_continue,
    difference_of,
    go_back,
    rows_in,
)
from whereof.types import Numbers

_STATE = ("entities", "relations", "counts")
"""Arrays that training changes."""
_OF_SHARE = ("adjoint", "adjoint_relations", "adjoint_counts", "tangents", "influence")
_STRETCH = 4096  # facts of a launch
_MOST_PREPARED = 1 << 14  # blocks that compute what predictions share


def check_sweep(problem: Problem, card: Card) -> None:
    """Raise an error that names the setting, if the CUDA kernels cannot sweep the problem."""
    check_problem(problem, card)
    if problem.rule.deferred:
        raise unfit("optimizer adam cannot be swept on CUDA; choose optimizer adam-lazy")
    plan_sweep(Sizes.of(_swept(problem)), card.limits, 1)


@dataclass(frozen=True)
class CudaSweep:
    """The way back over the training of a problem on a GPU; see `Sweep`, its twin on the CPU."""

    problem: Problem
    n_trained: int
    n_swept: int | None = None
    slopes: NDArray[np.float32] | None = None
    finite: bool = True
    memory: int | None = None
    """Bytes for the log and for kept states; None for half of the free memory."""
    card: Card | None = None

    def run(
        self,
        final: Adjoint,
        advanced: Advanced = lambda n_facts, keep: None,
        kept: Kept | None = None,
    ) -> tuple[Numbers, Parameters]:
        """(n_predictions, n_facts) the influence of every fact, and the rows at the end of replay.

        advanced: called many times. Predictions that do not fit into memory together are swept in
        turn; then all facts are counted in each turn. kept: see `Sweep.run`.
        """
        card = self.card or open_card("device cuda")
        check_sweep(self.problem, card)
        try:
            return self._run(card, final, advanced, kept)
        except card.memory_error:
            raise unfit("the GPU has no room for a sweep; free its memory") from None

    def _run(
        self, card: Card, final: Adjoint, advanced: Advanced, kept: Kept | None
    ) -> tuple[Numbers, Parameters]:
        memory = card.free_bytes() // 2 if self.memory is None else self.memory
        replayed = _Replay(card, self, memory)
        size, trained = replayed.at_once(), list[Parameters]()
        found = np.zeros((0, len(self.problem.facts)))
        if kept is not None:
            found = kept["found"]
            if len(kept["adjoint"]) > size:  # there is less memory than before
                kept = None

        def sweep_share(kept: Kept | None) -> Numbers:
            share = slice(len(found), len(found) + (size if kept is None else len(kept["adjoint"])))
            back = _Back(self, replayed, Adjoint(final.entities[share], final.relations[share]))
            n_done = 0

            def keep() -> Kept:
                rows = trained[0] if trained else replayed.fleet.rows(0)
                return {**back.state(), "found": found, **as_kept(rows, n_done)}

            if kept is not None and can_continue(kept, keep(), self.n_trained):
                trained[:], n_done = [rows_in(kept)], int(kept["n_done"])
                back.restore(kept)

            def sweep(n_facts: int) -> None:
                nonlocal n_done
                replayed.log_segment(n_facts)
                if not trained:
                    trained.append(replayed.fleet.rows(0))
                for n in back.sweep():
                    n_done += n
                    advanced(n, keep)

            replayed.rewind()
            go_back(replayed, self.n_swept, sweep, n_done)
            return back.influence()

        while len(found) < len(final.entities):
            found, kept = np.concatenate([found, sweep_share(kept)]), None
        return found, trained[0]


def _swept(problem: Problem) -> Problem:
    """The problem in the precision of its sweep."""
    precision = difference_of(problem)[0].name
    return replace(problem, config=problem.config.replace(precision=precision))


class _Replay:
    """Training on the GPU that can log the rows before each step."""

    def __init__(self, card: Card, sweep: CudaSweep, memory: int) -> None:
        problem, n_trained = sweep.problem, sweep.n_trained
        self.sizes, self.slopes = Sizes.of(_swept(problem)), sweep.slopes if sweep.finite else None
        self.fleet = Fleet(card, problem, [np.zeros(0, np.int64)], log=self.sizes)
        self._problem, self._n_trained, self._done = problem, n_trained, 0
        sizes, n_directions = self.sizes, problem.n_directions
        rows = (sizes.most + 1) * sizes.state + sizes.relation_state
        n_own = 1 if self.slopes is None else 2  # see kernels/sweep.cu
        common = 3 * sizes.query_row + n_own * sizes.own + 2 * sizes.padded_most
        fits = memory // 2 // ((rows + common) * sizes.item * n_directions)
        longest = min(chunk_size(problem), len(problem.facts), n_trained)
        self._segment = min(max(fits, 1), longest)
        arrays, real, xp = self.fleet.arrays, f"f{sizes.item}", card.xp
        self.n_kept = max(memory // 2 // sum(arrays[name].nbytes for name in _STATE), 2)
        n_steps = self._segment * n_directions
        arrays["log"] = xp.empty((n_steps, rows), real)
        arrays["common"] = xp.empty((n_steps, common), real)
        arrays["marks"] = xp.empty((n_steps, 2), np.int32)
        self._start, self.logged = self.keep(), range(0)
        """The positions of the logged facts, in their chunk."""

    def at_once(self) -> int:
        """The number of predictions that fit into memory together."""
        sizes, problem, card = self.sizes, self._problem, self.fleet.card
        numbers = problem.n_entities * sizes.state + problem.n_relation_rows * sizes.relation_state
        each = (numbers + sizes.most) * sizes.item + 8 * len(problem.facts)
        return int(max(card.free_bytes() * 9 // 10 // each, 1))

    def segments(self) -> list[int]:
        """The facts of each segment of training, in order; a segment is within one chunk."""
        found, left, n_facts = [], self._n_trained, len(self._problem.facts)
        chunk = chunk_size(self._problem)
        while left > 0:
            epoch = min(left, n_facts)
            for start in range(0, epoch, chunk):
                stop = min(start + chunk, epoch)
                starts = range(start, stop, self._segment)
                found += [min(self._segment, stop - at) for at in starts]
            left -= epoch
        return found

    def advance(self, n_facts: int) -> int:
        epoch, position = divmod(self._done, len(self._problem.facts))
        self.fleet.enter(epoch, position)
        for start in range(position, position + n_facts, _STRETCH):
            self.fleet.advance(start, min(start + _STRETCH, position + n_facts))
        self.fleet.card.wait()
        self._done += n_facts
        return n_facts

    def log_segment(self, n_facts: int) -> None:
        """Train on a segment and log it."""
        epoch, position = divmod(self._done, len(self._problem.facts))
        self.fleet.enter(epoch, position)
        if self.slopes is not None:
            self.fleet.arrays["slopes"] = self.fleet.card.xp.asarray(self.slopes[epoch])
        start = position - self.fleet.chunk.start
        self.logged = range(start, start + n_facts)
        self.fleet.arrays |= {"log_first": start * self._problem.n_directions, "logs": 1}
        self.advance(n_facts)
        self.fleet.arrays["logs"] = 0

    def keep(self) -> dict[str, Any]:
        kept = {name: self.fleet.arrays[name].copy() for name in _STATE}
        return {**kept, "done": self._done}

    def restore(self, arrays: dict[str, Any]) -> None:
        for name in _STATE:
            self.fleet.arrays[name][...] = arrays[name]
        self._done = arrays["done"]

    def rewind(self) -> None:
        """Go to the start of training."""
        self.restore(self._start)


class _Back:
    """Sweeps for a share of the predictions."""

    def __init__(self, sweep: CudaSweep, replayed: _Replay, final: Adjoint) -> None:
        self._replay, self._fleet, sizes = replayed, replayed.fleet, replayed.sizes
        problem, card = _swept(sweep.problem), self._fleet.card
        self._layout = layout = plan_sweep(sizes, card.limits, len(final.entities))
        how = {"finite": sweep.finite, "unlearnt": replayed.slopes is not None}
        source = make_sweep_source(problem, layout, **how, reach=difference_of(problem)[1])
        self._kernels, self._n = card.compile(source), len(final.entities)
        xp, real, arrays = card.xp, f"f{sizes.item}", self._fleet.arrays
        arrays |= dict.fromkeys(_OF_SHARE)  # frees those of the last share

        def place(rows: Numbers, width: int) -> Any:
            """Rows with zeros for the moments, which no prediction reads."""
            placed = xp.zeros((*rows.shape[:2], width), real)
            for row, given in zip(placed, rows, strict=True):
                row[:, : rows.shape[2]] = xp.asarray(given.astype(real))
            return placed

        arrays["adjoint"] = place(final.entities, sizes.state)
        arrays["adjoint_relations"] = place(final.relations, sizes.relation_state)
        arrays["adjoint_counts"] = xp.zeros(self._n, "f8")
        n_tangents = 0 if layout.room_shared else sizes.padded_most
        arrays["tangents"] = xp.zeros((self._n, n_tangents), real)
        arrays["influence"] = xp.zeros((self._n, len(problem.facts)), "f8")

    def sweep(self) -> Iterator[int]:
        """Go back over the logged segment in stretches; yields the facts of each."""
        fleet, logged = self._fleet, self._replay.logged
        n_directions = self._replay.fleet.problem.n_directions
        block = (self._layout.threads, self._layout.shared_bytes)

        def launch(name: str, blocks: int, start: int, stop: int) -> None:
            span = np.int32(start * n_directions), np.int32(stop * n_directions)
            fleet.launch(name, blocks, *span, block=block, kernels=self._kernels)
            fleet.card.wait()

        n_steps = len(logged) * n_directions
        launch("prepare", min(n_steps, _MOST_PREPARED), logged.start, logged.stop)
        for stop in range(logged.stop, logged.start, -_STRETCH):
            start = max(stop - _STRETCH, logged.start)
            launch("sweep", self._n, start, stop)
            yield stop - start

    def state(self) -> dict[str, NDArray[Any]]:
        """A copy of the state: (n_predictions, ...) each."""
        return {name: self._fleet.to_host(self._fleet.arrays[name]) for name in _OF_SHARE}

    def restore(self, kept: Kept) -> None:
        """Go on from a state."""
        for name in _OF_SHARE:
            self._fleet.arrays[name][...] = self._fleet.card.xp.asarray(kept[name])

    def influence(self) -> Numbers:
        """The influence of every fact so far, (n_predictions, n_facts)."""
        return self._fleet.to_host(self._fleet.arrays["influence"])
