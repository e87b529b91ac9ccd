"""Audit: suspicious facts, and what helps or harms the model."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from whereof.evaluate.audit import Audit
from whereof.present.html import Site
from whereof.present.pages.audit import audit_page, start_page, waiting_page
from whereof.server.dependencies import Client, FoundRun, Jobs, RunId
from whereof.server.jobs import job_view

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@router.get("/runs/{run}/audit")
def show_audit(
    run: FoundRun,
    run_id: RunId,
    jobs: Jobs,
    client: Client,
    job: Annotated[str, Query(max_length=100)] = "",
    start: Literal["", "estimate", "verify"] = "",
) -> Response:
    """The latest audit of this run, or that of a job; `start` makes the page start one."""
    site = Site(run_id, "audit")
    mine = [each for each in jobs if each.run == run_id and each.kind == "audit"]
    if start and not job:
        verify = start == "verify"
        under_way = (it for it in mine if not it.over and it.options.get("verify", False) == verify)
        found = next((job_view(each, run, client) for each in under_way), None)
        return HTMLResponse(waiting_page(site, found, run.default_method, verify=verify))
    done = [each.found for each in mine if isinstance(each.found, Audit)]
    named = [each.found for each in mine if each.id == job and isinstance(each.found, Audit)]
    for audit in [*named, *done]:
        if isinstance(audit, Audit):
            return HTMLResponse(audit_page(site, audit))
    return HTMLResponse(start_page(site))
