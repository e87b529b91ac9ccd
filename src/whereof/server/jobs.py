"""Jobs: start, follow and cancel long work."""

import asyncio
from collections.abc import AsyncIterable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel

from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.evaluate.audit import Audit
from whereof.events import Events
from whereof.explain.explanation import Explanation
from whereof.present.audit import audit_file, audit_tables
from whereof.present.explanation import explanation_page
from whereof.present.files import facts_csv, tables_csv
from whereof.present.html import Site
from whereof.present.names import file_name
from whereof.present.pages.jobs import JobView, jobs_page
from whereof.present.smallest import smallest_page, smallest_tables
from whereof.present.verdict import verdict_page, verdict_tables
from whereof.retrain.smallest import Smallest
from whereof.retrain.verify import Verdict
from whereof.server.dependencies import (
    AllRuns,
    Client,
    FoundJob,
    FoundRun,
    Jobs,
    Name,
    RunId,
)
from whereof.server.kept import keep_audit
from whereof.server.queue import BackgroundJob, JobProgress, State, TooManyJobs
from whereof.server.requests import given_names
from whereof.server.responses import document, download, errors
from whereof.server.tasks import Task
from whereof.types import PLACES

router = APIRouter()
_LOOK_SECONDS = 0.1
"""Least time between two looks at a job whose events are streamed: people see no more."""


class JobDocument(BaseModel):
    """A job without its result."""

    id: str
    run: str
    kind: Literal["explain", "verify", "smallest", "evaluate", "audit"]
    options: dict[str, Any]
    created: str
    state: State
    position: int | None
    """The place of a waiting job in the queue, from 1."""
    progress: JobProgress | None
    notes: list[str]
    seconds: float | None
    """How long it has been running, or ran."""
    message: str | None
    """Why it failed."""


class JobResult(JobDocument):
    """A job, and what it found: the document that the command prints with `--json`."""

    result: dict[str, Any] | None


def describe(job: BackgroundJob, positions: Mapping[str, int]) -> dict[str, Any]:
    """The job as a document; positions: those of waiting jobs, by id."""
    return {
        "id": job.id,
        "run": job.run,
        "kind": job.kind,
        "options": job.options,
        "created": job.created,
        "state": job.state,
        "position": positions.get(job.id),
        "progress": None if job.progress is None else vars(job.progress),
        "notes": [*job.notes],
        "seconds": job.seconds,
        "message": job.message,
    }


@router.post(
    "/api/runs/{run}/jobs",
    status_code=202,
    response_model=JobDocument,
    responses=errors(400, 404, 422, 429),
)
def start_job(run: FoundRun, name: RunId, task: Task, jobs: Jobs, client: Client) -> Response:
    """Start a job. If the same job is already waiting or running, return that one."""
    others = {"kind", "unasked"}
    asked = task.model_dump(exclude_unset=True, exclude_none=True, exclude=others)
    unasked = bool(getattr(task, "unasked", False))
    job = BackgroundJob(name, task.kind, asked, long=task.is_long(run), unasked=unasked)
    try:
        job = jobs.add(job, client, partial(_do, task, run, job))
    except TooManyJobs as error:
        raise HTTPException(429, str(error)) from None
    found = document(describe(job, jobs.positions()), 202)
    found.headers["location"] = f"/api/jobs/{job.id}"
    return found


def _do(task: Task, run: Run, job: BackgroundJob, events: Events) -> Any:
    found = task.start(run, events)
    keep_audit(run, job, found, events)
    return found


@router.get("/api/jobs", response_model=list[JobDocument])
def list_jobs(jobs: Jobs, over: bool = True) -> Response:
    """All jobs that the server knows, the latest first; `over=false`: those not over yet."""
    positions = jobs.positions()
    return document([describe(job, positions) for job in jobs if over or not job.over])


@router.get("/api/jobs/{job}", response_model=JobResult, responses=errors(404, 422))
def show_job(job: FoundJob, jobs: Jobs) -> Response:
    """A job with its result."""
    about = describe(job, jobs.positions())
    return document(about | {"result": None if job.found is None else job.found.to_dict()})


