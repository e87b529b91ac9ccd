"""The card of an entity: its facts, and what the model predicts for it."""

from typing import Any

from whereof.explain.entity_card import EntityCard
from whereof.present.html import Site, render
from whereof.present.names import SPLITS, Words
from whereof.present.pages.address import address, answer_query
from whereof.units import count, show

_FIRST = 5
"""Relations that are shown at once; the others are folded."""


def entity_page(site: Site, card: EntityCard) -> str:
    """The page; other pages show it in a dialog."""
    rated = any(each.mean_rating is not None for each in card.relations)
    words = Words.of(two_way=card.place is not None, rated=rated)
    title = words.label(card.name, card.label, card.place or "subject")
    return render(
        "entity",
        title,
        site,
        heading=title,
        name=card.name if card.name != title and not title.endswith(f" {card.name}") else "",
        n_facts=count(card.n_facts, words.fact),
        relations=[_relation(each, words, title) for each in card.relations],
        first=_FIRST,
        held_out=[_held_out(each, words, card) for each in card.held_out],
        n_more_held_out=card.n_held_out - len(card.held_out),
        predictions=[
            _prediction(site, each, words, title) for each in card.predictions if each.answers
        ],
        words=words,
    )


def _relation(each: Any, words: Words, entity: str) -> dict[str, Any]:
    other = "object" if each.place == "subject" else "subject"
    labels = []
    for fact in each.facts:
        text = words.label(getattr(fact, other), fact.labels[other], other)
        labels.append(text if fact.rating is None else f"{text} ({fact.rating:g})")
    mean = "" if each.mean_rating is None else f", mean rating {each.mean_rating:.2f}"
    return {
        "title": _triple(entity, each.label, other, "…") if each.label else f"{words.fact}s",
        "count": f"{each.n_facts:,}{mean}",
        "labels": labels,
        "more": each.n_facts - len(labels),
    }


def _triple(entity: str, relation: str, open_place: str, mark: str) -> str:
    """An entity and a relation, with a mark in the other place."""
    first, last = (entity, mark) if open_place == "object" else (mark, entity)
    return f"{first} {relation} {last}"


def _held_out(fact: Any, words: Words, card: EntityCard) -> str:
    """A fact that the model was not trained on, and its split."""
    parts = [each for each in words.parts(fact) if each[0] != card.place]
    text = " ".join(label for _, label, _ in parts)
    rating = "" if fact.rating is None else f", rating {fact.rating:g}"
    return f"{text}{rating} ({SPLITS[fact.split]})"


def _prediction(site: Site, found: Any, words: Words, entity: str) -> dict[str, Any]:
    rows = []
    for each in found.answers:
        query = answer_query(found.query, found.asks, each.entity)
        value = show(each.score, "rating")
        if each.probability is not None:
            value = show(each.probability, "chance")
        label = words.label(each.entity, each.label, found.asks)
        rows.append({"label": label, "value": value, "why": address(site.run, "why", **query)})
    relation = found.labels["relation"] or found.query["relation"] or ""
    title = f"Which {words.place(found.asks)}s?"
    return {
        "title": _triple(entity, relation, found.asks, "?") if relation else title,
        "rows": rows,
    }
