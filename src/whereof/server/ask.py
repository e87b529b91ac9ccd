"""Ask: names while someone types, ranked answers, predictions worth a look, cards of entities."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from whereof.data.name_index import FoundName
from whereof.explain.entity_card import EntityCard
from whereof.explain.interesting import InterestingPrediction
from whereof.predict.answers import Answers
from whereof.server import limits
from whereof.server.dependencies import FoundRun, Name, given_names
from whereof.server.responses import document, errors

router = APIRouter()
Top = Annotated[int, Query(ge=1, le=limits.ANSWERS)]
Limit = Annotated[int, Query(ge=1, le=limits.NAMES)]
Place = Annotated[Literal["", "subject", "object"], Query(description="Empty: both")]


@router.get(
    "/api/runs/{run}/names", response_model=list[FoundName], responses=errors(400, 404, 422)
)
def find_names(
    run: FoundRun,
    text: Name = "",
    kind: Literal["entity", "relation"] = "entity",
    place: Place = "",
    limit: Limit = 10,
) -> Response:
    """Entities or relations whose label or name contains a text, best first."""
    wanted = place or None if kind == "entity" else None
    return document([each.to_dict() for each in run.find_names(text, kind, wanted, limit)])


@router.get("/api/runs/{run}/answers", response_model=Answers, responses=errors(400, 404, 422))
def answer(
    run: FoundRun,
    subject: Name = "",
    relation: Name = "",
    object: Name = "",
    top: Top = 10,
    new: bool = False,
) -> Response:
    """What `whereof predict --json` prints; an empty name, or `_`, is the open place."""
    names = given_names(run, subject, relation, object)
    return document(run.predict(*names, top=top, new=new).to_dict())


@router.get(
    "/api/runs/{run}/interesting",
    response_model=list[InterestingPrediction],
    responses=errors(400, 404, 422),
)
def interesting(
    run: FoundRun,
    kind: Literal["confident-and-wrong", "unstable", "top-new", "test"] = "top-new",
    limit: Limit = 20,
) -> Response:
    """Predictions that are worth a look."""
    return document([each.to_dict() for each in run.interesting(kind, limit)])


@router.get("/api/runs/{run}/entity", response_model=EntityCard, responses=errors(400, 404, 422))
def entity(run: FoundRun, name: Name, place: Place = "", top: Limit = 5) -> Response:
    """The facts of an entity, and what the model predicts for it."""
    return document(run.card(name, top, place=place or None).to_dict())
