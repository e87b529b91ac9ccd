"""The runs that are served, and what is known of each."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel

from whereof.present.html import Site
from whereof.present.pages.run import run_offer, run_page
from whereof.present.pages.runs import runs_page
from whereof.present.report import report_page
from whereof.run.folder import RunInfo
from whereof.server.dependencies import AllRuns, Client, FoundRun, Jobs, RunId
from whereof.server.jobs import job_view
from whereof.server.requests import run_prices
from whereof.server.responses import document, download, errors

router = APIRouter()


class RunEntry(BaseModel):
    """A run that is served."""

    id: str
    summary: dict[str, Any]
    """What `whereof train --json` prints."""


@router.get("/api/runs", response_model=list[RunEntry])
def list_runs(runs: AllRuns) -> Response:
    """All runs of this server."""
    entries: list[dict[str, Any]] = [
        {"id": name, "summary": run.summary()} for name, run in runs.items()
    ]
    return document(entries)


@router.get("/", response_class=HTMLResponse, include_in_schema=False)
def show_runs(runs: AllRuns) -> Response:
    """The runs; a single one opens at once."""
    if len(runs) == 1:
        return RedirectResponse(f"/runs/{next(iter(runs))}/ask", 307)
    return HTMLResponse(runs_page({name: run.info() for name, run in runs.items()}))


@router.get("/runs/{run}", response_class=HTMLResponse, include_in_schema=False)
def open_run(run_id: RunId) -> Response:
    """The first page of a run."""
    return RedirectResponse(f"/runs/{run_id}/ask", 307)


@router.get("/runs/{run}/about", response_class=HTMLResponse, include_in_schema=False)
def show_run(run: FoundRun, run_id: RunId, jobs: Jobs, client: Client) -> str:
    """The page about a run: metrics, curves, reliability and evaluations."""
    stored, site = run.evaluations(), Site(run_id, "about")
    running = (it for it in jobs if it.run == run_id and it.kind == "evaluate" and not it.over)
    job = next((job_view(each, run, client) for each in running), None)
    offer = run_offer(site, run.about, run.default_method, run_prices(run), job)
    return run_page(site, run.about, stored.found, stored.notes, offer)


@router.get(
    "/api/runs/{run}/report",
    response_class=HTMLResponse,
    responses=errors(404, 422) | {200: {"content": {"text/html": {}}}},
)
def download_report(run: FoundRun) -> Response:
    """The page about a run as one HTML file: `whereof report`, without examples."""
    stored = run.evaluations()
    page = report_page(run.about, stored.found, notes=stored.notes)
    return download(page, "report.html", "text/html; charset=utf-8")


@router.get("/api/runs/{run}", response_model=RunInfo, responses=errors(404, 422))
def describe_run(run: FoundRun) -> Response:
    """What `whereof info --json` prints."""
    return document(run.info())
