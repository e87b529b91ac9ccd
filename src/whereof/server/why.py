"""Why: the facts that a prediction is made of, and the estimate without some of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import HTMLResponse, Response

from whereof import registry
from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.explain.explanation import Explanation, Joint
from whereof.explain.method import able_method, get_method
from whereof.present.explanation import explanation_page
from whereof.present.files import facts_csv
from whereof.present.graph import explanation_svg
from whereof.present.html import Site
from whereof.present.names import file_name
from whereof.present.pages.address import WhyAddress
from whereof.present.pages.jobs import JobView
from whereof.present.pages.why import Reasons, why_page
from whereof.records import as_plain
from whereof.server.dependencies import Client, FoundRun, Jobs, RunId
from whereof.server.jobs import job_view
from whereof.server.queue import JobQueue
from whereof.server.requests import (
    EstimateRequest,
    ExplanationRequest,
    Names,
    WhyRequest,
    given_names,
    rating_scale,
    read_fact_ids,
    run_prices,
)
from whereof.server.responses import document, download, errors
from whereof.types import PLACES

router = APIRouter()
_QUICK = "rollback"
_TRUE = 4
"""Answers of the test set to one query that a page reads: itself, and three others."""
_SIGNS: Mapping[str, bool | str] = {"true": True, "false": False, "both": "both"}


def explain_at_once(run: Run, names: Names, options: Mapping[str, Any]) -> Explanation:
    """An explanation that takes no longer than a click; the error says to start a job."""
    if not run.is_ready(*names, **options):
        method = str(run.with_method(options)["method"])
        run.check_method(method)
        raise HTTPException(
            409,
            f"{method} takes longer than a click here: start a job of kind explain, or choose the "
            f"method {ready_method(run, names)}",
        )
    return run.explain(*names, **options)


def explain_without(
    run: Run, names: Names, options: Mapping[str, Any], fact_ids: list[int]
) -> Explanation:
    """The same prediction without some facts, by the method itself if it can remove several."""
    method = able_method("groups", str(run.with_method(options)["method"])).name
    return explain_at_once(run, names, {**options, "method": method, "without": fact_ids})


def explain_by_job(
    jobs: JobQueue, run: Run, run_id: str, names: Names, options: Mapping[str, Any]
) -> Explanation | None:
    """The result of the latest job that explained this, by this method and with these options."""
    asks = options.get("asks", "object")
    for job in jobs:
        found = job.found
        if job.run != run_id or job.kind != "explain" or found is None:
            continue
        about = [job.options, vars(found.prediction)]
        listed = job.options.get("top", 10), job.options.get("opposing", False)
        if (
            found.method == options.get("method")
            and options.get("of", found.of) == found.of
            and listed == (options.get("top", 10), options.get("opposing", False))
            and (*names, asks) in [_asked_names(run, each) for each in about]
        ):
            return run.advise(found)  # its reliability may have been measured since
    return None


def ready_method(run: Run, names: Names, first: str = "", **options: Any) -> str:
    """The first method, or the default one, if it takes no longer than a click; else another.

    The closest estimate comes first: unrolled if the run has stored it, else rollback.
    """
    first, found = first or run.default_method, registry.names(registry.METHODS)
    closest = (name for name in found if get_method(name).is_linear)
    every = dict.fromkeys([first, *closest, _QUICK, *found])
    able = (name for name in every if not get_method(name).draws)
    ready = (name for name in able if run.is_ready(*names, **options, method=name))
    return next(ready, first)


_FORMATS = {
    "csv": (facts_csv, "text/csv; charset=utf-8"),
    "svg": (explanation_svg, "image/svg+xml"),
    "html": (explanation_page, "text/html; charset=utf-8"),
}


@router.get(
    "/api/runs/{run}/explanation",
    response_model=Explanation,
    responses=errors(400, 404, 409, 422)
    | {200: {"content": {"text/csv": {}, "image/svg+xml": {}, "text/html": {}}}},
)
def explanation(
    run: FoundRun, run_id: RunId, jobs: Jobs, request: Annotated[ExplanationRequest, Query()]
) -> Response:
    """What `whereof explain --json` prints, or a file to save: csv, svg or html.

    An explanation that a job computed is found too, with the same `top` and `opposing`.
    """
    names, plain = request.names(run), request.options()
    options = plain | {"top": request.top, "opposing": request.opposing}
    found = explain_by_job(jobs, run, run_id, names, options)
    if found is None:
        found = explain_at_once(run, names, options | {"graph": request.graph})
    if request.without:
        left_out = read_fact_ids(request.without)
        found = replace(found, without=explain_without(run, names, plain, left_out).without)
    if request.format == "json":
        return document(found.to_dict())
    write, media_type = _FORMATS[request.format]
    name = file_name("explanation", found.prediction, request.format)
    return download(write(found), name, media_type)


@router.post("/api/runs/{run}/estimate", response_model=Joint, responses=errors(400, 404, 409, 422))
def estimate(run: FoundRun, request: EstimateRequest) -> Response:
    """The prediction without some facts together, as estimated: no retraining has confirmed it."""
    found = explain_without(run, request.names(run), request.options(), request.facts)
    return document(as_plain(found.without))


@router.get("/runs/{run}/why", response_class=HTMLResponse, include_in_schema=False)
def show_why(
    run: FoundRun,
    run_id: RunId,
    jobs: Jobs,
    client: Client,
    request: Annotated[WhyRequest, Query()],
) -> Response:
    """The facts that a prediction is made of, and what if some were not there.

    If the method takes longer than a click, the page has the facts by another one, and its script
    starts a job.
    """
    names, page = request.names(run), request.address()
    if request.method:
        run.check_method(request.method)
    wanted = request.method or run.default_method
    options = request.options() | {"top": request.top, "opposing": _SIGNS[request.opposing]}
    found, closer = explain_by_job(jobs, run, run_id, names, options | {"method": wanted}), ""
    if found is None:
        plain = {name: value for name, value in request.options().items() if name != "method"}
        quick = ready_method(run, names, wanted, **plain)
        closer = wanted if quick != wanted else ""
        joint = "groups" in get_method(quick).can
        more = {"method": quick, "graph": joint, "stability": joint}
        found = explain_at_once(run, names, options | more)
    job = jobs.get(request.job)
    given = job_view(job, run, client) if job is not None and job.run == run_id else None
    mine = given if _is_about(run, given, page, found.prediction) else None
    again = request.result if job is None else ""
    reasons = replace(_reasons(run, page, found), job=mine, closer=closer, again=again)
    return HTMLResponse(why_page(Site(run_id, "why"), page, reasons))


def _is_about(run: Run, job: JobView | None, *predictions: Any) -> bool:
    """Whether a job of this run is about one of these predictions, or about none in particular."""
    if job is None or job.kind == "evaluate":
        return True
    if job.kind == "audit":
        return False
    found = getattr(job.result, "prediction", None)
    mine = [job.options, *([] if found is None else [vars(found)])]
    wanted = [_asked_names(run, vars(each)) for each in predictions]
    return any(_asked_names(run, each) in wanted for each in mine)


def _asked_names(run: Run, given: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The names of a prediction, with None for an open place, and the place that it asks for."""
    subject, relation, object_ = (given.get(it) or "" for it in PLACES[3])
    names = given_names(run, subject, relation, object_)
    return (*(None if name == "_" else name for name in names), given.get("asks") or "object")


