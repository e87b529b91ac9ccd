"""How methods order the facts of single predictions, in the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from whereof.cli._columns import Column, aligned

Document = dict[str, Any]

_MOST = 40
"""Lines that are shown; of more, the document tells."""


def show_orders(out: Console, rows: Sequence[Document], worth: str) -> None:
    """The rows of leave-one-out prediction by prediction, where these are few.

    Drops are in percent of the probability before; of ratings, which may be 0, as they are.
    """
    pairs = [(row["method"], order) for row in rows for order in row["orders"]]
    if not 0 < len(pairs) <= _MOST:
        return
    pairs.sort(key=lambda pair: (pair[1]["seed"], _name(pair[1])))
    orders = [order for _, order in pairs]
    unit = "rating" if worth == "rating" else "percent"
    out.print(
        f"By prediction: its fall in {unit} without the first and the best fact", style="bold"
    )
    columns = (
        Column("prediction", [_name(order) for order in orders], cut=True),
        Column("method", [method for method, _ in pairs], cut=True),
        Column("facts", [f"{order['n_adjacent']:,}" for order in orders], right=True),
        Column("rho", [_number(order["rho"]) for order in orders], right=True),
        Column("first", [_drop(order, "first", worth) for order in orders], right=True),
        Column("best", [_drop(order, "best", worth) for order in orders], right=True),
        Column("rank of best", [f"{order['best_rank']:,}" for order in orders], right=True),
    )
    out.print(aligned(columns, out.width), end="")


def _name(order: Document) -> str:
    places = (order["subject"], order["relation"], order["object"])
    return " ".join(place for place in places if place is not None)


def _drop(order: Document, which: str, worth: str) -> str:
    drop, original = order[f"{which}_drop"], order["original"]
    if worth == "rating":
        return _number(drop)
    return f"{100 * drop / original:.1f}" if original and drop is not None else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
