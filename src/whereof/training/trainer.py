"""A training run in memory: tables, trace and clock, advanced in steps of many facts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import row_function
from whereof.errors import WhereofError
from whereof.memory import in_order, prefetch
from whereof.training._forget import fold
from whereof.training.config import Phase
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.step import ENTITY_NORM, FACTS, LOSS, METER, read_rows, run_steps
from whereof.training.tables import Ledgers, RowTable, allocate_work
from whereof.types import Numbers


class Training(ABC):
    """A training run on some device."""

    def __init__(self, problem: Problem, trace: NDArray[Any] | None, n_meters: int) -> None:
        self.problem = problem
        self.epoch = 0
        self.position = 0
        """Number of facts trained on in this epoch."""
        self.count = np.zeros(1, np.int64)
        """(1,) number of updates so far."""
        self.meter = np.zeros(n_meters)
        """See METER."""
        none = np.zeros((0, problem.trace_width), problem.config.precision)
        self._trace = none if trace is None else trace

    @property
    def trace(self) -> NDArray[Any]:
        """The current trace, in the array that was passed for it."""
        return self._trace

    @property
    def epoch_ended(self) -> bool:
        return self.position >= self.problem.calendar.size(self.epoch)

    def fold_trace(self) -> None:  # noqa: B027 - only credit=forget has something to fold
        """Make the trace that of this moment: with credit=forget it is, when an epoch ends."""

    def diverged_at(self) -> int | None:
        """The fact with the first loss of this epoch that is not finite, if it is known."""
        return None

    def warm_up(self) -> None:  # noqa: B027 - nothing to do where kernels are compiled already
        """Compile or load the kernels without training."""

    @abstractmethod
    def advance(self, n_facts: int) -> int:
        """Train on at most `n_facts` more facts of this or the next epoch; return their number."""

    @abstractmethod
    def read(self) -> tuple[RowTable, RowTable]:
        """The up-to-date tables. Reading never changes what training does next."""

    def parameters(self) -> Parameters:
        """Contiguous copies of the current rows."""
        entities, relations = (table.state for table in self.read())
        widths = self.problem.widths
        return Parameters(
            np.array(entities[:, : widths.entity], order="C"),
            np.array(relations[:, : widths.relation], order="C"),
        )

    @abstractmethod
    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Everything that `restore` needs except the trace; may be live arrays, not copies."""

    def _snapshot(
        self, tables: tuple[RowTable, RowTable], first_count: int
    ) -> dict[str, NDArray[Any]]:
        clock = np.array([self.epoch, self.position, first_count], np.int64)
        arrays = {"count": self.count, "meter": self.meter, "clock": clock}
        for name, table in zip(("entities", "relations"), tables, strict=True):
            arrays |= {f"{name}.{field}": getattr(table, field) for field in table._fields}
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from a snapshot, in place; refuse one of training with other settings."""
        mine, given = (
            {(name, it.shape) for name, it in each.items()} for each in (self.snapshot(), arrays)
        )
        if different := sorted({name for name, _ in mine ^ given}):
            raise WhereofError(
                f"the checkpoint belongs to another kind of training (see {', '.join(different)}); "
                "train the run again"
            )
        self.count[:], self.meter[:] = arrays["count"], arrays["meter"]
        self.epoch, self.position = (int(n) for n in arrays["clock"][:2])


class Trainer(Training):
    """Trains a problem on the CPU, with or without a trace and by default with its weights."""

    def __init__(
        self,
        problem: Problem,
        trace: NDArray[Any] | None = None,
        weights: Numbers | None = None,
        *,
        ledgers: Ledgers = Ledgers.SHARES,
    ) -> None:
        super().__init__(problem, trace, len(METER) if ledgers else ENTITY_NORM)
        weights = problem.weights if weights is None else weights
        self.timeline, self.rule = problem.timeline(weights), problem.rule
        self.tables = problem.tables(ledgers, traced=trace is not None)
        self._work = allocate_work(problem, self.tables, weights)
        model, dtype = problem.model, problem.config.precision
        self._model = row_function(model.query, 3, dtype), row_function(model.query_vjp, 5, dtype)
        self._enter_block(0, 0)

    def _enter_block(self, position: int, count: int) -> None:
        size = self.timeline.block_size
        self._block_start = position // size * size
        self._block = self.timeline.block(self.epoch, self._block_start, count)
        prefetch(self.trace, self._block.order)
        if self.problem.config.phases:
            self._work = self._work._replace(draw=self.problem.draw_in(self.epoch))

    def advance(self, n_facts: int) -> int:
        # Only whole batches of one block, so the number of facts per call never changes the result.
        if self.epoch_ended:
            self.epoch, self.position = self.epoch + 1, 0
        start = self.position - self._block_start
        if self.position == 0 or start == self.timeline.block_size:
            self._enter_block(self.position, int(self.count[0]))
            start = 0
        batch = self.rule.batch_size
        stop = min(start + max(n_facts // batch, 1) * batch, len(self._block.order))
        self._run(start, stop)
        self.position = self._block_start + stop
        if self.epoch_ended:
            self.fold_trace()
        return stop - start

    def fold_trace(self) -> None:
        entities, relations = (table.retained for table in self.tables)
        if len(entities):
            given = self.problem.facts, entities, relations, self.rule.n_directions
            with in_order(self.trace):
                fold(self._trace_bits, *given)
            entities[:], relations[:] = 1, 1

    def diverged_at(self) -> int | None:
        return self.timeline.fact_of_step(self.epoch, int(self.meter[FACTS]))

    def warm_up(self) -> None:
        self._run(0, 0)

    def go_on(self, arrays: Mapping[str, NDArray[Any]], before: Phase) -> None:
        """Start the phase after another one, from a snapshot of its end, in place.

        Rows of entities and relations that are new keep their initial values.
        """
        n_relations, n_then = self.problem.n_relation_rows, max(before.n_relations, 1)
        places = np.arange(n_then * self.rule.n_directions)
        places[n_then:] += n_relations // 2 - n_then  # inverse relations come after all others
        numbers = np.arange(before.n_entities)
        numbers[before.n_subjects :] += self.problem.n_later_users(before)  # items follow users
        rows = {"entities": numbers, "relations": places}
        for (name, its_rows), table in zip(rows.items(), self.tables, strict=True):
            for field in table._fields:
                array, own = arrays.get(f"{name}.{field}"), getattr(table, field)
                if array is not None and len(array) and len(own):
                    own[its_rows] = array
        self.count[:] = arrays["count"]
        self.meter[: len(arrays["meter"])] = arrays["meter"][: len(self.meter)]
        self.meter[[LOSS, FACTS]] = 0
        n_before = sum(phase.n_trained for phase in self.problem.calendar.phases[:-1])
        self.epoch, self.position = self.problem.calendar.n_epochs(n_before), 0

    def _run(self, start: int, stop: int) -> None:
        clock = self.count, self.meter
        run_steps(self._model, self._work, self._block, self._trace_bits, clock, (start, stop))

    @property
    def _trace_bits(self) -> NDArray[Any]:
        """The trace for kernels, which take half-precision numbers as bits."""
        return self.trace.view(np.uint16) if self.trace.dtype == np.float16 else self.trace

    def read(self) -> tuple[RowTable, RowTable]:
        """The tables themselves, or up-to-date copies if rows have pending drift."""
        if not self.rule.deferred:
            return self.tables
        entities, relations = (
            side._replace(table=RowTable(*(array.copy() for array in side.table)))
            for side in (self._work.entities, self._work.relations)
        )
        for side in (entities, relations):
            read_rows(side, self._work, self._block, int(self.count[0]))
        return entities.table, relations.table

    def snapshot(self) -> dict[str, NDArray[Any]]:
        return self._snapshot(self.tables, self._block.first_count)

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().restore(arrays)
        mine = self.snapshot()
        for name in arrays.keys() - {"clock"}:
            mine[name][...] = arrays[name]
        # At the end of a block, `advance` enters the next one; this one is only for reading.
        if self.position:
            self._enter_block(self.position - 1, int(arrays["clock"][2]))