def _reasons(run: Run, page: WhyAddress, explanation: Explanation) -> Reasons:
    prediction, more = explanation.prediction, dict[str, Any]()
    places = given_names(run, prediction.subject, prediction.relation or "", prediction.object)
    plain: dict[str, Any] = {"asks": prediction.asks} | ({"of": page.of} if page.of else {})
    if page.without:
        try:
            options = plain | {"method": explanation.method}
            left = explain_without(run, places, options, [*page.without])
            more = {"left_out": left.facts, "left_out_by": left.method}
        except WhereofError as error:
            more = {"problem": str(error)}
        except HTTPException as error:
            more = {"problem": error.detail}
    open_place = list(places)
    open_place[0 if prediction.asks == "subject" else -1] = (
        "_" if prediction.asks == "subject" else None
    )
    answers = run.predict(*open_place, top=5, new=True)
    if not run.dataset.two_way:
        more["true"] = run.predict(*open_place, top=_TRUE, known="test")
    methods = dict.fromkeys([_QUICK, "unrolled", run.default_method])
    more["ready"] = {name: run.is_ready(*places, **plain, method=name) for name in methods}
    more |= {"prices": run_prices(run), "scale": rating_scale(run)}
    if more["scale"] is not None:
        more["rating"] = run.find_rating(*places)
    return Reasons(explanation, answers, **more)
