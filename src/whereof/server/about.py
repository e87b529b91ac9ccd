"""The runs that are served, and what is known of each."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from whereof.run.folder import RunInfo
from whereof.server.dependencies import FoundRun
from whereof.server.responses import document, errors
from whereof.server.runs import ServedRuns

router = APIRouter()


class RunEntry(BaseModel):
    """A run that is served."""

    id: str
    summary: RunInfo
    """What `whereof train --json` prints."""


def find_runs(request: Request) -> ServedRuns:
    """The runs of this server."""
    found: ServedRuns = request.app.state.runs
    return found


AllRuns = Annotated[ServedRuns, Depends(find_runs)]


@router.get("/api/runs", response_model=list[RunEntry])
def list_runs(runs: AllRuns) -> Response:
    """All runs of this server."""
    entries: list[dict[str, Any]] = [
        {"id": name, "summary": run.summary()} for name, run in runs.items()
    ]
    return document(entries)


@router.get("/api/runs/{run}", response_model=RunInfo, responses=errors(404, 422))
def describe_run(run: FoundRun) -> Response:
    """What `whereof info --json` prints."""
    return document(run.info())
