"""Jobs: long work in threads, with progress, in turns, and cancelled on request.

The kernels run without the GIL, so that a thread is enough: pages stay responsive.
"""

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, Literal, Self

from whereof import events
from whereof._jit import announced
from whereof.errors import Interrupted, WhereofError
from whereof.server import limits
from whereof.units import count, plan_text, sweeps_text

State = Literal["waiting", "running", "done", "failed", "cancelled"]
Work = Callable[[events.Events], Any]
_END_SECONDS = 5.0
"""How long the server waits at its end for jobs that it has cancelled."""


@dataclass(frozen=True)
class JobProgress:
    """How far a job is."""

    text: str
    """Such as `3 of 11 retrainings`."""
    share: float | None = None
    """Between 0 and 1; None if it is not known."""


@dataclass(eq=False)
class BackgroundJob:
    """Work that a client asked for. The thread that does it changes these fields."""

    run: str
    """The id of the run."""
    kind: str
    options: dict[str, Any]
    """What was asked for."""
    long: bool = False
    """Whether it may take minutes: of these, only one runs at a time."""
    unasked: bool = False
    """Whether a page started it by itself: jobs that readers asked for come first."""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    clients: set[str] = field(default_factory=set)
    """Who waits for it."""
    state: State = "waiting"
    progress: JobProgress | None = None
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=limits.NOTES))
    n_notes: int = 0
    """All notes so far, also those that are no longer kept."""
    found: Any = None
    """The result of a job that is done: an explanation, a verdict, ..."""
    message: str | None = None
    """Why it failed."""
    started: float | None = None
    finished: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "running")

    @property
    def seconds(self) -> float | None:
        """How long it has been running, or ran."""
        if self.started is None:
            return None
        return (self.finished or time.monotonic()) - self.started

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.n_notes += 1


class JobEvents(events.Events):
    """Turns events into the progress of a job."""

    def __init__(self, job: BackgroundJob, changed: Callable[[], None] = lambda: None) -> None:
        """changed: called after every change of the job."""
        self._job, self._changed = job, changed
        self._end = time.monotonic() + limits.JOB_SECONDS
        self._rounds = events.Rounds()

    @property
    def out_of_time(self) -> bool:
        return time.monotonic() > self._end

    def should_stop(self) -> bool:
        return self._job.stop.is_set() or self.out_of_time

    def emit(self, event: events.Event) -> None:
        match event:
            case events.Note(text):
                self._note(text)
            case events.Compiling():
                self._show("compiling kernels: this happens once, and takes seconds to minutes")
            case events.TrainingAdvanced():
                epochs = f"epoch {event.epoch} of {event.n_epochs}"
                self._show(f"training, {epochs}", event.share)
            case events.Foreseen():
                self._rounds.add(event)
            case events.Planned():
                whole = self._rounds.add(event)
                plan = whole or event
                text = plan_text(plan.n_retrainings, plan.seconds, plan.at_once, plan.n_known)
                share = self._rounds.share(0, event.n_retrainings)
                text = self._rounds.retrained_text or text if whole is None else f"at most {text}"
                self._show(text, share)
            case events.SweepsPlanned(n_sweeps, duration):
                self._show(sweeps_text(n_sweeps, duration))
            case events.Advanced(n_done, n_total, noun):
                share = self._rounds.share(n_done, n_total, noun)
                text = self._rounds.retrained_text if noun == "retrainings" else ""
                things, _, stage = noun.partition(", ")
                if things in ("facts", "ratings"):  # of all epochs: more than the run has
                    text = stage
                self._show(text or f"{n_done:,} of {n_total:,} {noun}", share)
            case events.StageStarted(number, n_stages, title):
                self._note(f"{number} of {n_stages}: {title}")

    def _show(self, text: str, share: float | None = None) -> None:
        self._job.progress = JobProgress(text, share)
        self._changed()

    def _note(self, text: str) -> None:
        self._job.note(text)
        self._changed()


