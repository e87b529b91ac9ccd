"""How methods order facts on FB15k-237, beside what removing every one of them did."""

from collections.abc import Iterator, Sequence

import numpy as np

from whereof.paper._plan import OTHER_CREDIT, TRUTH
from whereof.paper._qualitative import short_relation
from whereof.paper._records import Figure, Row, Table
from whereof.paper._results import Document, Results, make_table

_ABOUT = (
    "DistMult with lazy Adam. Every adjacent fact of a prediction was removed alone and the model "
    "retrained: that is the truth. Rho is Spearman's, of estimated and true influence. Drops are "
    "in percent of the probability before. The rank of the best is where a method has the fact "
    "whose removal lowers the probability most: retraining without each of so many finds it."
)


def truth_table(results: Results) -> Table | None:
    """One row a method, over all predictions."""
    rows = []
    for method, orders in _methods(results).items():
        firsts, bests = ([_drop(each, name) for each in orders] for name in ("first", "best"))
        ranks = [order["best_rank"] for order in orders]
        rho = _mean([order["rho"] for order in orders], "number")
        figures = (rho, _mean(ranks, "facts"), Figure(max(ranks), n=len(orders), unit="facts"))
        rows.append(Row((method,), (*figures, _mean(firsts, "share"), _mean(bests, "share"))))
    columns = ("rho", "rank of best", "at most", "first fact drops", "best fact drops")
    title = "The truth: every adjacent fact removed alone, means over predictions"
    return make_table("truth", title, _ABOUT, "method", columns, rows)


def truth_predictions_table(results: Results) -> Table | None:
    """One row for every prediction and method."""
    rows = [
        Row((_words(results, order), method), _figures(order))
        for number in range(_n_predictions(results))
        for method, orders in _methods(results).items()
        for order in orders[number : number + 1]
    ]
    about = "The same, prediction by prediction."
    columns = (
        *("probability", "adjacent facts", "rho", "rank of best"),
        *("first fact drops", "best fact drops"),
    )
    title = "The truth, prediction by prediction"
    return make_table("truth-predictions", title, about, "prediction method", columns, rows)


def truth_sentences(results: Results) -> Iterator[str]:
    """What was found, in plain words."""
    methods = _methods(results)
    if not methods:
        return
    orders = next(iter(methods.values()))
    # One retraining may serve two predictions.
    n_facts = results.parts[TRUTH]["evaluation"]["leave_one_out"][0]["n_facts"]
    best = np.mean([_drop(order, "best") or 0.0 for order in orders])
    yield (
        f"The truth: all {n_facts:,} facts adjacent to {len(orders)} predictions, each removed "
        f"alone. The best one of a prediction lowers its probability by {100 * best:.0f}% on "
        "average."
    )
    for method, mine in methods.items():
        first = np.mean([_drop(order, "first") or 0.0 for order in mine])
        moves = "lowers" if first >= 0 else "raises"
        rank = max(order["best_rank"] for order in mine)
        yield (
            f"The truth, {method}: removing the fact it ranks first {moves} the probability by "
            f"{100 * abs(first):.0f}% on average, and the best one is always among its first "
            f"{rank:,}."
        )


def _methods(results: Results) -> dict[str, Sequence[Document]]:
    """Orders of predictions, by method; rollback by each credit, with its name."""
    part = results.parts.get(TRUTH)
    if part is None:
        return {}
    evaluation = part["evaluation"]
    own = {row["method"]: row["orders"] for row in evaluation["leave_one_out"]}
    other, mine = f"rollback, {OTHER_CREDIT}", f"rollback, {evaluation['config']['credit']}"
    found = {other: part["other_credit"], mine: own.pop("rollback", ()), **own}
    return {method: orders for method, orders in found.items() if orders}


def _n_predictions(results: Results) -> int:
    return max(map(len, _methods(results).values()), default=0)


def _figures(order: Document) -> tuple[Figure | None, ...]:
    return (
        Figure(order["original"], unit="number"),
        Figure(order["n_adjacent"], unit="facts"),
        Figure(order["rho"], unit="number"),
        Figure(order["best_rank"], unit="facts"),
        Figure(_drop(order, "first")),
        Figure(_drop(order, "best")),
    )


def _drop(order: Document, which: str) -> float | None:
    """As a share of the probability before; None where that was 0."""
    original = order["original"]
    return order[f"{which}_drop"] / original if original else None


def _mean(values: Sequence[float | None], unit: str) -> Figure:
    known = [value for value in values if value is not None]
    return Figure(float(np.mean(known)) if known else None, n=len(known), unit=unit)


def _words(results: Results, order: Document) -> str:
    labels = results.parts[TRUTH]["labels"]
    subject, object_ = (labels.get(order[name], order[name]) for name in ("subject", "object"))
    return f"{subject} - {short_relation(order['relation'])} - {object_}"
