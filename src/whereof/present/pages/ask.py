"""Ask: a query, its ranked answers, and predictions that are worth a look."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from whereof.explain.explanation import NamedPrediction
from whereof.predict.answers import Answers
from whereof.present import names
from whereof.present.html import Site, render
from whereof.present.names import SPLITS, Words, short_relation
from whereof.present.pages.address import AskAddress, address, answer_query, api_address
from whereof.types import PLACES

LISTS = {
    "confident-and-wrong": (
        "Confident and wrong",
        "The model is unusually sure of these answers, but the test set has others. Both may be "
        "right.",
    ),
    "unstable": ("Unstable", "Without its strongest fact, the top answer is estimated to change."),
    "top-new": (
        "Top new answers",
        "The most probable answers that are not in training or validation.",
    ),
    "test": (
        "Test set",
        "Facts of the test set, or of validation or training if there is no test set.",
    ),
}
"""Kinds of interesting predictions: their titles, and what they are."""
_RATED = {
    "confident-and-wrong": "The predicted rating is far from the true one.",
    "top-new": "The highest predicted ratings that are not in training or validation.",
}
"""What some of them are for a rating model."""


def ask_page(
    site: Site,
    here: AskAddress,
    *,
    two_way: bool,
    rated: bool = False,
    answers: Answers | None = None,
    most: int | None = None,
    kind: str = "",
    interesting: Sequence[Any] | None = None,
    error: str = "",
    scale: tuple[float, float] | None = None,
) -> str:
    """The page.

    most: the largest number of answers that may be asked for. kind: of the interesting predictions;
    without any, a script fetches them. error: why there are no answers or, with a kind, why there
    is no such list. scale: the lowest and the highest rating of the data.
    """
    words = Words.of(two_way=two_way, rated=scale is not None)
    shown = kind or next(iter(LISTS))
    about = {name: text for name, (_, text) in LISTS.items()} | (_RATED if rated else {})
    lists = [
        (title, address(site.run, "ask", list=name), name == shown)
        for name, (title, _) in LISTS.items()
    ]
    return render(
        "ask",
        f"Ask {site.run}",
        site,
        ["ask.js"],
        words=words,
        two_way=two_way,
        here=here,
        query=_parts(answers, words) if answers else "",
        answers=[] if answers is None else _answers(site, answers, words, scale),
        noun=_noun(answers),
        more=_more(site, here, answers, most),
        known=_known_text(here, answers, words),
        scale=names.scale_text((each.score for each in answers.answers), *scale)
        if answers and scale and rated
        else "",
        switch=_switch(site, here, answers, words) if two_way else None,
        labels=_labels(here, answers),
        names=api_address(site.run, "names"),
        action=address(site.run, "ask"),
        lists=lists,
        kind=kind,
        about=about.get(shown, ""),
        source=address(site.run, "ask", list=shown),
        interesting=None if interesting is None else _listed(site, interesting, words, scale),
        error=error,
    )


def _parts(answers: Answers, words: Words) -> list[tuple[str, str]]:
    """The parts of the query: kind and text."""
    parts = []
    for place in PLACES[3]:
        name = answers.query[place]
        if place == answers.asks:
            parts.append(("open", f"which {words.place(place)}?"))
        elif name is not None:
            label = answers.labels[place]
            text = label or name if place == "relation" else words.label(name, label, place)
            parts.append((place, text))
    return parts


def _labels(here: AskAddress, answers: Answers | None) -> dict[str, str]:
    """The labels of the names in the form, for scripts to show instead."""
    if answers is None:
        return {}
    given = {place for place in answers.query if getattr(here, place) == answers.query[place]}
    return {place: answers.labels[place] or "" for place in given}


def _answers(
    site: Site, answers: Answers, words: Words, scale: tuple[float, float] | None
) -> list[dict[str, Any]]:
    found, query = answers.answers, answers.query
    most, labels = largest(answers), Counter(each.label for each in found)
    rows = []
    for each in found:
        place = answer_query(query, answers.asks, each.entity)
        rows.append(
            {
                "label": words.label(each.entity, each.label, answers.asks),
                "name": each.entity if each.label != each.entity else "",
                "shares_label": labels[each.label] > 1,
                "value": names.value_text(each, scale),
                "share": None if each.probability is None else each.probability / most,
                "rank": each.rank,
                "known": SPLITS.get(each.known or "", ""),
                "why": address(site.run, "why", **place),
            }
        )
    return rows


def _noun(answers: Answers | None) -> str:
    """What the model predicts: probability or rating."""
    found = () if answers is None else answers.answers
    return "rating" if any(each.probability is None for each in found) else "probability"


def largest(answers: Answers) -> float:
    """The largest probability, or the largest rating, of answers."""
    values = (
        each.score if each.probability is None else each.probability for each in answers.answers
    )
    return max((abs(value) for value in values), default=0.0) or 1.0


def _more(site: Site, here: AskAddress, answers: Answers | None, most: int | None) -> str:
    """The address of the same query with more answers; empty if there are none."""
    top = 5 * here.top if most is None else min(5 * here.top, most)
    if answers is None or len(answers.answers) < here.top or top == here.top:
        return ""
    return _again(site, here, top=top)


def _known_text(here: AskAddress, answers: Answers | None, words: Words) -> str:
    """Why some rows have no rank, or are left out."""
    found = () if answers is None else answers.answers
    if not all(each.is_new for each in found):
        return "Answers that are known from training or validation have no rank."
    if words.two_way and answers is not None and not here.known:
        return f"Only new {words.place(answers.asks)}s."
    return ""


def _switch(
    site: Site, here: AskAddress, answers: Answers | None, words: Words
) -> tuple[str, str] | None:
    """Text and address of the same query with, or without, what is known already."""
    if answers is None or (here.subject and here.object):
        return None
    text = "Also those already rated" if words.fact == "rating" else "Also those already known"
    if here.known:
        text = f"Only new {words.place(answers.asks)}s"
    return text, _again(site, here, known=not here.known)


def _again(site: Site, here: AskAddress, **changed: Any) -> str:
    return address(site.run, "ask", **replace(here, **changed).query())


def _listed(
    site: Site, found: Sequence[Any], words: Words, scale: tuple[float, float] | None
) -> list[dict[str, Any]]:
    rows = []
    for each in found:
        prediction: NamedPrediction = each
        parts = [
            (place, words.label(getattr(prediction, place), prediction.labels[place], place))
            for place in PLACES[3]
            if getattr(prediction, place) is not None
        ]
        if prediction.relation is not None:
            relation = prediction.labels["relation"] or prediction.relation
            parts[1] = ("relation", short_relation(relation))
        query = {place: getattr(prediction, place) for place in PLACES[3]}
        place = answer_query(query, prediction.asks, query[prediction.asks])
        rows.append(
            {
                "parts": parts,
                "value": names.value_text(prediction, scale),
                "about": _about(each, words, scale),
                "why": address(site.run, "why", **place),
            }
        )
    return rows


def _about(each: Any, words: Words, scale: tuple[float, float] | None) -> str:
    """Why a prediction is worth a look, in a few words."""
    if (fact := getattr(each, "fact", None)) is not None:
        top = fact.labels.get("top_answer_without") or fact.top_answer_without
        thing = "fact" if fact.rating is None else "rating"
        return f"estimated top answer without its strongest {thing}: {top}"
    rating, is_true = each.true_rating, getattr(each, each.asks) == each.true_answer
    rated = "" if rating is None else names.rating_text(rating, scale)
    true = words.label(each.true_answer, each.labels.get("true_answer"), each.asks)
    if names.is_rated(each):  # another item's rating says nothing about this one
        return f"true rating {rated}" if rated and is_true else ""
    true = "a true answer" if is_true else f"a true answer is {true}"
    return f"{true}, rank {each.true_rank:,}{f', rated {rated}' if rated else ''}"
