"""Ask: names while someone types, ranked answers, predictions worth a look, cards of entities."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from whereof.data.name_index import FoundName
from whereof.errors import WhereofError
from whereof.explain.entity_card import EntityCard
from whereof.explain.interesting import InterestingPrediction
from whereof.predict.answers import Answers
from whereof.present.html import Site
from whereof.present.pages.address import AskAddress
from whereof.present.pages.ask import ask_page
from whereof.present.pages.entity import entity_page
from whereof.server import limits
from whereof.server.dependencies import FoundRun, Name, RunId
from whereof.server.requests import given_names, rating_scale, without_noun
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
    """Entities or relations whose label or name contains a text, best first.

    In two-way data with a place, `user 405` also finds 405 if nothing contains the whole text.
    """
    wanted = place or None if kind == "entity" else None
    found = run.find_names(text, kind, wanted, limit)
    if not found and wanted and (plain := without_noun(run, text, wanted)) != text:
        found = run.find_names(plain, kind, wanted, limit)
    return document([each.to_dict() for each in found])


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


@router.get("/runs/{run}/ask", response_class=HTMLResponse, include_in_schema=False)
def show_ask(
    run: FoundRun,
    run_id: RunId,
    subject: Name = "",
    relation: Name = "",
    object: Name = "",
    asks: Literal["object", "subject"] = "object",
    top: Top = 10,
    known: bool = False,
    list: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """A query, its answers, and predictions that are worth a look."""
    subject, object = ("" if name == "_" else name for name in (subject, object))
    if object and not subject:
        asks = "subject"
    here = AskAddress(subject, relation, object, asks, top, known)
    site, two_way = Site(run_id, "ask"), run.dataset.two_way
    kind = list if not (subject or object) else ""
    found: dict[str, Any] = {"two_way": two_way, "rated": run.config.rated, "kind": kind}
    found["scale"] = rating_scale(run)
    try:
        if subject or object:
            if not two_way and relation in ("", "_"):
                raise WhereofError("Fill in the relation: the model finds subjects and objects.")
            names = given_names(run, subject or "_" * (asks == "subject"), relation, object)
            new = two_way and not known and not (subject and object)
            found |= {"answers": run.predict(*names, top=top, new=new), "most": limits.ANSWERS}
        elif kind:
            found["interesting"] = run.interesting(kind, 10)
    except WhereofError as error:
        return HTMLResponse(ask_page(site, here, **found, error=str(error)), 400)
    return HTMLResponse(ask_page(site, here, **found))


@router.get("/runs/{run}/entity", response_class=HTMLResponse, include_in_schema=False)
def show_entity(run: FoundRun, run_id: RunId, name: Name, place: Place = "") -> Response:
    """The card of an entity."""
    card = run.card(name, place=(place or None) if run.dataset.two_way else None)
    return HTMLResponse(entity_page(Site(run_id, "entity"), card))
