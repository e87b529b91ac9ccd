"""The pages of runs and jobs: each parses an address, asks the run, and presents."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.explain.method import get_method
from whereof.present.html import Site
from whereof.present.pages.ask import Question, ask_page
from whereof.present.pages.entity import entity_page
from whereof.present.pages.jobs import JobView, jobs_page
from whereof.present.pages.runs import runs_page
from whereof.present.pages.why import Asked, Reasons, waiting_page, why_page
from whereof.server import limits
from whereof.server.about import AllRuns
from whereof.server.dependencies import Client, FoundRun, Jobs, Name, RunId, given_names
from whereof.server.queue import BackgroundJob
from whereof.server.why import FACT_IDS, explain_without, read_fact_ids, ready_method

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
_QUICK = "rollback"
_TRUE = 4
"""Answers of the test set to one question that a page reads: itself, and three others."""
_Place = Literal["object", "subject"]


@router.get("/")
def list_runs(runs: AllRuns) -> Response:
    """The runs; a single one opens at once."""
    if len(runs) == 1:
        return RedirectResponse(f"/runs/{next(iter(runs))}/ask", 307)
    return HTMLResponse(runs_page({name: run.info() for name, run in runs.items()}))


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
    known: bool = False,
    list: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """A question, its answers, and predictions that are worth a look."""
    subject, object = ("" if name == "_" else name for name in (subject, object))
    if object and not subject:
        asks = "subject"
    question = Question(subject, relation, object, asks, top, known)
    site, two_way = _site(runs, run, "ask"), run.dataset.two_way
    kind = list if not (subject or object) else ""
    found: dict[str, Any] = {"two_way": two_way, "rated": run.config.rated, "kind": kind}
    try:
        if subject or object:
            names = given_names(run, subject or "_" * (asks == "subject"), relation, object)
            new = two_way and not known and not (subject and object)
            found |= {"answers": run.predict(*names, top=top, new=new), "most": limits.ANSWERS}
        elif kind:
            found["interesting"] = run.interesting(kind, 10)
    except WhereofError as error:
        return HTMLResponse(ask_page(site, question, **found, error=str(error)), 400)
    return HTMLResponse(ask_page(site, question, **found))


@router.get("/runs/{run}/why")
def why(
    run: FoundRun,
    runs: AllRuns,
    jobs: Jobs,
    client: Client,
    subject: Name = "",
    relation: Name = "",
    object: Name = "",
    asks: _Place = "object",
    method: Annotated[str, Query(max_length=100)] = "",
    top: Annotated[int, Query(ge=1, le=limits.FACTS)] = 10,
    opposing: Literal["both", "true", "false"] = "both",
    of: Literal["", "probability", "score", "loss"] = "",
    without: Annotated[str, Query(max_length=8000, pattern=FACT_IDS)] = "",
    job: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """The facts that a prediction is made of, and what if some were not there."""
    left_out = tuple(read_fact_ids(without))
    asked = Asked(subject, relation, object, asks, method, top, opposing, of, left_out)
    site, names = _site(runs, run, "why"), given_names(run, subject, relation, object)
    options: dict[str, Any] = {"asks": asks, "of": of or None}
    if method:
        run.check_method(method)
    quick = ready_method(run, names, **options)
    chosen = method or quick
    ready = {name: run.is_ready(*names, method=name, **options) for name in _methods(run)}
    task = jobs.get(job)
    given = _view(task, run, client) if task is not None and task.run == site.run else None
    done = given if _is_about(run, given, asked) and given and given.kind == "explain" else None
    if given is not None and given.kind != "explain":  # a check of an explanation by retraining
        explained = (each for each in jobs if each.run == site.run and each.kind == "explain")
        earlier = (_view(each, run, client) for each in explained)
        fits = (it for it in earlier if it.result and it.result.method == chosen)
        done = next((it for it in fits if _is_about(run, it, asked)), None)
    if run.is_ready(*names, method=chosen, **options):
        joint = "groups" in get_method(chosen).can
        options |= {"method": chosen, "top": top, "graph": joint, "stability": joint}
        options["opposing"] = {"true": True, "false": False}.get(opposing, "both")
        explanation = run.explain(*names, **options)
    elif done and done.result and done.result.method == chosen and of in ("", done.result.of):
        explanation = done.result
    else:
        is_mine = done and not done.over and done.options.get("method") == chosen
        labels, under_way = _labels(run, vars(asked)), done if is_mine else None
        return HTMLResponse(waiting_page(site, asked, under_way, chosen, quick, labels))
    mine = given if _is_about(run, given, asked, explanation.prediction) else None
    return HTMLResponse(why_page(site, asked, _reasons(run, asked, explanation, mine, ready)))


def _is_about(run: Run, job: JobView | None, *asked: Any) -> bool:
    """Whether a job of this run is about one of these predictions, or about none in particular."""
    if job is None or job.kind == "evaluate":
        return True
    found = getattr(job.result, "prediction", None)
    mine = [job.options, *([] if found is None else [vars(found)])]
    wanted = [_question(run, vars(each)) for each in asked]
    return any(_question(run, each) in wanted for each in mine)


def _question(run: Run, given: Mapping[str, Any]) -> tuple[str | None, ...]:
    """What is asked for: names, with None for an open place, and the place."""
    subject, relation, object_ = (given.get(it) or "" for it in ("subject", "relation", "object"))
    names = given_names(run, subject, relation, object_)
    return (*(None if name == "_" else name for name in names), given.get("asks") or "object")


def _reasons(
    run: Run, asked: Asked, explanation: Any, task: JobView | None, ready: dict[str, bool]
) -> Reasons:
    prediction, more = explanation.prediction, dict[str, Any]()
    places = given_names(run, prediction.subject, prediction.relation or "", prediction.object)
    if asked.without:
        options = {"asks": prediction.asks, "method": explanation.method, "of": asked.of or None}
        try:
            left = explain_without(run, places, options, [*asked.without])
            more = {"joint": left.without, "left_out": left.facts, "left_out_by": left.method}
        except WhereofError as error:
            more = {"problem": str(error)}
        except HTTPException as error:
            more = {"problem": error.detail}
    open_place = list(places)
    open_place[0 if prediction.asks == "subject" else -1] = (
        "_" if prediction.asks == "subject" else None
    )
    answers = run.predict(*open_place, top=5, new=True)
    (itself,) = run.predict(*places).answers
    if not run.dataset.two_way:
        more["true"] = run.predict(*open_place, top=_TRUE, known="test")
    more |= {"ready": ready, "retraining_seconds": run.retraining_seconds}
    return Reasons(explanation, answers, itself.known, job=task, **more)


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
def list_jobs(jobs: Jobs, runs: AllRuns, client: Client) -> Response:
    """All jobs of the server, the latest first."""
    shown = [_view(job, runs[job.run], client) for job in jobs]
    return HTMLResponse(jobs_page(Site(page="jobs"), shown))


def _site(runs: Any, run: Run, page: str) -> Site:
    found = next(name for name, each in runs.items() if each is run)
    return Site(found, found, page)


def _view(job: BackgroundJob, run: Run, client: str) -> JobView:
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
        labels=_labels(run, job.options),
        mine=client in job.clients,
    )


def _labels(run: Run, names: Mapping[str, Any]) -> dict[str, str | None]:
    """The labels of a question, if it names one."""
    with suppress(WhereofError):
        places = (names.get(place) or "" for place in ("subject", "relation", "object"))
        subject, *others = given_names(run, *places)
        return run.find_labels(subject, *others)
    return {}
