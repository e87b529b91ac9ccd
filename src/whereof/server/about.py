"""The runs that are served, and what is known of each."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from whereof.present.html import Site
from whereof.present.pages.run import run_page
from whereof.run.folder import RunInfo
from whereof.server.dependencies import FoundRun
from whereof.server.responses import document, errors
from whereof.server.runs import ServedRuns

router = APIRouter()


class RunEntry(BaseModel):
    """A run that is served."""

    id: str
    summary: dict[str, Any]
    """What `whereof train --json` prints."""


async def find_runs(request: Request) -> ServedRuns:
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


@router.get("/runs/{run}/about", response_class=HTMLResponse, include_in_schema=False)
def show_run(request: Request, run: FoundRun) -> str:
    """The page about a run: metrics, curves, reliability and evaluations."""
    stored = run.evaluations()
    name = request.path_params["run"]
    site = Site(name, name, "about")
    return run_page(site, run.about, stored.found, stored.notes)


@router.get("/api/runs/{run}", response_model=RunInfo, responses=errors(404, 422))
def describe_run(run: FoundRun) -> Response:
    """What `whereof info --json` prints."""
    return document(run.info())
