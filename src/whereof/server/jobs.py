"""Jobs: start, follow and cancel long work."""

import asyncio
from collections.abc import AsyncIterable
from functools import partial
from typing import Any, Literal

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel

from whereof.server.dependencies import Client, FoundJob, FoundRun, Jobs, RunId
from whereof.server.queue import BackgroundJob, JobProgress, JobQueue, State, TooManyJobs
from whereof.server.responses import document, errors
from whereof.server.tasks import Task

router = APIRouter()
_LOOK_SECONDS = 0.05
"""Time between two looks at a job whose events are streamed."""


class JobDocument(BaseModel):
    """A job without its result."""

    id: str
    run: str
    kind: Literal["explain", "verify", "smallest", "evaluate"]
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


def describe(jobs: JobQueue, job: BackgroundJob) -> dict[str, Any]:
    """The job as a document."""
    return {
        "id": job.id,
        "run": job.run,
        "kind": job.kind,
        "options": job.options,
        "created": job.created,
        "state": job.state,
        "position": jobs.position(job),
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
    asked = task.model_dump(exclude_unset=True, exclude_none=True, exclude={"kind"})
    job = BackgroundJob(name, task.kind, asked, long=task.kind == "evaluate")
    try:
        job = jobs.add(job, client, partial(task.work, run))
    except TooManyJobs as error:
        raise HTTPException(429, str(error)) from None
    found = document(describe(jobs, job), 202)
    found.headers["location"] = f"/api/jobs/{job.id}"
    return found


@router.get("/api/jobs", response_model=list[JobDocument])
def list_jobs(jobs: Jobs) -> Response:
    """All jobs that the server knows, the latest first."""
    return document([describe(jobs, job) for job in jobs])


@router.get("/api/jobs/{job}", response_model=JobResult, responses=errors(404, 422))
def show_job(job: FoundJob, jobs: Jobs) -> Response:
    """A job with its result."""
    about = describe(jobs, job)
    return document(about | {"result": None if job.found is None else job.found.to_dict()})


@router.delete("/api/jobs/{job}", response_model=JobDocument, responses=errors(404, 409, 422))
def cancel_job(job: FoundJob, jobs: Jobs, client: Client) -> Response:
    """Cancel a job. If other clients wait for the same job, it goes on for them."""
    if not jobs.cancel(job, client):
        raise HTTPException(409, "another client started this job; only that client can cancel it")
    return document(describe(jobs, job))


@router.get(
    "/api/jobs/{job}/events", response_class=EventSourceResponse, responses=errors(404, 422)
)
async def follow_job(job: FoundJob, jobs: Jobs) -> AsyncIterable[ServerSentEvent]:
    """Server-sent events: the current `state` first, then `progress` and `note`, then the end.

    The last event is `done`, `failed` or `cancelled`, with the job. Then close the stream.
    """
    seen, n_notes = None, job.n_notes
    yield ServerSentEvent(event="state", data=describe(jobs, job))
    while not job.over and not jobs.closed:
        now = (job.state, job.progress, jobs.position(job))
        if now != seen and seen is not None:
            about = describe(jobs, job)
            yield ServerSentEvent(event="state" if now[0] != seen[0] else "progress", data=about)
        seen = now
        while n_notes < job.n_notes:
            kept = [*job.notes]
            text = kept[max(n_notes - job.n_notes, -len(kept))]
            yield ServerSentEvent(event="note", data={"text": text})
            n_notes += 1
        await asyncio.sleep(_LOOK_SECONDS)
    if job.over:
        yield ServerSentEvent(event=job.state, data=describe(jobs, job))