class JobQueue:
    """The jobs of all clients. Clients take turns, and a few jobs run at a time.

    They run inside of a `with` block.
    """

    def __init__(
        self, at_once: int = limits.JOBS_AT_ONCE, kept: Iterable[BackgroundJob] = ()
    ) -> None:
        """kept: jobs of an earlier server, which are done."""
        latest = sorted(kept, key=lambda job: job.created)[-limits.JOBS_KEPT :]
        self._jobs: dict[str, BackgroundJob] = {job.id: job for job in latest}
        self._work: dict[str, Work] = {}
        self._turns: list[str] = []
        """Clients that had a turn and wait for another one; the first one is next."""
        self._changed = threading.Condition()
        self._watchers = set[Callable[[], object]]()
        self.closed = False
        names = (f"job-{number}" for number in range(at_once))
        self._threads = [threading.Thread(target=self._serve, name=n, daemon=True) for n in names]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel all jobs, and wait for them a little."""
        self.stop()
        end = time.monotonic() + _END_SECONDS
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0))

    def __iter__(self) -> Iterator[BackgroundJob]:
        """All jobs that are known, the latest first."""
        with self._changed:
            return iter([*self._jobs.values()][::-1])

    def get(self, job_id: str) -> BackgroundJob | None:
        return self._jobs.get(job_id)

    def add(self, job: BackgroundJob, client: str, work: Work) -> BackgroundJob:
        """Start a job when it is its turn. If the same one is under way, the client joins it."""
        with self._changed:
            if self.closed:
                raise TooManyJobs("the server is stopping")
            current = [each for each in self._jobs.values() if not each.over]
            for other in current:
                asked = (other.run, other.kind, other.options)
                if asked == (job.run, job.kind, job.options) and not other.stop.is_set():
                    other.clients.add(client)
                    other.unasked &= job.unasked
                    self._notify()
                    return other
            if job.unasked:  # the reader has gone on to another page
                for other in current:
                    if other.unasked and other.state == "waiting" and other.clients == {client}:
                        self._stop(other)
                current = [other for other in current if not other.over]
            mine = sum(client in other.clients for other in current)
            if mine >= limits.JOBS_OF_A_CLIENT:
                raise TooManyJobs(
                    f"you have {count(mine, 'job')} under way; wait for one, or cancel one"
                )
            if sum(other.state == "waiting" for other in current) >= limits.JOBS_WAITING:
                raise TooManyJobs("too many jobs are waiting; try again later")
            job.clients.add(client)
            self._jobs[job.id], self._work[job.id] = job, work
            self._forget()
            self._notify()
        return job

    def cancel(self, job: BackgroundJob, client: str) -> bool:
        """Cancel a job for a client; it goes on while another client waits for it.

        False if the client does not wait for it.
        """
        with self._changed:
            if job.over:
                return True
            if client not in job.clients:
                return False
            if len(job.clients) == 1:
                self._stop(job)
            else:
                job.clients.discard(client)
            self._notify()
            return True

    def positions(self) -> dict[str, int]:
        """The places of waiting jobs among all that wait, from 1, by the ids of jobs."""
        with self._changed:
            return {job.id: place for place, job in enumerate(self._order(), 1)}

    @contextmanager
    def watched(self, changed: Callable[[], object]) -> Iterator[None]:
        """Call a function after every change of a job, from any thread."""
        self._watchers.add(changed)
        try:
            yield
        finally:
            self._watchers.discard(changed)

    def stop(self) -> None:
        """Cancel all jobs, and take no more."""
        with self._changed:
            self.closed = True
            for job in self._jobs.values():
                if not job.over:
                    self._stop(job)
            self._notify()

    def _stop(self, job: BackgroundJob) -> None:
        job.stop.set()
        if job.state == "waiting":
            self._finish(job, "cancelled")

    def _order(self) -> list[BackgroundJob]:
        """Waiting jobs in the order in which they run: one of each client, round after round."""
        waiting = [job for job in self._jobs.values() if job.state == "waiting"]
        waiting.sort(key=lambda job: job.unasked)
        order, clients = list[BackgroundJob](), self._waiting_clients()
        while len(order) < len(waiting):
            for client in clients:
                mine = (job for job in waiting if client in job.clients and job not in order)
                order += islice(mine, 1)
        return order

    def _waiting_clients(self) -> list[str]:
        """Clients with waiting jobs, in the order of their turns; new ones are last."""
        waiting = (job for job in self._jobs.values() if job.state == "waiting")
        clients = dict.fromkeys(client for job in waiting for client in sorted(job.clients))
        first = [client for client in self._turns if client in clients]
        return [*first, *(client for client in clients if client not in first)]

    def _next(self) -> BackgroundJob | None:
        """The next job that may start."""
        busy = any(job.long and job.state == "running" for job in self._jobs.values())
        return next((job for job in self._order() if not (job.long and busy)), None)

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self.closed and (job := self._next()) is None:
                    self._changed.wait()
                if self.closed:
                    return
                assert job is not None
                job.state, job.started = "running", time.monotonic()
                work = self._work[job.id]
                clients = self._waiting_clients()  # those just served go to the end
                self._turns = sorted(clients, key=lambda client: client in job.clients)
                self._notify()
            self._run(job, work)

    def _notify(self) -> None:
        """Wake the threads that look for a job, and tell those who watch."""
        with self._changed:
            self._changed.notify_all()
        self._tell()

    def _tell(self) -> None:
        for changed in tuple(self._watchers):
            changed()

    def _run(self, job: BackgroundJob, work: Work) -> None:
        listener = JobEvents(job, self._tell)
        state: State = "failed"
        try:
            with announced(partial(listener.emit, events.Compiling())):
                job.found, state = work(listener), "done"
        except Interrupted as error:
            if job.stop.is_set():
                state = "cancelled"
            else:
                minutes = limits.JOB_SECONDS // 60
                job.message = f"stopped after {minutes} minutes; start it again to continue"
                job.message = job.message if listener.out_of_time else str(error)
        except WhereofError as error:
            job.message = str(error)
        except Exception:
            logging.getLogger(__name__).exception("the job %s %s failed", job.kind, job.options)
            job.message = "the server failed on this job; its log says why"
        with self._changed:
            self._finish(job, state)
            self._notify()

    def _finish(self, job: BackgroundJob, state: State) -> None:
        job.finished = time.monotonic()
        job.state = state
        self._work.pop(job.id, None)

    def _forget(self) -> None:
        over = [job.id for job in self._jobs.values() if job.over]
        for job_id in over[: -limits.JOBS_KEPT]:
            del self._jobs[job_id]


class TooManyJobs(WhereofError):
    """A client has too many jobs, or too many jobs are waiting."""
