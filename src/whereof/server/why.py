"""Why: the facts that a prediction is made of, and the estimate without some of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from whereof import registry
from whereof.api.run import Run
from whereof.explain.explanation import Explanation, Joint, as_plain
from whereof.explain.method import able_method, get_method
from whereof.present.explanation import explanation_page
from whereof.present.files import facts_csv
from whereof.present.graph import explanation_svg
from whereof.server import limits
from whereof.server.dependencies import FoundRun, given_names
from whereof.server.responses import document, download, errors

router = APIRouter()
_Name = Annotated[str, Field(max_length=limits.NAME_LETTERS)]
_Method = Annotated[str, Field(max_length=100)]
_FactId = Annotated[int, Field(ge=0)]
FACT_IDS = r"^([0-9]{1,9}(,[0-9]{1,9})*)?$"
"""Ids of facts in an address, such as 3,5,8."""
_QUICK = "rollback"


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
