"""Compare: two predictions, or one prediction in two runs, side by side."""

from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ValidationError

from whereof.errors import WhereofError
from whereof.evaluate.agreement import overlap
from whereof.explain.method import get_method
from whereof.present.pages.compare import ComparedView, compare_page
from whereof.server import limits
from whereof.server.dependencies import AllRuns, Name, given_names
from whereof.server.runs import ServedRuns
from whereof.server.why import ready_method

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
_View = Annotated[str, Query(max_length=4 * limits.NAME_LETTERS)]


class _Asked(BaseModel):
    """The address of a Why page, as far as two of them are compared."""

    run: str = ""
    subject: Name = ""
    relation: Name = ""
    object: Name = ""
    asks: str = "object"
    method: str = ""

    @classmethod
    def read(cls, view: str) -> "_Asked":
        """The values of a query such as `run=nations&subject=india`."""
        try:
            return cls.model_validate(dict(parse_qsl(view)))
        except ValidationError:
            raise WhereofError("give a and b as the query of a Why page, with run=") from None

    def query(self, *, without: str = "") -> str:
        """The values that are not the default ones."""
        given = {name: value for name, value in self if value != _PLAIN[name] and name != without}
        return urlencode(given)


_PLAIN = dict(_Asked())


@router.get("/compare")
def compare(
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
    first = _Asked.read(a)
    if run:
        names = {"subject": subject, "relation": relation, "object": object}
        other = _Asked(run=run, method=method, asks=first.asks, **names)
        return RedirectResponse(_address(a, other), 303)
    form = {"a": a, **(_Asked.read(b) if b else first).model_dump()}
    sides, error, status = [], "", 200
    for asked in [first, _Asked.read(b)] if b else [first]:
        try:
            sides.append(_side(runs, asked))
        except WhereofError as problem:
            error, status = str(problem), 400
    both = overlap(*(side.explanation for side in sides)) if len(sides) == 2 else None
    data = runs[first.run].about.dataset if first.run in runs else None
    others = [name for name, each in runs.items() if each.about.dataset == data]
    same = {
        name: _address(a, first.model_copy(update={"run": name}))
        for name in others
        if name != first.run
    }
    return HTMLResponse(compare_page(sides, both, [*runs], same, form, error), status)


def _address(a: str, other: _Asked) -> str:
    return f"/compare?{urlencode({'a': a, 'b': other.query()})}"


def _side(runs: ServedRuns, asked: _Asked) -> ComparedView:
    if asked.run not in runs:
        raise HTTPException(404, f"there is no run {asked.run!r}; choose from {', '.join(runs)}")
    run = runs[asked.run]
    names = given_names(run, asked.subject, asked.relation, asked.object)
    method = asked.method or ready_method(run, names, asks=asked.asks)
    options: dict[str, Any] = {"asks": asked.asks, "method": method}
    if not run.is_ready(*names, **options):
        run.check_method(method)
        how = "open its Why page first"
        if get_method(method).retrains:
            how = "choose a method that does not retrain"
        raise WhereofError(f"{method} takes longer than a click for this prediction; {how}")
    found = run.explain(*names, **options, top=limits.FACTS)
    about, why = run.about, f"/runs/{asked.run}/why?{asked.query(without='run')}"
    title, has_more = f"{about.model} on {about.dataset}", len(found.facts) >= limits.FACTS
    return ComparedView(asked.run, title, found, why, has_more)
