"""The card of an entity: its facts, and what the model predicts for it."""

from typing import Any

from whereof.explain.entity_card import EntityCard
from whereof.present.html import Site, render
from whereof.present.names import Words
from whereof.present.pages.address import address, answer_query
from whereof.units import count, show


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
        name=card.name if card.name != title else "",
        n_facts=count(card.n_facts, words.fact),
        relations=[_relation(each, words) for each in card.relations],
        predictions=[_prediction(site, each, words) for each in card.predictions if each.answers],
        words=words,
    )


def _relation(each: Any, words: Words) -> dict[str, Any]:
    other = "object" if each.place == "subject" else "subject"
    labels = []
    for fact in each.facts:
        text = words.label(getattr(fact, other), fact.labels[other], other)
        labels.append(text if fact.rating is None else f"{text} ({fact.rating:g})")
    mean = "" if each.mean_rating is None else f", mean rating {each.mean_rating:.2f}"
    return {
        "title": each.label or words.fact + "s",
        "inward": each.place == "object" and each.relation is not None,
        "count": f"{each.n_facts:,}{mean}",
        "labels": labels,
        "more": each.n_facts - len(labels),
    }


def _prediction(site: Site, found: Any, words: Words) -> dict[str, Any]:
    rows = []
    for each in found.answers:
        query = answer_query(found.query, found.asks, each.entity)
        value = show(each.score, "rating")
        if each.probability is not None:
            value = show(each.probability, "percent")
        label = words.label(each.entity, each.label, found.asks)
        rows.append({"label": label, "value": value, "why": address(site.run, "why", **query)})
    return {
        "title": found.labels["relation"] or found.query["relation"] or "",
        "inward": found.asks == "subject" and found.query["relation"] is not None,
        "rows": rows,
    }
