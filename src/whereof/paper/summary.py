"""What the tables say, in sentences."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from whereof import units
from whereof.evaluate.protocol import protocols
from whereof.evaluate.protocols.leave_one_out import Order
from whereof.paper.compare import relative_drop, truth_methods
from whereof.paper.figures import Comparison
from whereof.paper.measure import Results
from whereof.paper.published import METRICS

_COMPARED = {"table1": "Table 1", "criage": "CRIAGE table", "models": "Model table"}
_NAMED = 6
"""The most figures outside our range that a sentence names."""
_LEVEL = 0.05


def summarise(results: Results, tables: Sequence[Comparison]) -> list[str]:
    """Sentences: what is missing, where the paper's figures lie, whether its claims hold."""
    by_name = {table.name: table for table in tables}
    return [
        *_unfinished(results),
        *(sentence for name in _COMPARED if name in by_name for sentence in _range(by_name[name])),
        *_distances(by_name),
        *_criage(by_name),
        *_claims(results),
        *_truth(results),
    ]


def _unfinished(results: Results) -> Iterator[str]:
    titles = [part.title for part in results.missing]
    if titles:
        n_parts = len(titles) + len(results.parts)
        yield (
            f"Not finished: {len(titles)} of {n_parts} parts are missing ({'; '.join(titles)}). "
            "Run the same command again to continue."
        )
    if limit := results.options.limit:
        yield (
            f"A trial: {limit} predictions per seed, drawn at random (--limit). The paper uses "
            "more."
        )


def _range(table: Comparison) -> Iterator[str]:
    """Where the paper's figures lie in our range of seeds; it does not print differences."""
    named = [
        (f"{' '.join(row.names)} {column}", figure)
        for row in table.rows
        for column, figure in zip(table.columns, row.figures, strict=True)
        if figure and figure.paper_is and figure.unit != "points"
    ]
    if not named:
        return
    beside = f"{_COMPARED[table.name]}, the paper's {len(named)} figures beside"
    n_seeds = max(len(figure.seeds) for _, figure in named)
    if n_seeds == 1:
        apart = [100 * abs((figure.mean or 0) - (figure.paper or 0)) for _, figure in named]
        yield f"{beside} our one seed: {sum(apart) / len(apart):.1f} points apart on average."
        return
    sides: dict[str, list[str]] = {"inside": [], "below": [], "above": []}
    for name, figure in named:
        text = f"{name} (paper {figure.paper_text}, ours {figure.seeds_text})"
        sides[figure.paper_is or ""].append(text)
    counts = ", ".join(f"{side} {len(texts)}" for side, texts in sides.items())
    yield f"{beside} the range of our {n_seeds} seeds: {counts}."
    for side in ("below", "above"):
        if texts := sides[side]:
            more = f", and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
            first = "; ".join(texts[:_NAMED])
            yield f"{_COMPARED[table.name]}, the paper's {side} ours: {first}{more}."


def _distances(tables: Mapping[str, Comparison]) -> Iterator[str]:
    """Rollback against random removals, without the first fact and in all columns."""
    if "table1" not in tables:
        return
    table = tables["table1"]
    rows = {row.names[:-1]: row.figures for row in table.rows if row.names[-1] == "difference"}
    for names, (points, *_) in rows.items():
        share = table.figures(*names, "rollback")[0]
        if share and points:
            ours = points.mean or 0
            yield (
                f"{', '.join(names)}: without the fact that rollback ranks first, the probability "
                f"falls in {units.show(share.mean, 'percent')} of predictions, "
                f"{units.points(ours)} {'more' if ours >= 0 else 'less'} than without a random "
                f"fact (paper {points.paper_text})."
            )
    for names, figures in rows.items():
        larger = {
            column: figure.mean > figure.paper
            for column, figure in zip(table.columns, figures, strict=True)
            if figure and figure.mean is not None and figure.paper is not None
        }
        columns = [column for column in larger if larger[column]]
        named = f" ({', '.join(columns)})" if columns else ""
        yield (
            f"{', '.join(names)}: rollback's distance to random is larger than the paper's in "
            f"{len(columns)} of {len(larger)} columns{named}."
        )


def _criage(tables: Mapping[str, Comparison]) -> Iterator[str]:
    if "criage" not in tables or "criage-p" not in tables:
        return
    compared = (("criage", "rollback"), ("criage", "criage"), ("criage-p", "rollback, criage"))
    mine, theirs, p_values = (
        [
            figure.mean or 0.0
            for metric in METRICS.values()
            for figure in tables[name].figures(method, metric)
            if figure
        ]
        for name, method in compared
    )
    at_least = sum(a >= b for a, b in zip(mine, theirs, strict=True))
    yield (
        f"CRIAGE table: rollback is at or above criage in {at_least} of {len(mine)} figures; "
        f"{sum(p < _LEVEL for p in p_values)} of {len(p_values)} differences have p < {_LEVEL:g}."
    )


def _claims(results: Results) -> Iterator[str]:
    """What the protocols themselves say about constraints and theory."""
    for mine in (*results.find("approximation"), *results.find("theory")):
        for protocol in protocols(mine.part.options.protocols):
            headlines = list(protocol.headlines(mine.evaluation))
            yield from headlines or protocol.sentences(mine.evaluation)


def _truth(results: Results) -> Iterator[str]:
    methods = truth_methods(results)
    for mine in results.find("truth") if methods else ():
        orders = next(iter(methods.values()))
        best = _mean_drop(orders, [order.best_drop for order in orders])
        # One retraining may serve two predictions.
        n_facts = mine.evaluation.leave_one_out[0].n_facts
        yield (
            f"The truth: all {n_facts:,} facts adjacent to {len(orders)} predictions, each removed "
            f"alone. The best fact of a prediction lowers its probability by "
            f"{100 * best:.0f}% on average."
        )
    for method, orders in methods.items():
        first = _mean_drop(orders, [order.first_drop for order in orders])
        yield (
            f"The truth, {method}: removing the fact it ranks first "
            f"{'lowers' if first >= 0 else 'raises'} the probability by {100 * abs(first):.0f}% on "
            "average, and the best fact is always among its first "
            f"{max(order.best_rank for order in orders):,}."
        )


def _mean_drop(orders: Sequence[Order], drops: Sequence[float]) -> float:
    return float(np.mean([drop or 0.0 for drop in map(relative_drop, orders, drops)]))
