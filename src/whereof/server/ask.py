"""Ask: names, and ranked answers to a query."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from whereof.predict.answers import Answers
from whereof.server import limits
from whereof.server.dependencies import FoundRun, Name, given_names
from whereof.server.responses import document, errors

router = APIRouter()
Top = Annotated[int, Query(ge=1, le=limits.ANSWERS)]


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