_FILES: dict[tuple[str, type], Callable[[Any], str]] = {
    ("html", Verdict): verdict_page,
    ("html", Smallest): smallest_page,
    ("html", Explanation): explanation_page,
    ("html", Audit): audit_file,
    ("csv", Verdict): lambda found: tables_csv(verdict_tables(found)),
    ("csv", Smallest): lambda found: tables_csv(smallest_tables(found)),
    ("csv", Explanation): facts_csv,
    ("csv", Audit): lambda found: tables_csv(audit_tables(found)),
}
"""What writes a result as a file, by format."""


@router.get(
    "/api/jobs/{job}/result",
    responses=errors(404, 409, 422) | {200: {"content": {"text/csv": {}, "text/html": {}}}},
)
def download_result(job: FoundJob, format: Literal["json", "csv", "html"] = "json") -> Response:
    """What a job found, as a file: the document that the command prints, its tables, or a page."""
    write = _FILES.get((format, type(job.found)))
    if job.found is None:
        raise HTTPException(409, f"the job is {job.state}: it has no result")
    about = getattr(job.found, "prediction", None)
    name = f"{job.kind}.{format}" if about is None else file_name(job.kind, about, format)
    if format == "json":
        return document(job.found.to_dict(), name=name)
    if write is None:
        raise HTTPException(409, f"this result is not written as {format}; take the format json")
    return download(write(job.found), name, f"text/{format}; charset=utf-8")


@router.delete("/api/jobs/{job}", response_model=JobDocument, responses=errors(404, 409, 422))
def cancel_job(job: FoundJob, jobs: Jobs, client: Client) -> Response:
    """Cancel a job. If other clients wait for the same job, it goes on for them."""
    if not jobs.cancel(job, client):
        raise HTTPException(409, "another client started this job; only that client can cancel it")
    return document(describe(job, jobs.positions()))


@router.get(
    "/api/jobs/{job}/events",
    response_class=EventSourceResponse,
    responses=errors(404, 422, streams=True),
)
async def follow_job(job: FoundJob, jobs: Jobs) -> AsyncIterable[ServerSentEvent]:
    """Server-sent events: the current `state` first, then `progress` and `note`, then the end.

    The last event is `done`, `failed` or `cancelled`, with the job. Then close the stream.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    with jobs.watched(partial(_wake, loop, changed)):
        seen, n_notes = None, job.n_notes
        while True:
            changed.clear()
            positions, over = jobs.positions(), job.over
            now = (job.state, job.progress, positions.get(job.id))
            if seen is None or (now != seen and not over):
                kind = "progress" if seen is not None and now[0] == seen[0] else "state"
                yield ServerSentEvent(event=kind, data=describe(job, positions))
            seen = now
            while n_notes < job.n_notes:
                kept = [*job.notes]
                text = kept[max(n_notes - job.n_notes, -len(kept))]
                yield ServerSentEvent(event="note", data={"text": text})
                n_notes += 1
            if over:
                yield ServerSentEvent(event=job.state, data=describe(job, positions))
            if over or jobs.closed:
                return
            await asyncio.sleep(_LOOK_SECONDS)
            await changed.wait()


def _wake(loop: asyncio.AbstractEventLoop, changed: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the server has stopped
        loop.call_soon_threadsafe(changed.set)


@router.get("/jobs", response_class=HTMLResponse, include_in_schema=False)
def show_jobs(jobs: Jobs, runs: AllRuns, client: Client, run: Name = "") -> Response:
    """All jobs of the server, the latest first. run: whose menu the page has."""
    shown = [job_view(job, runs[job.run], client) for job in jobs]
    return HTMLResponse(jobs_page(Site(run if run in runs else "", "jobs"), shown))


def job_view(job: BackgroundJob, run: Run, client: str) -> JobView:
    """The job as pages show it."""
    return JobView(
        job.id,
        job.run,
        job.kind,
        job.state,
        job.options,
        text=job.message or ("" if job.progress is None else job.progress.text),
        share=None if job.progress is None else job.progress.share,
        seconds=job.seconds,
        result=job.found,
        labels=query_labels(run, job.options),
        mine=client in job.clients,
    )


def query_labels(run: Run, names: Mapping[str, Any]) -> dict[str, str | None]:
    """The labels of a query, if its names are known."""
    with suppress(WhereofError):
        places = (names.get(place) or "" for place in PLACES[3])
        subject, *others = given_names(run, *places)
        return run.find_labels(subject, *others)
    return {}
