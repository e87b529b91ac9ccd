"""Compare: two predictions, or one prediction in two runs, side by side."""

from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, ValidationError

from whereof.errors import WhereofError
from whereof.evaluate.agreement import Overlap, overlap
from whereof.explain.explanation import Explanation
from whereof.explain.method import get_method
from whereof.present.files import tables_csv
from whereof.present.names import query_text
from whereof.present.pages.address import WhyAddress, address
from whereof.present.pages.compare import ComparedView, compare_file, compare_page, compare_table
from whereof.present.pages.price import Prices
from whereof.records import as_plain
from whereof.server import limits
from whereof.server.dependencies import AllRuns, Name
from whereof.server.jobs import query_labels
from whereof.server.requests import PredictionRequest, Word, run_prices
from whereof.server.responses import document, download, errors
from whereof.server.runs import ServedRuns
from whereof.server.why import ready_method
from whereof.types import PLACES

router = APIRouter()
_View = Annotated[str, Query(max_length=4 * limits.NAME_LETTERS)]


class _Side(PredictionRequest):
    """The part of a Why page's address that a comparison uses."""

    model_config = ConfigDict(extra="ignore")

    run: str = ""
    method: Word = ""

    @classmethod
    def read(cls, view: str) -> "_Side":
        """The values of a query such as `run=nations&subject=india`."""
        try:
            return cls.model_validate(dict(parse_qsl(view)))
        except ValidationError as error:
            first = error.errors()[0]
            raise WhereofError(
                f"{first['loc'][-1]} cannot be {str(first['input'])[:80]!r}; give a and b as the "
                "query of a Why page, with run="
            ) from None

    def query(self) -> dict[str, Any]:
        """The values of its Why page that are not the default ones."""
        return WhyAddress(**self.model_dump(exclude={"run"})).query()


class _TakesLonger(WhereofError):
    """A side by a method that takes longer than a click; its own page computes it."""

    def __init__(self, message: str, title: str, address: str) -> None:
        super().__init__(f"{message}: {title}")
        self.message, self.link = message, (title, address)


class ComparedSide(BaseModel):
    """One side: the id of a run, and an explanation in it."""

    run: str
    explanation: Explanation


class ComparedSides(BaseModel):
    """Two explanations, and how far they have the same facts."""

    sides: tuple[ComparedSide, ComparedSide]
    overlap: Overlap


@router.get(
    "/api/compare",
    response_model=ComparedSides,
    responses=errors(400, 404, 422) | {200: {"content": {"text/csv": {}, "text/html": {}}}},
)
def comparison(
    runs: AllRuns, a: _View, b: _View, format: Literal["json", "csv", "html"] = "json"
) -> Response:
    """Two explanations side by side, as a file; `a` and `b` are queries of Why pages, with `run`.

    The csv has a row per fact, with its ranks and influences on both sides.
    """
    given = [_Side.read(a), _Side.read(b)]
    sides = _by_one_method(runs, given, [_side(runs, side) for side in given])
    both = overlap(*(side.explanation for side in sides))
    if format == "json":
        explained = [{"run": side.run, "explanation": side.explanation.to_dict()} for side in sides]
        found = {"sides": explained, "overlap": as_plain(both)}
        return document(found, name="comparison.json")
    is_table = format == "csv"
    content = tables_csv([compare_table(sides)]) if is_table else compare_file(sides, both)
    return download(content, f"comparison.{format}", f"text/{format}; charset=utf-8")


@router.get("/compare", response_class=HTMLResponse, include_in_schema=False)
def compare(
    request: Request,
    runs: AllRuns,
    a: _View,
    b: _View = "",
    run: Name = "",
    subject: Name = "",
    relation: Name = "",
    object: Name = "",
    method: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """Two views; `a` and `b` are queries of Why pages, with `run`.

    With `run`, the values come from the form, and the answer redirects to the address with `b`.
    """
    first = _Side.read(a)
    if run:
        names = {"subject": subject, "relation": relation, "object": object}
        other = _Side(run=run, method=method, asks=first.asks, **names)
        return RedirectResponse(_address(a, other), 303)
    other = _Side.read(b) if b else first.model_copy(update={"method": ""})
    form = {"a": a, **other.model_dump()}
    sides, error, link, status = [], "", None, 200
    given = [first, other] if b else [first]
    for side in given:
        try:
            sides.append(_side(runs, side))
        except _TakesLonger as problem:
            error, link, status = problem.message, problem.link, 400
        except WhereofError as problem:
            error, link, status = str(problem), None, 400
    if len(sides) == 2:
        sides = _by_one_method(runs, given, sides)
    both = overlap(*(side.explanation for side in sides)) if len(sides) == 2 else None
    data = runs[first.run].about.dataset if first.run in runs else None
    others = [name for name, each in runs.items() if each.about.dataset == data]
    same = {
        name: _address(a, first.model_copy(update={"run": name}))
        for name in others
        if name != first.run
    }
    lacking = [side.run for side in sides if side.closer is not None]
    prices = run_prices(runs[lacking[0]]) if lacking else Prices()
    here = f"{request.url.path}?{request.url.query}"
    page = compare_page(
        sides, both, [*runs], same, form, error, link=link, prices=prices, here=here
    )
    return HTMLResponse(page, status)


def _address(a: str, other: _Side) -> str:
    return f"/compare?{urlencode({'a': a, 'b': urlencode({'run': other.run, **other.query()})})}"


def _by_one_method(
    runs: ServedRuns, given: list[_Side], sides: list[ComparedView]
) -> list[ComparedView]:
    """Both sides by the same method if a side gives none: influences of two differ in size."""
    methods = dict.fromkeys(side.explanation.method for side in sides)
    if all(side.method for side in given) or len(methods) == 1:
        return sides
    asked = [side.method for side in given if side.method]
    for method in asked or methods:
        with suppress(WhereofError):
            found = [_side(runs, side.model_copy(update={"method": method})) for side in given]
            pairs = zip(found, sides, strict=True)
            return [replace(each, why=old.why, closer=old.closer) for each, old in pairs]
    return sides


def _side(runs: ServedRuns, side: _Side) -> ComparedView:
    if side.run not in runs:
        raise HTTPException(404, f"there is no run {side.run!r}; choose from {', '.join(runs)}")
    run = runs[side.run]
    names = side.names(run)
    method = side.method or ready_method(run, names, asks=side.asks)
    options: dict[str, Any] = {"asks": side.asks, "method": method}
    if not run.is_ready(*names, **options):
        run.check_method(method)
        longer = f"{method} takes longer than a click for this prediction"
        if get_method(method).retrains:
            raise WhereofError(f"{longer}; choose a method that does not retrain")
        places = side.model_dump(include={"subject", "relation", "object"})
        title = query_text(places, query_labels(run, places))
        page = address(side.run, "why", **side.query())
        raise _TakesLonger(f"{longer}; first open the page that computes it", title, page)
    found = run.explain(*names, **options, top=limits.FACTS, opposing="both")
    wanted = run.default_method
    closer = None
    if not side.method and method != wanted and not run.is_ready(*names, asks=side.asks):
        places = vars(found.prediction)
        closer = {name: places[name] for name in PLACES[3] if places[name]}
        closer |= {"kind": "explain", "method": wanted, "asks": side.asks}
    about, why = run.about, address(side.run, "why", **side.query())
    title, has_more = f"{about.model} on {about.dataset}", len(found.facts) >= limits.FACTS
    return ComparedView(side.run, title, found, why, has_more, closer)
