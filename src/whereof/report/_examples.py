"""A few predictions with the facts that made them."""

from collections.abc import Sequence

from whereof.drawing import explanation_svg
from whereof.drawing._table import caption, fact_columns, fact_rows, heads
from whereof.drawing._text import fact_text, has_falls, influence_text, safe, stands_text
from whereof.report._parts import Document, Section, paragraph

_SHOWN = 5


def examples(explanations: Sequence[Document]) -> Section:
    """Each with its graph and its strongest facts."""
    parts = [part for document in explanations for part in _example(document)]
    if parts:
        rated = explanations[0]["prediction"]["probability"] is None
        which = (
            "The new answers of the highest rating" if rated else "The most probable new answers"
        )
        parts.insert(0, paragraph(f"{which}, and the facts behind them."))
    return Section("Examples", tuple(parts), "examples")


def _example(document: Document) -> list[str]:
    facts, columns = document["facts"][:_SHOWN], fact_columns(document)
    parts = [
        f"<h3>{safe(fact_text(document['prediction']))}</h3>",
        paragraph(_first(document) or stands_text(document)),
        f'<div class="wide graph">{explanation_svg(document)}</div>',
    ]
    if facts:
        parts.append(
            f'<div class="wide"><table><caption>{safe(caption(document))}</caption>'
            f"<thead>{heads(columns)}</thead>\n<tbody>{''.join(fact_rows(columns, facts))}</tbody>"
            "</table></div>"
        )
    return parts


def _first(document: Document) -> str:
    """What the strongest fact does, in words."""
    facts = document["facts"]
    if not facts or not has_falls(document):
        return ""
    first = facts[0]
    return (
        f"{stands_text(document).capitalize()}. Of {document['n_adjacent']:,} adjacent facts, "
        f"{fact_text(first)} counts most: {influence_text(first['influence'], document)}."
    )
