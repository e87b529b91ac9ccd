"""The facts of an explanation as an HTML table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from whereof.drawing._colours import sign_of
from whereof.drawing._text import (
    PLACES,
    Document,
    fact_text,
    influence_text,
    label_of,
    measure_text,
    percent,
    role_text,
    safe,
)


@dataclass(frozen=True)
class Column:
    """One column: what its cells show, and what they are sorted by."""

    title: str
    cell: Callable[[Document], str]
    key: Callable[[Document], Any]
    is_number: bool = True


def fact_columns(document: Document, *, full: bool = False) -> list[Column]:
    """The columns of a table of facts; those that no fact fills are left out."""
    columns = {
        "rank": Column("rank", lambda fact: str(fact["rank"]), _taken("rank")),
        "fact": Column("fact", _full_fact if full else _fact, fact_text, is_number=False),
        "role": Column("role", lambda fact: safe(role_text(fact)), role_text, is_number=False),
        "influence": Column(
            "influence",
            lambda fact: _signed(fact, influence_text(fact["influence"], document)),
            _taken("influence"),
        ),
        "probability_without": Column(
            "probability without", _probability_without, _taken("probability_without")
        ),
        "share": Column("share", _share, _taken("share")),
        "top_answer_changes": Column(
            "top answer changes", _change, _taken("top_answer_changes"), is_number=False
        ),
    }
    if full:
        columns["source"] = Column(
            "source", lambda fact: safe(fact.get("source") or ""), _taken("source"), is_number=False
        )
        columns["fact_id"] = Column("id", lambda fact: str(fact["fact_id"]), _taken("fact_id"))
    facts = document["facts"]
    return [
        column
        for name, column in columns.items()
        if name == "fact" or any(fact.get(name) is not None for fact in facts)
    ]


def fact_rows(
    columns: Sequence[Column], facts: Sequence[Document], *, sortable: bool = False
) -> Iterator[str]:
    """One row a fact; a sortable one says what its cells are sorted by."""
    for fact in facts:
        cells = []
        for column in columns:
            key = f' data-key="{safe(_key(column.key(fact)))}"' if sortable else ""
            cells.append(f"<td{_class_of(column)}{key}>{column.cell(fact)}</td>")
        yield f"<tr>{''.join(cells)}</tr>"


def heads(columns: Sequence[Column]) -> str:
    """The row of column heads."""
    cells = (f'<th scope="col"{_class_of(column)}>{safe(column.title)}</th>' for column in columns)
    return f"<tr>{''.join(cells)}</tr>"


def caption(document: Document) -> str:
    """What the numbers of the table mean."""
    return (
        f"{measure_text(document)}; positive supports the prediction, negative opposes it. "
        "Share is of the influence of all listed facts, whatever its sign."
    )


def _class_of(column: Column) -> str:
    if column.title == "fact":
        return ' class="fact"'
    return ' class="number"' if column.is_number else ""


def _taken(name: str) -> Callable[[Document], Any]:
    return lambda fact: fact.get(name)


def _key(value: Any) -> str:
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, bool | int | float) else str(value)


def _fact(fact: Document) -> str:
    full = fact_text(fact, full=True)
    parts = (
        f"<i>{safe(label_of(fact, place))}</i>"
        if place == "relation"
        else safe(label_of(fact, place))
        for place in PLACES
        if fact[place] is not None
    )
    return f'<span title="{safe(full)}">{" ".join(parts)}</span>'


def _full_fact(fact: Document) -> str:
    """Labels, and below them the names that they stand for."""
    names = (fact[place] for place in PLACES if fact[place] not in (None, label_of(fact, place)))
    below = ", ".join(names)
    return _fact(fact) + (f"<small>{safe(below)}</small>" if below else "")


def _signed(fact: Document, text: str) -> str:
    return f'<span class="{_sign_class(fact)}">{safe(text)}</span>'


def _probability_without(fact: Document) -> str:
    probability = fact["probability_without"]
    return "" if probability is None else percent(probability)


def _share(fact: Document) -> str:
    """The share in words, with a bar as long as it."""
    width = f"{100 * fact['share']:.1f}"
    bar = (
        f'<span class="bar"><span class="{_sign_class(fact)}" style="width:{width}%"></span></span>'
    )
    return f"{percent(fact['share'])} {bar}"


def _change(fact: Document) -> str:
    if fact["top_answer_changes"] is None:
        return ""
    if not fact["top_answer_changes"]:
        return "no"
    answer = fact["labels"].get("top_answer_without")
    return "yes" if answer is None else f"to {safe(answer)}"


def _sign_class(fact: Document) -> str:
    return sign_of(fact["influence"]).word.partition(" ")[0]
