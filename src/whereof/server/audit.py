"""Audit: suspicious facts, and what helps or harms the model."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from whereof.evaluate.audit import Audit
from whereof.present.html import Site
from whereof.present.pages.audit import audit_offer, audit_page, start_page
from whereof.server.dependencies import Client, FoundRun, Jobs, RunId
from whereof.server.jobs import job_view
from whereof.server.requests import run_prices
from whereof.server.tasks import AuditTask

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)


@router.get("/runs/{run}/audit")
def show_audit(
    run: FoundRun,
    run_id: RunId,
    jobs: Jobs,
    client: Client,
    job: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """The audit of a job, or the latest one of this run; a click starts another."""
    site, method = Site(run_id, "audit"), run.default_method
    mine = [each for each in jobs if each.run == run_id and each.kind == "audit"]
    asked = [each for each in mine if each.id == job] if job else mine
    under_way = next((each for each in asked if not each.over), None)
    view = None if under_way is None else job_view(under_way, run, client)
    estimate, check = (AuditTask(kind="audit", method=method, verify=it) for it in (False, True))
    costs = estimate.trainings(run), check.trainings(run)
    offer = audit_offer(site, method, costs, run_prices(run), view)
    found = next((each for each in asked if isinstance(each.found, Audit)), None)
    if found is not None and isinstance(found.found, Audit) and view is None:
        return HTMLResponse(audit_page(site, found.found, found.id, offer))
    gone = bool(job) and not asked
    return HTMLResponse(start_page(site, offer, gone=gone, running=view is not None))
