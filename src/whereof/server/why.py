"""Why: the facts that a prediction is made of, and the estimate without some of them."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from whereof.api.run import Run
from whereof.explain.explanation import Explanation, Joint, as_plain
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
    opposing: bool = False
    graph: bool = False

    def options(self) -> dict[str, Any]:
        more = {"top": self.top, "opposing": self.opposing, "graph": self.graph}
        return super().options() | more


class AskedDownload(AskedExplanation):
    """An explanation, and its format."""

    format: Literal["json", "csv", "svg", "html"] = "json"


class AskedEstimate(AskedPrediction):
    """A prediction, and the facts to leave out."""

    facts: Annotated[list[_FactId], Field(min_length=1, max_length=limits.FACTS)]


def explain(run: Run, asked: AskedPrediction, **more: Any) -> Explanation:
    """An explanation that takes no longer than a click; the error says to start a job."""
    names, options = asked.names(run), asked.options() | more
    if not run.is_ready(*names, **options):
        method = run.with_method(options)["method"]
        raise HTTPException(
            409,
            f"{method} takes longer than a click here: start a job of kind explain, or choose the "
            "method rollback",
        )
    return run.explain(*names, **options)


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
    if asked.format == "json":
        return document(explain(run, asked).to_dict())
    write, media_type = _FORMATS[asked.format]
    return download(write(explain(run, asked)), f"explanation.{asked.format}", media_type)


@router.post("/api/runs/{run}/estimate", response_model=Joint, responses=errors(400, 404, 409, 422))
def estimate(run: FoundRun, asked: AskedEstimate) -> Response:
    """The prediction without some facts together, as estimated: no retraining has confirmed it."""
    found = explain(run, asked, without=asked.facts)
    return document(as_plain(found.without))
