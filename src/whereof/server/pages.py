"""The pages of runs and jobs: each parses an address, asks the run, and presents."""

from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.explain.method import get_method
from whereof.present.html import Site
from whereof.present.pages.ask import Question, ask_page
from whereof.present.pages.entity import entity_page
from whereof.present.pages.jobs import JobView, jobs_page
from whereof.present.pages.runs import runs_page
from whereof.present.pages.why import Asked, Reasons, waiting_page, why_page, with_against
from whereof.server import limits
from whereof.server.about import AllRuns
from whereof.server.dependencies import FoundRun, Jobs, Name, RunId, given_names
from whereof.server.queue import BackgroundJob, JobQueue

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
_QUICK = "rollback"
_FACT_IDS = r"^([0-9]{1,9}(,[0-9]{1,9})*)?$"
_Place = Literal["object", "subject"]


@router.get("/")
def list_runs(runs: AllRuns) -> Response:
    """The runs; a single one opens at once."""
    if len(runs) == 1:
        return RedirectResponse(f"/runs/{next(iter(runs))}/ask", 307)
    return HTMLResponse(runs_page({name: run.summary() for name, run in runs.items()}))


@router.get("/runs/{run}")
def open_run(run: RunId) -> Response:
    """The first page of a run."""
    return RedirectResponse(f"/runs/{run}/ask", 307)


@router.get("/runs/{run}/ask")
def ask(
    run: FoundRun,
    runs: AllRuns,
    subject: Name = "",
    relation: Name = "",
    object: Name = "",
    asks: _Place = "object",
    top: Annotated[int, Query(ge=1, le=limits.ANSWERS)] = 10,
    list: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """A question, its answers, and predictions that are worth a look."""
    subject, object = ("" if name == "_" else name for name in (subject, object))
    if object and not subject:
        asks = "subject"
    site, question = _site(runs, run, "ask"), Question(subject, relation, object, asks, top)
    found: dict[str, Any] = {"two_way": run.dataset.two_way}
    try:
        if subject or object:
            names = given_names(run, subject or "_" * (asks == "subject"), relation, object)
            found["answers"] = run.predict(*names, top=top)
        elif list:
            found |= {"kind": list, "interesting": run.interesting(list, 10)}
    except WhereofError as error:
        return HTMLResponse(ask_page(site, question, **found, error=str(error)), 400)
    return HTMLResponse(ask_page(site, question, **found))


@router.get("/runs/{run}/why")
def why(
    run: FoundRun,
    runs: AllRuns,
    jobs: Jobs,
    subject: Name = "",
    relation: Name = "",
    object: Name = "",
    asks: _Place = "object",
    method: Annotated[str, Query(max_length=100)] = "",
    top: Annotated[int, Query(ge=1, le=limits.FACTS)] = 10,
    opposing: Literal["both", "true", "false"] = "both",
    of: Literal["", "probability", "score", "loss"] = "",
    without: Annotated[str, Query(max_length=8000, pattern=_FACT_IDS)] = "",
    job: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """The facts that a prediction is made of, and what if some were not there."""
    left_out = tuple(dict.fromkeys(int(each) for each in without.split(",") if each))
    asked = Asked(subject, relation, object, asks, method, top, opposing, of, left_out)
    site, names = _site(runs, run, "why"), given_names(run, subject, relation, object)
    task = _view(jobs, jobs.get(job)) if job else None
    options: dict[str, Any] = {"asks": asks, "of": of or None}
    ready = {name: run.is_ready(*names, method=name, **options) for name in _methods(run)}
    chosen = method or (run.default_method if ready.get(run.default_method) else _QUICK)
    done = task.result if task is not None and task.kind == "explain" else None
    if run.is_ready(*names, method=chosen, **options):
        options |= {"method": chosen, "top": top}
        joint = "groups" in get_method(chosen).can
        more = options | {"graph": joint, "stability": joint, "opposing": opposing == "true"}
        explanation = run.explain(*names, **more)
        if opposing == "both":
            explanation = with_against(explanation, run.explain(*names, **options, opposing=True))
    elif done is not None and done.method == chosen:
        explanation = done
    else:
        return HTMLResponse(waiting_page(site, asked, task, chosen))
    return HTMLResponse(why_page(site, asked, _reasons(run, asked, explanation, task, ready)))


def _reasons(
    run: Run, asked: Asked, explanation: Any, task: JobView | None, ready: dict[str, bool]
) -> Reasons:
    prediction, more = explanation.prediction, dict[str, Any]()
    places = given_names(run, prediction.subject, prediction.relation or "", prediction.object)
    if asked.without:
        options = {"asks": prediction.asks, "method": explanation.method}
        with suppress(WhereofError):
            left = run.explain(*places, **options, without=[*asked.without])
            more = {"joint": left.without, "left_out": left.facts}
    open_place = list(places)
    open_place[0 if prediction.asks == "subject" else -1] = (
        "_" if prediction.asks == "subject" else None
    )
    answers = run.predict(*open_place, top=5, new=True)
    (itself,) = run.predict(*places).answers
    return Reasons(explanation, answers, itself.known, job=task, ready=ready, **more)


def _methods(run: Run) -> list[str]:
    return list(dict.fromkeys([_QUICK, "unrolled", run.default_method]))


@router.get("/runs/{run}/entity")
def entity(
    run: FoundRun, runs: AllRuns, name: Name, place: Literal["", "subject", "object"] = ""
) -> Response:
    """The card of an entity."""
    card = run.card(name, place=(place or None) if run.dataset.two_way else None)
    return HTMLResponse(entity_page(_site(runs, run, "entity"), card))


@router.get("/jobs")
def list_jobs(jobs: Jobs) -> Response:
    """All jobs of the server, the latest first."""
    return HTMLResponse(jobs_page(Site(page="jobs"), [_known(jobs, job) for job in jobs]))


def _site(runs: Any, run: Run, page: str) -> Site:
    found = next(name for name, each in runs.items() if each is run)
    return Site(found, found, page)


def _view(jobs: JobQueue, job: BackgroundJob | None) -> JobView | None:
    return None if job is None else _known(jobs, job)


def _known(jobs: JobQueue, job: BackgroundJob) -> JobView:
    text = job.message or ("" if job.progress is None else job.progress.text)
    share = None if job.progress is None else job.progress.share
    return JobView(
        job.id, job.run, job.kind, job.state, job.options, text, share, job.seconds, job.found
    )
