"""Why: the facts that a prediction is made of, and the estimate without some of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from whereof import registry
from whereof.api.run import Run
from whereof.errors import WhereofError
from whereof.explain.explanation import Explanation, Joint, as_plain
from whereof.explain.method import able_method, get_method
from whereof.present.explanation import explanation_page
from whereof.present.files import facts_csv
from whereof.present.graph import explanation_svg
from whereof.present.html import Site
from whereof.present.pages.jobs import JobView
from whereof.present.pages.why import Asked, Reasons, waiting_page, why_page
from whereof.server import limits
from whereof.server.dependencies import Client, FoundRun, Jobs, Name, RunId, given_names
from whereof.server.jobs import job_view, question_labels
from whereof.server.responses import document, download, errors

router = APIRouter()
_Name = Annotated[str, Field(max_length=limits.NAME_LETTERS)]
_Method = Annotated[str, Field(max_length=100)]
_FactId = Annotated[int, Field(ge=0)]
FACT_IDS = r"^([0-9]{1,9}(,[0-9]{1,9})*)?$"
"""Ids of facts in an address, such as 3,5,8."""
_QUICK = "rollback"
_TRUE = 4
"""Answers of the test set to one question that a page reads: itself, and three others."""


class AskedPrediction(BaseModel):
    """A prediction by names; an empty name, or `_`, is the top new answer."""

    model_config = ConfigDict(extra="forbid")

    subject: _Name = ""
    relation: _Name = ""
    object: _Name = ""
    method: _Method = ""
    of: Literal["", "probability", "score", "loss"] = ""
    asks: Literal["object", "subject"] = "object"

    def names(self, run: Run) -> tuple[str | None, ...]:
        return given_names(run, self.subject, self.relation, self.object)

    def options(self) -> dict[str, Any]:
        """Options for `Run.explain`; what is empty is left to its defaults."""
        given = {"method": self.method, "of": self.of, "asks": self.asks}
        return {name: value for name, value in given.items() if value}


class AskedExplanation(AskedPrediction):
    """A prediction, and which facts to list."""

    top: Annotated[int, Field(ge=1, le=limits.FACTS)] = 10
    opposing: bool | Literal["both"] = False
    graph: bool = False

    def options(self) -> dict[str, Any]:
        more = {"top": self.top, "opposing": self.opposing, "graph": self.graph}
        return super().options() | more


class AskedDownload(AskedExplanation):
    """An explanation, and its format."""

    format: Literal["json", "csv", "svg", "html"] = "json"
    without: Annotated[str, Field(max_length=8000, pattern=FACT_IDS)] = ""


class AskedEstimate(AskedPrediction):
    """A prediction, and the facts to leave out."""

    facts: Annotated[list[_FactId], Field(min_length=1, max_length=limits.FACTS)]


Names = tuple[str | None, ...]


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


def ready_method(run: Run, names: Names, **options: Any) -> str:
    """The default method if it takes no longer than a click; else another one that does."""
    every = dict.fromkeys([run.default_method, _QUICK, *registry.names(registry.METHODS)])
    able = (name for name in every if not get_method(name).draws)
    ready = (name for name in able if run.is_ready(*names, **options, method=name))
    return next(ready, run.default_method)


def read_fact_ids(text: str) -> list[int]:
    """The ids of an address, each once."""
    return [*dict.fromkeys(int(each) for each in text.split(",") if each)]


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
def explanation(run: FoundRun, asked: Annotated[AskedDownload, Query()]) -> Response:
    """What `whereof explain --json` prints, or a file to save: csv, svg or html."""
    names = asked.names(run)
    found = explain_at_once(run, names, asked.options())
    if asked.without:
        left_out = read_fact_ids(asked.without)
        plain = AskedPrediction.options(asked)
        found = replace(found, without=explain_without(run, names, plain, left_out).without)
    if asked.format == "json":
        return document(found.to_dict())
    write, media_type = _FORMATS[asked.format]
    return download(write(found), f"explanation.{asked.format}", media_type)


@router.post("/api/runs/{run}/estimate", response_model=Joint, responses=errors(400, 404, 409, 422))
def estimate(run: FoundRun, asked: AskedEstimate) -> Response:
    """The prediction without some facts together, as estimated: no retraining has confirmed it."""
    found = explain_without(run, asked.names(run), asked.options(), asked.facts)
    return document(as_plain(found.without))


@router.get("/runs/{run}/why", response_class=HTMLResponse, include_in_schema=False)
def show_why(
    run: FoundRun,
    run_id: RunId,
    jobs: Jobs,
    client: Client,
    subject: Name = "",
    relation: Name = "",
    object: Name = "",
    asks: Literal["object", "subject"] = "object",
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
    site, names = Site(run_id, run_id, "why"), given_names(run, subject, relation, object)
    options: dict[str, Any] = {"asks": asks, "of": of or None}
    if method:
        run.check_method(method)
    quick = ready_method(run, names, **options)
    chosen = method or quick
    ready = {name: run.is_ready(*names, method=name, **options) for name in _methods(run)}
    task = jobs.get(job)
    given = job_view(task, run, client) if task is not None and task.run == site.run else None
    done = given if _is_about(run, given, asked) and given and given.kind == "explain" else None
    if given is not None and given.kind != "explain":  # a check of an explanation by retraining
        explained = (each for each in jobs if each.run == site.run and each.kind == "explain")
        earlier = (job_view(each, run, client) for each in explained)
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
        labels, under_way = question_labels(run, vars(asked)), done if is_mine else None
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
