"""What the routes share: the run and the job of an address, and the client.

The functions are async because they take no time. Other functions wait for a free thread.
"""

from typing import Annotated

from fastapi import Depends, HTTPException, Path, Query, Request

from whereof.api.run import Run
from whereof.server import limits
from whereof.server.queue import BackgroundJob, JobQueue
from whereof.server.runs import ServedRuns
from whereof.server.security import client_of

RunId = Annotated[
    str, Path(alias="run", description="The id of a run; see /api/runs", max_length=300)
]
Name = Annotated[str, Query(max_length=limits.NAME_LETTERS)]


async def find_runs(request: Request) -> ServedRuns:
    """The runs of this server."""
    found: ServedRuns = request.app.state.runs
    return found


async def find_run(request: Request, run: RunId) -> Run:
    """The run with an id. No path ever comes from a request."""
    runs = request.app.state.runs
    if run not in runs:
        known = ", ".join(list(runs)[:10])
        raise HTTPException(404, f"there is no run {run!r}; choose from {known}")
    found: Run = runs[run]
    return found


async def find_queue(request: Request) -> JobQueue:
    """The jobs of this server."""
    found: JobQueue = request.app.state.jobs
    return found


AllRuns = Annotated[ServedRuns, Depends(find_runs)]
FoundRun = Annotated[Run, Depends(find_run)]
Jobs = Annotated[JobQueue, Depends(find_queue)]
Client = Annotated[str, Depends(client_of)]


async def find_job(jobs: Jobs, job: Annotated[str, Path(max_length=100)]) -> BackgroundJob:
    """The job with an id."""
    found = jobs.get(job)
    if found is None:
        raise HTTPException(404, "there is no such job; the server keeps only the latest ones")
    return found


FoundJob = Annotated[BackgroundJob, Depends(find_job)]
