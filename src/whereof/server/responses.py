"""Responses: documents of the library, and errors as one clear line."""

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from whereof.errors import WhereofError
from whereof.present.html import Site, page

JSON = "application/json"


class ErrorMessage(BaseModel):
    """What is wrong, what is allowed, and what to do."""

    message: str


def errors(*codes: int, streams: bool = False) -> dict[int | str, dict[str, Any]]:
    """The errors that a route may answer with, for its description.

    streams: FastAPI would describe the errors of a stream as events, but they are JSON.
    """
    words = {
        400: "Bad input",
        404: "There is no such run or job",
        409: "Not possible; the message says what to do instead",
        422: "A value is missing or has the wrong type",
        429: "Too many jobs",
    }
    schema = {"$ref": f"#/components/schemas/{ErrorMessage.__name__}"}
    content = {"content": {"application/json": {"schema": schema}}}
    kind: dict[str, Any] = content if streams else {"model": ErrorMessage}
    return {code: kind | {"description": words[code]} for code in codes}


def document(found: Mapping[str, Any] | list[Any], status: int = 200, name: str = "") -> Response:
    """A document of the library, exactly as `--json` prints it; name: of a file to save."""
    try:
        text = json.dumps(found, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise WhereofError(
            "the result contains NaN or infinity, which JSON cannot express: the run's parameters "
            "are too large; train it again with a smaller rate"
        ) from None
    return download(text, name, JSON) if name else Response(text, status, media_type=JSON)


def download(content: str, name: str, media_type: str) -> Response:
    """A file that the browser saves under a name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


def error(path: str, accept: str, status: int, message: str, run: str = "") -> Response:
    """An error as a page for readers, and as JSON for programs. run: whose menu the page has."""
    if path.startswith("/api/") or "text/html" not in accept:
        return document({"message": message}, status)
    parts = [("paragraphs", [message], "error")]
    found = page(parts, title="Whereof", heading="This does not work", site=Site(run))
    return HTMLResponse(found, status)


def handle_errors(app: FastAPI) -> None:
    """Answer errors with one line. `Security` answers those that nobody expects."""

    def answer(request: Request, status: int, message: str) -> Response:
        run = request.path_params.get("run", "")
        accept = request.headers.get("accept", "")
        known = run if run in request.app.state.runs else ""
        return error(request.url.path, accept, status, message, known)

    @app.exception_handler(WhereofError)
    async def bad_input(request: Request, problem: WhereofError) -> Response:
        return answer(request, 400, str(problem))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, problem: HTTPException) -> Response:
        message = str(problem.detail)
        if problem.status_code == 404 and message == "Not Found":
            message = f"there is no page {request.url.path}"
        found = answer(request, problem.status_code, message)
        found.headers.update(problem.headers or {})
        return found

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, problem: RequestValidationError) -> Response:
        return answer(request, 422, _first(problem))


def _first(problem: RequestValidationError) -> str:
    """The first thing that is wrong, such as `top is 0; input should be greater than 0`."""
    first = problem.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    why = str(first["msg"]).removeprefix("Value error, ")
    why = why[:1].lower() + why[1:]
    if first["type"] in ("missing", "json_invalid") or not isinstance(
        first.get("input"), str | int | float | bool
    ):
        return f"{where}: {why}"
    return f"{where} is {str(first['input'])[:80]!r}; {why}"
