"""The training loop: epochs, validation, the best epoch, checkpoints, early stopping."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import announced
from whereof.errors import Diverged, Interrupted
from whereof.events import Compiling, Events, Note, TrainingAdvanced, Validated
from whereof.memory import in_order, release_memory
from whereof.training._trace import bookkeeping
from whereof.training.problem import Problem
from whereof.training.results import (
    FEW_CASES,
    BestEpoch,
    Parameters,
    Progress,
    RunStore,
    Validation,
)
from whereof.training.step import FACTS, LOSS, METER
from whereof.training.trainer import Trainer, Training
from whereof.types import OBJECT, SUBJECT

_ADVANCE_SECONDS = 0.2
_CHECKPOINT_SHARE = 20
"""Checkpoints take at most 1/20 of the time."""

_CLOSING_SHARE = 0.5
"""Of the time budget: at most this much is left for what comes after training."""
_BYTES_PER_SECOND = 5e8
"""How fast a trace is written, until it is measured."""

_SMOOTHED = 5
"""With few cases, the best epoch is the one with the best mean over this number of validations."""

_LARGE_INIT = 1.0
"""Initial values above this are the likely cause of a divergence."""

Validate = Callable[[Parameters], Validation]
MakeTrainer = Callable[[Problem, NDArray[Any] | None], Training]


def fit(
    problem: Problem,
    store: RunStore,
    validate: Validate | None,
    events: Events,
    checkpoint_seconds: float,
    make_trainer: MakeTrainer = Trainer,
    seconds_before: float = 0.0,
    before: Progress | None = None,
) -> Progress:
    """Train to the end, from the start or from the store's checkpoint.

    `seconds_before` counts towards the time budget: what reading the data took. `before`: the
    progress of earlier phases, if the trainer starts after them.
    """
    with announced(partial(events.emit, Compiling())):
        trace = None
        if problem.config.trace:
            dtype = np.dtype(problem.config.trace_dtype)
            trace = store.allocate_trace((len(problem.facts), problem.trace_width), dtype)
        trainer, progress = make_trainer(problem, trace), before or Progress()
        trainer.warm_up()
        release_memory()
        saved = store.load_checkpoint(trace, events)
        if saved is not None:
            trainer.restore(saved[0])
            progress = Progress.from_dict(saved[1])
            n_done = problem.calendar.before(trainer.epoch) + trainer.position
            share = n_done / problem.calendar.before(problem.config.epochs)
            events.emit(Note(f"resumed at {share:.0%}"))
        progress.elapsed += seconds_before
        _Fit(trainer, progress, store, validate, events, checkpoint_seconds).run()
    return progress


@dataclass
class _Fit:
    """One call of `fit`."""

    trainer: Training
    progress: Progress
    store: RunStore
    validate: Validate | None
    events: Events
    checkpoint_seconds: float

    def __post_init__(self) -> None:
        self.config, self.calendar = self.trainer.problem.config, self.trainer.problem.calendar
        self.total = self.calendar.before(self.config.epochs)
        self._facts_at_once = 1000
        self._budget = float(self.config.time_budget or math.inf)
        self._keep_seconds = self.trainer.trace.nbytes / _BYTES_PER_SECOND
        self._looked = time.monotonic()
        self._start, self._first = self.progress.elapsed, self._done()
        self._checkpoint_due = self._looked + self.checkpoint_seconds

    def run(self) -> None:
        while not self._finished():
            self._advance()
            last = self._out_of_time()
            if self.trainer.epoch_ended or last:
                self._end_epoch(last=last)
            if last or self._out_of_time():
                self.progress.stopped = "time"
            if self.events.should_stop():
                self._checkpoint()
                raise Interrupted("training was interrupted")
            if time.monotonic() > self._checkpoint_due:
                self._checkpoint()
        if not self.progress.best_epoch:
            self._keep_best(self.trainer.epoch + 1)
        if self.progress.kept < self.config.keep_checkpoints:
            self._keep_checkpoint()  # training stopped early: it ended here
        self._elapsed()

    def _finished(self) -> bool:
        progress, config = self.progress, self.config
        if progress.stopped:
            return True
        waited = len(progress.history) - progress.best_epoch
        tired = config.patience and waited >= config.patience * config.validate_every
        if len(progress.history) == config.epochs:
            progress.stopped = "epochs"
        elif tired and progress.best_epoch and self.trainer.epoch_ended:
            progress.stopped = "patience"
        return bool(progress.stopped)

    def _out_of_time(self) -> bool:
        """Whether the time budget leaves just enough to validate, to write and for metrics."""
        validation = self.progress.validation_seconds
        closing = 2 * (self._keep_seconds + validation)  # to write and check; valid and test facts
        return self._elapsed() + min(closing, self._budget * _CLOSING_SHARE) >= self._budget

    def _elapsed(self) -> float:
        """Seconds since training began, all sessions together."""
        now = time.monotonic()
        self.progress.elapsed += now - self._looked
        self._looked = now
        return self.progress.elapsed

    def _advance(self) -> None:
        """Train for about `_ADVANCE_SECONDS`, at most up to the next parameters to keep."""
        before = time.perf_counter()
        n = self.trainer.advance(min(self._facts_at_once, self._until_kept()))
        took = time.perf_counter() - before
        self.progress.seconds += took
        self.progress.facts, self.progress.updates = self._done(), int(self.trainer.count[0])
        self._facts_at_once = max(
            1, min(int(n * _ADVANCE_SECONDS / max(took, 1e-9)), 4 * self._facts_at_once)
        )
        self._tell()
        while self.progress.kept < self.config.keep_checkpoints and self._until_kept() <= 0:
            self._keep_checkpoint()

    def _tell(self) -> None:
        """Report progress; training ends with the last epoch or the time budget."""
        loss, done, elapsed = self._mean_loss(), self._done(), self._elapsed()
        self._expect(math.isfinite(loss), f"the loss is {loss}", self.trainer.diverged_at)
        n_new = done - self._first
        rate = n_new / max(elapsed - self._start, 1e-9)
        left = min((self.total - done) / rate, max(self._budget - elapsed, 0.0))
        self.events.emit(
            TrainingAdvanced(
                n_done=done,
                n_total=self.total,
                epoch=self.trainer.epoch + 1,
                n_epochs=self.config.epochs,
                loss=loss,
                share=max(done / self.total, elapsed / self._budget),
                facts_per_second=rate,
                seconds_left=left,
                may_stop_early=bool(self.config.patience),
            )
        )

    def _expect(
        self, finite: bool, otherwise: str, find: Callable[[], int | None] = lambda: None
    ) -> None:
        """Stop training whose numbers are not finite; find: looks for the fact that made them."""
        if finite:
            return
        config, n_updates = self.config, int(self.trainer.count[0])
        place = f"by update {n_updates:,}, most of all in the rows of fact {self._largest()}"
        if (fact := find()) is not None:
            n_scored = int(self.trainer.meter[FACTS])
            place = f"at fact {fact}, step {n_scored + 1:,} of the epoch"
        remedy = f"choose a rate below {config.rate:g}"
        if config.init > _LARGE_INIT:
            remedy = f"choose an init below {config.init:g}, such as 0.1"
        raise Diverged(
            f"training diverged in epoch {self.trainer.epoch + 1} {place} ({otherwise}); "
            f"{remedy}, or a constraint such as max:2"
        )

    def _largest(self) -> int:
        """The first fact of the entity whose row is not finite, or the largest."""
        rows = self.trainer.parameters().entity_rows
        sizes = np.abs(rows).max(axis=1)
        entity = np.where(np.isfinite(sizes), sizes, np.inf).argmax()
        return int(
            (self.trainer.problem.facts[:, [SUBJECT, OBJECT]] == entity).any(axis=1).argmax()
        )

    def _parameters(self) -> Parameters:
        rows = self.trainer.parameters()
        finite = np.isfinite(rows.entity_rows).all() and np.isfinite(rows.relation_rows).all()
        self._expect(bool(finite), "parameters are no longer finite")
        return rows

    def _done(self) -> int:
        """Number of facts trained on so far, over all epochs."""
        return self.calendar.before(self.trainer.epoch) + self.trainer.position

    def _until_kept(self) -> int:
        """Facts until the next parameters to keep; all facts if there are none."""
        wanted = self.config.keep_checkpoints
        if self.progress.kept >= wanted:
            return self.total
        return -(-self.total * (self.progress.kept + 1) // wanted) - self._done()

    def _mean_loss(self) -> float:
        """Mean loss of the current epoch."""
        meter = self.trainer.meter
        return float(meter[LOSS] / max(meter[FACTS], 1))

    def _end_epoch(self, *, last: bool) -> None:
        epoch, loss = self.trainer.epoch + 1, self._mean_loss()
        self.trainer.meter[[LOSS, FACTS]] = 0
        entry: dict[str, Any] = {"epoch": epoch, "loss": loss, "facts": self._done()}
        due = self.config.validate_every and epoch % self.config.validate_every == 0
        # The last epoch in the time budget is validated if there is time, or if none was before.
        if last and (self.progress.elapsed < self._budget or not self.progress.best_epoch):
            due = True
        if self.validate and (due or epoch == self.config.epochs):
            before = time.monotonic()
            found = self.validate(self._parameters())
            self._expect(math.isfinite(found.gain), f"the {found.metric} is {found.value}")
            self.progress.validation_seconds = time.monotonic() - before
            entry[found.metric] = found.value
            gain, is_whole = self._smoothed(found)
            best = not is_whole or self.progress.best_gain is None or gain > self.progress.best_gain
            if best:
                self.progress.best_gain = gain
                self._keep_best(epoch)
            validated = Validated(epoch, self.config.epochs, found.metric, found.value, best)
            self.events.emit(validated)
        self.progress.history.append(entry)

    def _smoothed(self, found: Validation) -> tuple[float, bool]:
        """The gain, or its mean over the last validations, and whether there were enough of them.

        With few cases, a single validation that is better than all others is mostly chance.
        """
        n_wanted = 1 if found.n_cases >= FEW_CASES else _SMOOTHED
        values = [it[found.metric] for it in self.progress.history if found.metric in it]
        values = [*values, found.value][-n_wanted:]
        return math.copysign(sum(values) / len(values), found.gain), len(values) == n_wanted

    def _keep_best(self, epoch: int) -> None:
        self.progress.best_epoch, self.progress.best_facts = epoch, self._done()
        trainer = self.trainer
        trainer.fold_trace()
        norms = dict(zip(METER[2:], map(float, trainer.meter[2:]), strict=True))
        trace = trainer.trace if self.config.trace else None
        before = time.monotonic()
        with np.errstate(over="ignore", invalid="ignore"), in_order(trainer.trace):
            kept = self._parameters(), epoch, norms, bookkeeping(trainer)
        best = BestEpoch(*kept, _lasting(trainer.snapshot()))
        for name, value in {**norms, **asdict(best.bookkeeping)}.items():
            self._expect(math.isfinite(value), f"{name.replace('_', ' ')} is {value}")
        with in_order(trainer.trace):
            self.store.keep_best(best, trace)
        self._keep_seconds = time.monotonic() - before

    def _keep_checkpoint(self) -> None:
        self.progress.kept += 1
        epoch, updates = self.trainer.epoch + 1, int(self.trainer.count[0])
        about = {"epoch": epoch, "facts": self._done(), "updates": updates}
        self.store.keep_checkpoint(self.progress.kept, self._parameters(), about)

    def _checkpoint(self) -> None:
        before = time.monotonic()
        trace = self.trainer.trace if self.config.trace else None
        with in_order(self.trainer.trace):
            self.store.save_checkpoint(self.trainer.snapshot(), asdict(self.progress), trace)
        took = time.monotonic() - before
        self._checkpoint_due = before + max(self.checkpoint_seconds, _CHECKPOINT_SHARE * took)


def _lasting(state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The part of a snapshot that a later phase goes on from."""
    left_out = ("clock", "entities.retained", "relations.retained")
    return {name: array for name, array in state.items() if name not in left_out and array.size}
