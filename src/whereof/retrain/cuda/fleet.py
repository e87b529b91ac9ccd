"""Many models of one problem in GPU memory, trained together."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.retrain.cuda.card import Card, unfit
from whereof.retrain.cuda.layout import Layout, Sizes, draw_bytes, plan_layout
from whereof.retrain.cuda.memory import chunk_size, place
from whereof.retrain.cuda.source import make_source
from whereof.retrain.engine import Recipe
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.types import FactIds

_OF_MODEL = ("entities", "relations", "entity_counts", "relation_counts", "counts")
"""Arrays that training changes; each row belongs to one model."""
_FIRST_STRETCH = 64  # number of facts in the first launch, before their time is known
_DRAW_THREADS = 128


@dataclass(frozen=True)
class PrefixState:
    """A model just before the first fact that it is trained without: others may start there."""

    n_facts: int  # that it was trained on
    arrays: dict[str, NDArray[Any]]  # what training changes, by name


def prefix_lengths(recipe: Recipe, removed: Sequence[FactIds]) -> NDArray[np.int64]:
    """(n_models,) how many facts each model trains on before the first that is removed."""
    places = np.empty(len(recipe.problem.facts), np.int64)
    places[recipe.problem.timeline().order(0)] = np.arange(len(places))
    return np.array([places[facts].min(initial=recipe.n_facts) for facts in removed], np.int64)


def make_waves(
    lengths: NDArray[np.int64], size: int, *, in_order: bool
) -> Iterator[NDArray[np.int64]]:
    """Numbers of the models that train together: the longest prefix first, then ascending.

    In order: the first jobs in the first wave. Else those with short prefixes, so that the next
    wave starts where they end.
    """
    order = np.arange(len(lengths)) if in_order else np.argsort(lengths, kind="stable")
    for first in range(0, len(lengths), size):
        wave = order[first : first + size]
        yield np.roll(wave[np.argsort(lengths[wave], kind="stable")], 1)


class Fleet:
    """Models that differ only in the facts they are trained without, or with other weights.

    All are at the same step: what a step draws is drawn once for all. Until the first fact that is
    removed from it, a model equals every other one. So with `prefix`, the lengths of these prefixes
    in the order of `make_waves`, the first model trains for all; the others start as its copies.
    """

    def __init__(
        self,
        card: Card,
        problem: Problem,
        removed: Sequence[FactIds],
        factors: Sequence[float] | None = None,
        *,
        tracked: bool = False,
        log: Sizes | None = None,
        layout: Layout | None = None,
        prefix: NDArray[np.int64] | None = None,
        state: PrefixState | None = None,
    ) -> None:
        self.card, self.problem, self.n_models = card, problem, len(removed)
        self.sizes = Sizes.of(problem)
        holds = not (tracked and problem.rule.deferred)  # held rows are not booked as drift
        self.layout = layout or plan_layout(self.sizes, card.limits, self.n_models, holds=holds)
        weighs = factors is not None
        source = make_source(problem, self.layout, tracked=tracked, weighs=weighs, log=log)
        self.kernels = card.compile(source)
        self.timeline = problem.timeline()
        self._epoch, self.chunk = -1, range(0)
        self._prefix, self._n_split = prefix, self.n_models if prefix is None else 1
        self._n_done = state.n_facts if state else 0
        self.prefix_state: PrefixState | None = None
        """Known once the first model meets its first removed fact."""
        try:
            self.arrays = place(card.xp, problem, self.layout, removed, factors, tracked=tracked)
            """The struct Fleet of the kernels: arrays on the GPU and numbers; None for left out."""
            for name, array in state.arrays.items() if state else ():
                self.arrays[name][:1] = card.xp.asarray(array)
        except card.memory_error:
            what = f"the GPU has no room for {self.n_models} models"
            raise unfit(f"{what}; free its memory") from None

    def enter(self, epoch: int, position: int) -> None:
        """Draw the chunk of an epoch that contains a position; chunks start at fixed positions."""
        size = chunk_size(self.problem)
        start = position // size * size
        chunk = range(start, min(start + size, len(self.problem.facts)))
        if (epoch, chunk) == (self._epoch, self.chunk):
            return
        xp, timeline, n_directions = self.card.xp, self.timeline, self.problem.n_directions
        if epoch != self._epoch:
            self.arrays["order"] = xp.asarray(timeline.order(epoch).astype(np.int32))
        self._epoch, self.chunk = epoch, chunk
        n_steps = len(chunk) * n_directions
        updates = np.arange(n_steps) + start * n_directions + epoch * timeline.updates_before(1)
        self.arrays["rates"][:n_steps] = xp.asarray(timeline.rates(updates))
        self.arrays |= {"first": start, "epoch": epoch if self.problem.config.redraw else 0}
        block = (_DRAW_THREADS, draw_bytes(self.problem))
        self.launch("draw", min(n_steps, 1 << 16), np.int32(n_steps), block=block)

    def advance(self, start: int, stop: int) -> None:
        """Train all models that have split on the facts at positions of the entered chunk."""
        n_directions, first = self.problem.n_directions, self.chunk.start
        span = (np.int32((at - first) * n_directions) for at in (start, stop))
        self.launch("train", self._n_split, *span)

    def train(self, n_facts: int, seconds: float) -> Iterator[tuple[int, float]]:
        """Train on `n_facts` facts, over all epochs, in stretches of about `seconds`.

        Yields the facts and the seconds of each stretch. Facts of a prefix's state are done.
        """
        done, stretch = self._n_done, _FIRST_STRETCH
        while done < n_facts:
            epoch, position = divmod(done, len(self.problem.facts))
            before = time.perf_counter()
            self.enter(epoch, position)
            stop = min(position + min(stretch, n_facts - done), self.chunk.stop)
            self._split(done, done + stop - position)
            self.advance(position, stop)
            self.card.wait()
            took = time.perf_counter() - before
            n = stop - position
            done += n
            stretch = max(1, min(int(n * seconds / max(took, 1e-9)), 8 * stretch))
            yield n, took
        self._split(n_facts, n_facts + 1)

    def _split(self, done: int, until: int) -> None:
        """Copy the first model to those whose prefix ends before `until`; keep its state."""
        if self._prefix is None:
            return
        before, self._n_split = self._n_split, 1 + int(self._prefix[1:].searchsorted(until))
        own = [name for name in _OF_MODEL if self.arrays[name] is not None]
        for name in own:
            self.arrays[name][before : self._n_split] = self.arrays[name][:1]
        if done <= self._prefix[0] < until:
            arrays = {name: self.to_host(self.arrays[name][:1]) for name in own}
            self.prefix_state = PrefixState(done, arrays)

    def finite(self) -> NDArray[np.bool_]:
        """(n_models,) whether all rows of a model are finite."""
        xp, widths = self.card.xp, self.problem.widths
        sums = self.arrays["entities"][:, :, : widths.entity].sum(axis=(1, 2))
        sums = sums + self.arrays["relations"][:, :, : widths.relation].sum(axis=(1, 2))
        return self.to_host(xp.isfinite(sums))

    def settle(self) -> None:
        """Apply pending drift to all rows after training."""
        if self.problem.rule.deferred:
            self.launch("settle", self.n_models)

    def rows(self, model: int) -> Parameters:
        """The rows of a model, after `settle`."""
        widths = self.problem.widths
        return Parameters(
            self.to_host(self.arrays["entities"][model, :, : widths.entity]),
            self.to_host(self.arrays["relations"][model, :, : widths.relation]),
        )

    def to_host(self, array: Any) -> NDArray[Any]:
        """Copy an array from the GPU."""
        self.card.wait()
        found: NDArray[Any] = array.get(order="C") if hasattr(array, "get") else array.copy()
        return np.ascontiguousarray(found)

    def launch(
        self,
        name: str,
        blocks: int,
        *arguments: Any,
        block: tuple[int, int] | None = None,
        kernels: Any = None,
    ) -> None:
        """Start a kernel of the fleet, or of others that read the same arrays.

        block: threads and bytes of shared memory, else those of the layout.
        """
        threads, shared = block or (self.layout.threads, self.layout.shared_bytes)
        card, found = self.card, (0 if it is None else it for it in self.arrays.values())
        fields = [it if isinstance(it, int) else card.address(it) for it in found]
        # The record must live as long as the launch that reads it.
        self._record = card.xp.asarray(np.array(fields, np.uint64))
        first = np.uint64(card.address(self._record))
        card.launch(kernels or self.kernels, name, (blocks, threads, shared), (first, *arguments))
