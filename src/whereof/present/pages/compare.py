"""Two predictions, or one prediction in two runs, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whereof import registry, units
from whereof.evaluate.agreement import Overlap
from whereof.explain.explanation import ExplainedFact, Explanation, NamedPrediction
from whereof.explain.method import get_method
from whereof.present import names, sentence
from whereof.present.html import Part, Site, render
from whereof.present.names import query_text
from whereof.present.pages.address import api_address
from whereof.present.pages.price import Prices
from whereof.present.pages.start import Offer, starts
from whereof.present.svg import NEITHER, sign_of
from whereof.table import Column, Table
from whereof.units import show, typographic

_SHOWN = 10
"""Facts of each side that are listed."""


@dataclass(frozen=True)
class ComparedView:
    """One side of the page: an explanation in a run."""

    run: str
    """The id of the run."""
    about: str
    """Model and dataset."""
    explanation: Explanation
    why: str
    """The address of its page."""
    has_more: bool = False
    """Whether facts beyond those of the explanation may matter too."""
    closer: Mapping[str, Any] | None = None
    """The job that computes the default method of the run, if that takes longer than a click."""


def compare_page(
    sides: Sequence[ComparedView],
    overlap: Overlap | None,
    runs: Sequence[str],
    same: Mapping[str, str],
    query: Mapping[str, str],
    error: str = "",
    *,
    link: tuple[str, str] | None = None,
    prices: Prices,
    here: str,
) -> str:
    """The page; with one side it asks for the other.

    here: its own address. link: title and address of the page that the error names.

    same: the addresses that compare it with the same prediction in other runs, by their ids.
    query: the values of the form: `a`, and the prediction of the other side.
    """
    site = Site(sides[0].run, "compare") if sides else Site(page="compare")
    predictions = [each.explanation.prediction for each in sides]
    return render(
        "compare",
        _title(sides),
        site,
        ["compare.js", "start.js"],
        **_content(sides, overlap),
        two_way=bool(sides) and sides[0].explanation.prediction.relation is None,
        runs=runs,
        same=same,
        methods={
            each.name: each.in_words
            for each in map(get_method, registry.names(registry.METHODS))
            if "history" not in each.needs
        },
        names=api_address(query.get("run", ""), "names"),
        labels=_labels(predictions, query),
        query=query,
        error=error,
        link=link,
        offer=_offer(sides, prices, here),
        downloads=[
            (name, f"/api{here}&format={name.lower()}")
            for name in ("JSON", "CSV", "HTML")
            if overlap
        ],
    )


def compare_file(sides: Sequence[ComparedView], overlap: Overlap) -> str:
    """A whole HTML file: both sides and their strongest facts."""
    return render("compare", _title(sides), error="", **_content(sides, overlap))


def compare_table(sides: Sequence[ComparedView]) -> Table:
    """All facts of both sides, with their ranks and influences; those in common come first."""
    ranked = [*_ranked(sides, limit=None)]
    facts = [next(fact for fact in each.facts if fact is not None) for each in ranked]
    columns: list[tuple[Column, list[Any]]] = [*names.fact_columns(facts, ids=False)]
    for index, (side, name) in enumerate(zip(sides, "ab", strict=True)):
        own = [each.facts[index] for each in ranked]
        influences = [None if fact is None else fact.influence for fact in own]
        unit = names.influence_unit(side.explanation)
        columns += [
            (Column(f"rank_{name}", "rank", "count"), [each.ranks[index] for each in ranked]),
            (Column(f"influence_{name}", "influence", unit), influences),
        ]
    return Table.by_columns("facts", _title(sides), columns)


def _title(sides: Sequence[ComparedView]) -> str:
    predictions = [each.explanation.prediction for each in sides]
    texts = [query_text(vars(each), each.labels) for each in predictions]
    return f"{' and '.join(dict.fromkeys(texts)) or 'two predictions'} · compare"


def _content(sides: Sequence[ComparedView], overlap: Overlap | None) -> dict[str, Any]:
    """What the page and the file both show."""
    return {
        "sides": [_side(each) for each in sides],
        "said": [*_agreement(sides, overlap)] if overlap else [],
        "rows": [*_rows(sides)] if overlap else [],
        "noun": _noun(sides),
    }


def _offer(sides: Sequence[ComparedView], prices: Prices, here: str) -> Part | None:
    """A button for the closer estimate that one side lacks."""
    side = next((each for each in sides if each.closer is not None), None)
    if side is None or side.closer is None or len(sides) < 2:
        return None
    method, prediction = side.closer["method"], side.explanation.prediction
    n_trainings = get_method(method).trainings(side.explanation.n_adjacent)
    offer = Offer(
        f"Compute {method}",
        f"A closer estimate of {query_text(vars(prediction), prediction.labels)}. The page "
        "compares closer estimates when both sides have them.",
        dict(side.closer),
        prices.of(n_trainings, follows="sweep" in get_method(method).can),
    )
    name, offers, view = starts(Site(side.run), "about", [offer])
    return name, offers, view | {"page": here}


def _labels(predictions: Sequence[NamedPrediction], query: Mapping[str, str]) -> dict[str, str]:
    """The labels of the names in the form, for a script to show instead."""
    last = predictions[-1:] or ()
    return {
        place: each.labels[place] or ""
        for each in last
        for place in names.places_of(each)
        if names.name_of(each, place) == query.get(place)
    }


def _side(side: ComparedView) -> dict[str, Any]:
    explanation = side.explanation
    prediction = explanation.prediction
    return {
        "run": side.run,
        "about": side.about,
        "why": side.why,
        "text": query_text(vars(prediction), prediction.labels),
        "value": names.amount_text(prediction),
        "noun": names.output_noun(prediction),
        "rank": names.rank_text(prediction),
        "top": prediction.top_label,
        "is_top": prediction.top_answer == names.name_of(prediction, prediction.asks),
        "method": explanation.method,
        "estimate": explanation.estimate,
        "missing": "not among the strongest" if side.has_more else "no influence",
        "sentence": sentence.plain_sentence(explanation, mark=False),
    }


def _noun(sides: Sequence[ComparedView]) -> str:
    """What the facts of these explanations are called."""
    rated = any(names.has_ratings(side.explanation) for side in sides)
    return "rating" if rated else "fact"


def _agreement(sides: Sequence[ComparedView], overlap: Overlap) -> Iterator[str]:
    """How far both are made of the same facts."""
    first = [{_key(fact) for fact in _strongest(side)[:_SHOWN]} for side in sides]
    n_both, n_listed = len(first[0] & first[1]), min(map(len, first))
    noun, methods = _noun(sides), [side.explanation.method for side in sides]
    if methods[0] != methods[1]:
        yield (
            f"The two sides use different methods, {methods[0]} and {methods[1]}: compare the "
            f"order of their {noun}s, not the sizes."
        )
    yield f"Of the {n_listed} strongest {noun}s of each side, {n_both} are the same."
    if overlap.rank_agreement is None:
        yield f"Too few {noun}s matter for both to compare their influences."
        return
    yield (
        f"{units.count(overlap.n_facts, noun)} matter for both. Spearman's rho of their influences "
        f"is {show(overlap.rank_agreement, 'correlation')}; 1 means the same order."
    )


@dataclass(frozen=True)
class _Ranked:
    """A fact on both sides; None on a side that does not have it."""

    facts: list[ExplainedFact | None]
    ranks: list[int | None]
    both: bool
    """Whether both sides list it."""


def _ranked(sides: Sequence[ComparedView], limit: int | None) -> Iterator[_Ranked]:
    """The strongest facts of both sides: those in common first, then by rank."""
    by_key = [{_key(fact): fact for fact in _strongest(side)} for side in sides]
    places = [{key: place for place, key in enumerate(side, 1)} for side in by_key]
    shown = [[*side][:limit] for side in by_key]
    listed = {key: None for first in shown for key in first}

    def order(key: tuple[str, ...]) -> tuple[bool, int]:
        ranks = [side[key] for side in places if key in side]
        return not all(key in first for first in shown), min(ranks)

    for key in sorted(listed, key=order):
        facts, ranks = [side.get(key) for side in by_key], [side.get(key) for side in places]
        yield _Ranked(facts, ranks, both=all(key in first for first in shown))


def _rows(sides: Sequence[ComparedView]) -> Iterator[dict[str, Any]]:
    """The strongest facts of both sides as texts."""
    for each in _ranked(sides, _SHOWN):
        known = next(fact for fact in each.facts if fact is not None)
        yield {
            "text": query_text(vars(known), known.labels),
            "title": names.fact_text(known),
            "both": each.both,
            "cells": [
                None if fact is None or rank is None else _cell(side, fact, rank)
                for side, fact, rank in zip(sides, each.facts, each.ranks, strict=True)
            ],
        }


def _strongest(side: ComparedView) -> list[ExplainedFact]:
    """The facts of a side, for and against it, strongest first."""
    return sorted(side.explanation.facts, key=lambda fact: -abs(fact.influence))


def _cell(side: ComparedView, fact: ExplainedFact, rank: int) -> dict[str, Any]:
    sign, unit = sign_of(fact.influence), names.influence_unit(side.explanation)
    most = max(abs(each.influence) for each in side.explanation.facts)
    return {
        "rank": f"{rank:,}",
        "influence": typographic(show(fact.influence, unit)),
        "share": abs(fact.influence) / most if most else 0.0,
        "tone": "" if sign is NEITHER else sign.word,
    }


def _key(fact: ExplainedFact) -> tuple[str, ...]:
    return fact.subject, fact.relation or "", fact.object
