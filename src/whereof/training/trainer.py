"""A training run in memory: tables, trace and clock, advanced in steps of many facts."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.errors import WhereofError
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.step import ENTITY_NORM, METER, read_rows, run_steps
from whereof.training.tables import Ledgers, RowTable, Work, allocate_scratch
from whereof.training.timeline import Timeline

_NO_FACTS = np.zeros(0, np.bool_)


class Training(Protocol):
    """What `fit` needs from a training run, on any device."""

    problem: Problem
    epoch: int
    position: int
    """Number of facts trained on in this epoch."""
    count: NDArray[np.int64]
    """(1,) number of updates so far."""
    meter: NDArray[np.float64]
    """See METER."""

    @property
    def trace(self) -> NDArray[Any]: ...
    @property
    def epoch_ended(self) -> bool: ...
    def warm_up(self) -> None: ...
    def advance(self, n_facts: int) -> int: ...
    def read(self) -> tuple[RowTable, RowTable]: ...
    def parameters(self) -> Parameters: ...
    def snapshot(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: dict[str, NDArray[Any]]) -> None: ...


def check_snapshot(mine: dict[str, NDArray[Any]], arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse a snapshot of a training run with other settings."""
    one, other = ({(name, it.shape) for name, it in each.items()} for each in (mine, arrays))
    if different := sorted({name for name, _ in one ^ other}):
        raise WhereofError(
            f"the checkpoint belongs to another kind of training (see {', '.join(different)}); "
            "train the run again"
        )


class Trainer:
    """Trains a problem on the CPU, with or without a trace and with or without removed facts."""

    def __init__(
        self,
        problem: Problem,
        trace: NDArray[Any] | None = None,
        removed: NDArray[np.bool_] = _NO_FACTS,
        *,
        ledgers: Ledgers = Ledgers.SHARES,
    ) -> None:
        dtype = np.dtype(problem.config.precision)
        self.problem, self.removed = problem, removed
        self.timeline = Timeline(problem.config, len(problem.facts), problem.n_directions, removed)
        self.rule, self.draw = problem.rule, problem.draw
        self.tables = problem.tables(ledgers)
        self.trace = np.zeros((0, problem.trace_width), dtype) if trace is None else trace
        self.epoch, self.position = 0, 0
        self.count = np.zeros(1, np.int64)
        self.meter = np.zeros(len(METER) if ledgers else ENTITY_NORM)
        scratch = allocate_scratch(self.rule, self.draw, self.tables, problem.trace_width, dtype)
        used = problem.targets if problem.config.loss == "squared" else None
        targets = np.zeros(0, dtype) if used is None else used.astype(dtype)
        self._work = Work(*self.tables, self.rule, self.draw, scratch, targets)
        model = problem.model
        self._model = (
            row_function(model.query, 3, dtype.name),
            row_function(model.query_vjp, 5, dtype.name),
        )
        self._enter_block(0)

    def _enter_block(self, count: int) -> None:
        start = self.position // self.timeline.block_size * self.timeline.block_size
        self._block_start = start
        self._block = self.timeline.block(self.epoch, start, count)

    @property
    def epoch_ended(self) -> bool:
        return self.position >= len(self.problem.facts)

    def advance(self, n_facts: int) -> int:
        """Train on at most `n_facts` more facts, up to the end of the block; return their number.

        Only whole batches are trained on, so the number of facts per call never changes the result.
        """
        if self.epoch_ended:
            self.epoch, self.position = self.epoch + 1, 0
        start = self.position - self._block_start
        if self.position == 0 or start == self.timeline.block_size:
            self._enter_block(int(self.count[0]))
            start = 0
        batch = self.rule.batch_size
        stop = min(start + max(n_facts // batch, 1) * batch, len(self._block.order))
        self._run(start, stop)
        self.position = self._block_start + stop
        return stop - start

    def warm_up(self) -> None:
        """Compile or load the kernels without training."""
        self._run(0, 0)

    def _run(self, start: int, stop: int) -> None:
        trace = self.trace.view(np.uint16) if self.trace.dtype == np.float16 else self.trace
        run_steps(
            self._model,
            self.problem.facts,
            self.removed,
            self._work,
            self._block,
            trace,
            (self.count, self.meter),
            (start, stop),
        )

    def read(self) -> tuple[RowTable, RowTable]:
        """The up-to-date tables: themselves, or copies if rows have pending drift.

        Reading makes copies, so it never changes what training does next.
        """
        if not self.rule.deferred:
            return self.tables
        rule, count = self.rule, int(self.count[0])
        entities, relations = (
            RowTable(*(array.copy() for array in table)) for table in self.tables
        )
        share = self._work.scratch.share
        for table, width, constrained in (
            (entities, rule.entity_width, rule.constrained),
            (relations, rule.relation_width, rule.constrained_relations),
        ):
            read_rows(table, share[:width], constrained, rule, self._block, count)
        return entities, relations

    def parameters(self) -> Parameters:
        """Contiguous copies of the current rows."""
        entities, relations = self.read()
        return Parameters(
            np.array(entities.state[:, : self.rule.entity_width], order="C"),
            np.array(relations.state[:, : self.rule.relation_width], order="C"),
        )

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything that `restore` needs except the trace, as live arrays, not copies."""
        arrays = {"count": self.count, "meter": self.meter}
        clock = [self.epoch, self.position, self._block.first_count]
        arrays["clock"] = np.array(clock, np.int64)
        for name, table in zip(("entities", "relations"), self.tables, strict=True):
            arrays |= {f"{name}.{field}": getattr(table, field) for field in table._fields}
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot, in place."""
        mine = self.snapshot()
        check_snapshot(mine, arrays)
        for name in arrays.keys() - {"clock"}:
            mine[name][...] = arrays[name]
        self.epoch, self.position, first_count = (int(n) for n in arrays["clock"])
        # At the end of a block, `advance` enters the next one; this one is only for reading.
        if self.position:
            start = (self.position - 1) // self.timeline.block_size * self.timeline.block_size
            self._block_start = start
            self._block = self.timeline.block(self.epoch, start, first_count)
