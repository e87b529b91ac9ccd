"""Many models of one problem in a card's memory, trained together a stretch at a time."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.engines.cuda._card import Card
from whence.engines.cuda._layout import Layout, Sizes, plan_layout
from whence.engines.cuda._source import check_problem, make_source
from whence.errors import WhenceError
from whence.training._optimizers import N_TAILS, fill_tails
from whence.training._problem import Problem
from whence.training._tables import Ledgers
from whence.training._timeline import Timeline, fading
from whence.training.results import Parameters
from whence.types import FactIds

_FIELDS = (
    *("entities", "relations", "entity_counts", "relation_counts", "removed", "counts"),
    *("facts", "order", "steps", "candidates", "repeats", "rates", "times", "powers", "targets"),
    *("trace", "owned", "owned_relations", "drift", "drift_relations"),
    *("projection", "projection_relations", "meter", "room"),
    *("n_entities", "n_relations", "n_facts", "n_words", "most", "n_times", "horizon"),
    *("first", "epoch"),
)
"""Of Fleet in kernels.cu, each of 8 bytes: arrays, then numbers."""
_CHUNK_BYTES = 1 << 27
_DRAW_THREADS, _SETTLE_THREADS, _STAND_THREADS = 128, 128, 256


class Fleet:
    """Models that differ only in which facts they are trained without.

    All of them stand at the same place in time: what is drawn for a step is drawn once.
    """

    def __init__(
        self,
        card: Card,
        problem: Problem,
        removed: Sequence[FactIds],
        *,
        tracked: bool = False,
        layout: Layout | None = None,
    ) -> None:
        check_problem(problem)
        self.card, self.problem, self.n_models = card, problem, len(removed)
        self.sizes = Sizes.of(problem)
        holds = not (tracked and problem.rule.deferred)  # what is held is not noted as drift
        self.layout = layout or plan_layout(self.sizes, card.limits, self.n_models, holds=holds)
        self.kernels = card.compile(make_source(problem, self.layout, tracked=tracked))
        if self._draw_bytes > card.limits.block_bytes:
            raise WhenceError(
                f"{self.sizes.most - 1} independent negatives are too many for the card's shared "
                "memory; choose sampling distinct, or engine local"
            )
        nothing = np.zeros(0, np.bool_)
        self.timeline = Timeline(problem.config, len(problem.facts), problem.n_directions, nothing)
        self.arrays: dict[str, Any] = {}
        self._numbers: dict[str, int] = dict.fromkeys(("first", "epoch"), 0)
        self._epoch, self.chunk = -1, range(0)
        try:
            self._place_rows()
            self._place_removed(removed)
            self._place_times()
            self._place_room()
            if tracked:
                self._place_ledgers()
        except card.memory_error:
            each = self.bytes_each(problem) / 1e6
            raise WhenceError(
                f"the card has no room for {self.n_models} models of {each:,.0f} MB and what they "
                "share; free its memory, or choose engine local"
            ) from None

    @staticmethod
    def bytes_each(problem: Problem) -> int:
        """Memory of one model."""
        sizes = Sizes.of(problem)
        rows = problem.n_entities * sizes.state + problem.n_relation_rows * sizes.relation_state
        counts = 4 * (problem.n_entities + problem.n_relation_rows) * problem.rule.deferred
        return rows * sizes.item + counts + sizes.room + len(problem.facts) // 8

    def _place_rows(self) -> None:
        """Every model begins with the same rows, without moments."""
        xp, sizes, deferred = self.card.xp, self.sizes, self.problem.rule.deferred
        tables = self.problem.tables(Ledgers.NONE)
        named = (("entities", "entity_counts"), ("relations", "relation_counts"))
        states = (sizes.state, sizes.relation_state)
        for (name, counts), table, state_width in zip(named, tables, states, strict=True):
            n_rows = len(table.state)
            first = np.zeros((n_rows, state_width), table.state.dtype)
            own = table.state.shape[1] // sizes.parts
            first[:, :own] = table.state[:, :own]
            state = xp.empty((self.n_models, *first.shape), first.dtype)
            state[:] = xp.asarray(first)
            self.arrays[name] = state
            if deferred:
                self.arrays[counts] = xp.zeros((self.n_models, n_rows), np.int32)
            self._numbers[f"n_{name}"] = n_rows
        self.arrays["counts"] = xp.zeros(self.n_models, np.int64)

    def _place_removed(self, removed: Sequence[FactIds]) -> None:
        """One bit for every fact of every model; none at all where nothing is removed."""
        n_facts = len(self.problem.facts)
        n_words = math.ceil(n_facts / 32) if any(map(len, removed)) else 0
        words = np.zeros((self.n_models, n_words), np.uint32)
        for model, facts in enumerate(removed):
            np.bitwise_or.at(
                words[model], facts >> 5, np.uint32(1) << (facts & 31).astype(np.uint32)
            )
        self.arrays["removed"] = self.card.xp.asarray(words)
        self._numbers |= {"n_words": n_words, "n_facts": n_facts}

    def _place_times(self) -> None:
        """By count: what is left of drift, and Adam's corrections; by counts missed: its powers."""
        xp, config = self.card.xp, self.problem.config
        powers, fades = fading(config.beta1, config.beta2)
        # From there on no count differs from the next.
        settled = math.ceil(44 / -math.log(max(config.beta2, 1e-10))) + 2
        n_updates = self.timeline.updates_per_epoch * config.epochs
        counts = np.arange(min(n_updates + 1, settled) + len(fades) + 1, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            correction = np.sqrt(1 - config.beta2**counts)
            steps = correction / (1 - config.beta1**counts)
        steps[0] = 0
        n_times = len(counts) - len(fades)
        times = np.zeros((n_times, N_TAILS + 2))
        if self.problem.rule.deferred:
            tails = np.zeros((n_times, N_TAILS))
            fill_tails(config.rate * steps[1:], config.beta1, config.beta2, tails)
            times[:, :N_TAILS] = tails
        times[:, N_TAILS], times[:, N_TAILS + 1] = steps[:n_times], correction[:n_times]
        self.arrays["times"] = xp.asarray(times)
        self.arrays["powers"] = xp.asarray(np.column_stack([powers, fades]))
        self._numbers |= {"n_times": n_times, "horizon": len(fades)}

    def _place_room(self) -> None:
        """Facts, and room for the steps of a chunk."""
        xp, problem, sizes = self.card.xp, self.problem, self.sizes
        n_directions = problem.n_directions
        size = max(_CHUNK_BYTES // (4 * sizes.most * n_directions), 1)
        self._chunk_size = min(size, len(problem.facts))
        n_steps = self._chunk_size * n_directions
        real = np.dtype(problem.config.precision)
        self.arrays["facts"] = xp.asarray(problem.facts.astype(np.int32))
        self.arrays["steps"] = xp.zeros((n_steps, 5), np.int32)
        self.arrays["candidates"] = xp.zeros((n_steps, sizes.most), np.int32)
        if not problem.draw.distinct:
            self.arrays["repeats"] = xp.zeros((n_steps, sizes.most), np.int32)
        self.arrays["rates"] = xp.zeros(n_steps)
        if problem.config.loss == "squared":
            assert problem.targets is not None
            self.arrays["targets"] = xp.asarray(problem.targets.astype(real))
        if not self.layout.room_shared:
            self.arrays["room"] = xp.zeros((self.n_models, sizes.room), np.uint8)
        self._numbers["most"] = sizes.most

    def _place_ledgers(self) -> None:
        xp, problem = self.card.xp, self.problem
        real = np.dtype(problem.config.precision)
        widths = (problem.widths.entity, problem.widths.relation)
        rows = (self._numbers["n_entities"], self._numbers["n_relations"])
        for name in ("owned", "drift", "projection"):
            for table, n_rows, width in zip(("", "_relations"), rows, widths, strict=True):
                self.arrays[f"{name}{table}"] = xp.zeros((n_rows, width), real)
        self.arrays["meter"] = xp.zeros(5)
        if problem.config.trace:
            self.arrays["trace"] = xp.zeros((len(problem.facts), problem.trace_width), real)

    def enter(self, epoch: int, position: int) -> None:
        """Draw the chunk of an epoch that holds a position; chunks are cut at fixed places."""
        size = self._chunk_size
        start = position // size * size
        chunk = range(start, min(start + size, len(self.problem.facts)))
        if (epoch, chunk) == (self._epoch, self.chunk):
            return
        xp, timeline, n_directions = self.card.xp, self.timeline, self.problem.n_directions
        if epoch != self._epoch:
            self.arrays["order"] = xp.asarray(timeline.order(epoch).astype(np.int32))
        self._epoch, self.chunk = epoch, chunk
        n_steps = len(chunk) * n_directions
        updates = np.arange(n_steps) + start * n_directions + epoch * timeline.updates_per_epoch
        self.arrays["rates"][:n_steps] = xp.asarray(timeline.rates(updates))
        redraws = self.problem.config.redraw
        self._numbers |= {"first": start, "epoch": epoch if redraws else 0}
        blocks = min(n_steps, 1 << 16)
        self._launch("draw", blocks, _DRAW_THREADS, self._draw_bytes, np.int32(n_steps))

    @property
    def _draw_bytes(self) -> int:
        """Shared memory in which draws are looked through for repeats."""
        return 0 if self.problem.draw.distinct else 8 * (self.sizes.most - 1)

    def advance(self, start: int, stop: int) -> None:
        """Train every model on the facts at positions of the entered chunk."""
        n_directions, first = self.problem.n_directions, self.chunk.start
        span = (np.int32((at - first) * n_directions) for at in (start, stop))
        layout = self.layout
        self._launch("train", self.n_models, layout.threads, layout.shared_bytes, *span)

    def train(self, n_facts: int, seconds: float) -> Iterator[tuple[int, float]]:
        """Train on so many facts, over all epochs, in stretches of about so many seconds.

        After each one: on how many facts, and how long it took.
        """
        done, stretch = 0, 64
        while done < n_facts:
            epoch, position = divmod(done, len(self.problem.facts))
            before = time.perf_counter()
            self.enter(epoch, position)
            stop = min(position + min(stretch, n_facts - done), self.chunk.stop)
            self.advance(position, stop)
            self.card.wait()
            took = time.perf_counter() - before
            n = stop - position
            done += n
            stretch = max(1, min(int(n * seconds / max(took, 1e-9)), 8 * stretch))
            yield n, took

    def finite(self) -> NDArray[np.bool_]:
        """(n_models,) whether all of a model's rows are numbers."""
        xp, widths = self.card.xp, self.problem.widths
        sums = self.arrays["entities"][:, :, : widths.entity].sum(axis=(1, 2))
        sums = sums + self.arrays["relations"][:, :, : widths.relation].sum(axis=(1, 2))
        return self.to_host(xp.isfinite(sums))

    def settle(self) -> None:
        """Bring all rows up to date, when training is over."""
        if self.problem.rule.deferred:
            lanes = self.card.limits.lanes
            shared = 3 * (_SETTLE_THREADS // lanes) * self.sizes.item
            self._launch("settle", self.n_models, _SETTLE_THREADS, shared)

    def rows(self, model: int) -> Parameters:
        """A model's rows, once they are settled."""
        widths = self.problem.widths
        return Parameters(
            self.to_host(self.arrays["entities"][model, :, : widths.entity]),
            self.to_host(self.arrays["relations"][model, :, : widths.relation]),
        )

    def scores(self, asked: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n, most candidates) scores in double precision, once rows are settled.

        asked: (n, 5) model, given entity, row of the relation, first candidate, one past the last.
        """
        xp, widths = self.card.xp, self.problem.widths
        stride = int((asked[:, 4] - asked[:, 3]).max())
        out = xp.zeros((len(asked), stride))
        listed = xp.asarray(np.column_stack([asked, np.arange(len(asked))]).astype(np.int32))
        shared = 8 * (widths.entity + widths.relation + widths.query)
        address = self.card.address
        arguments = (np.uint64(address(listed)), np.uint64(address(out)), np.int64(stride))
        self._launch("stand", len(asked), _STAND_THREADS, shared, *arguments)
        return self.to_host(out)

    def to_host(self, array: Any) -> NDArray[Any]:
        """A copy of an array of the card."""
        self.card.wait()
        found = array.get() if hasattr(array, "get") else array
        return np.array(found, order="C")

    def _launch(self, name: str, blocks: int, threads: int, shared: int, *arguments: Any) -> None:
        fields = [
            self.card.address(self.arrays[field])
            if field in self.arrays
            else self._numbers.get(field, 0)
            for field in _FIELDS
        ]
        record = self.card.xp.asarray(np.array(fields, np.uint64))
        self._record = record  # lives as long as the launch that reads it
        first = np.uint64(self.card.address(record))
        self.card.launch(self.kernels, name, blocks, threads, shared, (first, *arguments))
