"""The paper's tables, made from the results of finished parts, and what they say in sentences."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import cycle, product

import numpy as np

from whereof import units
from whereof.evaluate.protocol import protocols
from whereof.evaluate.protocols.leave_one_out import Order
from whereof.paper.figures import Comparison, Count, Figure, Row, counts_text
from whereof.paper.measure import PartResult, Results
from whereof.paper.plan import CRIAGE_SIZES, METRICS, SIZES, TABLES

_COMPARED = {"table1": "Table 1", "criage": "CRIAGE table", "models": "Model table"}
_NAMED = 6
"""The most figures outside our range that a sentence names."""
_LEVEL = 0.05


def compare(results: Results) -> list[Comparison]:
    """Every table with at least one finished row, beside the paper's figures."""
    printed, tables = results.options.published, []
    lazy = ", ".join(f"{name}={value}" for name, value in printed.lazy.items())
    for name, text in TABLES.items():
        table, rows = Comparison(name, **text), []
        for row in (row for mine in results.find(table.parts) for row in _ROWS[name](mine)):
            papers = (*printed.row(name, row.names), *[math.nan] * len(row.figures))
            both = zip(row.figures, cycle(table.units.split()), papers, strict=False)
            figures = [it and it.beside(unit, paper) for it, unit, paper in both]
            rows.append(replace(row, figures=figures))
        firsts = [*dict.fromkeys(row.names[0] for row in rows)]
        rows.sort(key=lambda row: firsts.index(row.names[0]))
        texts = table.about.format(lazy=lazy), counts_text(rows)
        if rows:
            tables.append(replace(table, about=" ".join(filter(None, texts)), rows=rows))
    return tables


def _row(mine: PartResult, figures: Sequence[Figure | None], *names: str) -> Row:
    return Row((*mine.names, *names), figures, mine.count)


def _shares(mine: PartResult, method: str, metric: str, sizes: Sequence[str]) -> list[Figure]:
    """A share of predictions by number of removed facts."""
    found = {str(row.k): row for row in mine.evaluation.removal if row.method == method}
    return [Figure.of(found[k], metric, found[k].n_predictions) for k in sizes]


def _released(mine: PartResult, metrics: Iterable[str] = ("tc_released",)) -> Iterator[Row]:
    for method in ("random", "rollback"):
        shares = [share for metric in metrics for share in _shares(mine, method, metric, SIZES)]
        yield _row(mine, shares, method)


def _table1(mine: PartResult) -> Iterator[Row]:
    yield from _released(mine, METRICS)
    points = dict[tuple[str, str], Figure]()
    for row in mine.significance:
        values = row.difference, row.interval, row.seeds, mine.evaluation.n_predictions
        points[row.metric, str(row.k)] = Figure(*values, unit="points")
    yield _row(mine, [*map(points.get, product(METRICS, SIZES))], "difference")


def _sizes(mine: PartResult) -> Iterator[Row]:
    for row in mine.evaluation.removal:
        if (row.method, row.k) == ("rollback", "all"):
            adjacent = Figure.of(mine.evaluation, "n_adjacent")
            yield _row(mine, [Figure.of(row, "removed"), adjacent])


def _criage(mine: PartResult) -> Iterator[Row]:
    for method, metric in product(mine.part.options.methods, METRICS):
        shares = _shares(mine, method, metric, CRIAGE_SIZES)
        yield Row((method, METRICS[metric]), shares, mine.count)


def _criage_p(mine: PartResult) -> Iterator[Row]:
    found: dict[tuple[str, str], dict[str, Figure]] = {}
    for row in mine.significance:
        names = (f"{row.method}, {row.baseline}", METRICS[row.metric])
        found.setdefault(names, {})[str(row.k)] = Figure(row.p_value)
    for names, values in found.items():
        yield Row(names, [values[k] for k in CRIAGE_SIZES], mine.count)


def _criage_seconds(mine: PartResult) -> Iterator[Row]:
    for method in mine.part.options.methods:
        yield Row((method,), [Figure.over(_explaining(mine, method))], mine.count)


def _explaining(mine: PartResult, method: str) -> Sequence[float]:
    """Seconds of one explanation, by seed; empty if they were not measured."""
    return (mine.evaluation.explain_seconds_seeds or {}).get(method, ())


def _models(mine: PartResult) -> Iterator[Row]:
    tests = [metrics["test"] for metrics in mine.metrics if "test" in metrics]
    filters = {"paper's": [test["paper_filter"] for test in tests], "standard": tests}
    for name, metrics in filters.items() if tests else ():
        columns = map(str.lower, TABLES["models"]["columns"])
        values = ([each[it] for each in metrics if it in each] for it in columns)
        yield Row((*mine.names, name), [*map(Figure.over, values)], Count(None, len(tests)))


def _times(mine: PartResult) -> Iterator[Row]:
    seconds = mine.training_seconds, _explaining(mine, "rollback")
    in_units = ([each / size for each in found] for found in seconds for size in (1, 60))
    yield _row(mine, [*map(Figure.over, in_units)])


def _approximation(mine: PartResult) -> Iterator[Row]:
    for row in mine.evaluation.approximation:
        names = ("pearson_probability", "pearson_change")
        figures = [Figure.of(row, name, row.n_points) for name in names]
        yield _row(mine, [*figures, Figure.of(row, "lipschitz")], row.constraint)


def _boxes(mine: PartResult) -> Iterator[Row]:
    for row in mine.evaluation.changes:
        if (row.method, row.baseline) == ("rollback", "random"):
            yield _row(mine, [*map(Figure, astuple(row.spread)[:6])], str(row.k))


def _steadiness(mine: PartResult) -> Iterator[Row]:
    if found := mine.evaluation.steadiness:
        others = map(Figure, (found.mean_change, found.n_removals))
        yield _row(mine, [Figure(found.changed, found.interval), *others])


def _theory(mine: PartResult) -> Iterator[Row]:
    """The protocol's own table."""
    for protocol in protocols(mine.part.options.protocols):
        for table in protocol.tables(mine.evaluation):
            for quantity, value in table.rows:
                yield Row((quantity,), [Figure(value)], mine.count)


def _orders(mine: PartResult) -> dict[str, Sequence[Order]]:
    """How methods rank the facts of each prediction, by method; rollback with either credit."""
    own = {row.method: row.orders for row in mine.evaluation.leave_one_out}
    credits = {
        f"rollback, {mine.part.other_credit}": mine.other_credit,
        f"rollback, {mine.part.settings['credit']}": own.pop("rollback", ()),
    }
    return {method: orders for method, orders in (credits | own).items() if orders}


def _drops(order: Order) -> tuple[float | None, ...]:
    """Without the first and without the best fact, as shares of the probability before."""
    drops, whole = (order.first_drop, order.best_drop), order.original
    return tuple(drop / whole if whole else None for drop in drops)


def _truth(mine: PartResult) -> Iterator[Row]:
    for method, orders in _orders(mine).items():
        ranks = [order.best_rank for order in orders]
        most = Figure(max(ranks), n_predictions=len(ranks))
        drops = map(_mean, zip(*map(_drops, orders), strict=True))
        yield Row((method,), [_mean([it.rho for it in orders]), _mean(ranks), most, *drops])


def _mean(values: Iterable[float | None]) -> Figure:
    known = [value for value in values if value is not None and units.is_number(value)]
    return Figure(float(np.mean(known)) if known else None, n_predictions=len(known))


def _truth_predictions(mine: PartResult) -> Iterator[Row]:
    for method, orders in _orders(mine).items():
        for it in orders:
            names = {"subject": it.subject, "object": it.object}
            shown = {place: mine.labels.get(name, name) for place, name in names.items()}
            values = it.original, it.n_adjacent, it.rho, it.best_rank, *_drops(it)
            yield Row((_words(it.relation, shown), method), [*map(Figure, values)])


def _qualitative(mine: PartResult) -> Iterator[Row]:
    config = mine.evaluation.config
    for example in mine.qualitative:
        asked, n_adjacent = example.ours.prediction, example.ours.n_adjacent
        for whose, facts in (("ours", example.ours.facts), ("paper's", example.paper)):
            for fact in facts:
                values = asked.probability, fact.rank, n_adjacent, fact.influence
                prediction, shown = (_words(it.relation, it.labels) for it in (asked, fact))
                training = f"{config['optimizer']}, credit={config['credit']}"
                yield Row((prediction, training, whose, shown), [*map(Figure, values)])


def _words(relation: str | None, labels: Mapping[str, str | None]) -> str:
    """A fact in words; of the relation, the last word of its path: /location/.../currency."""
    last = (relation or "").rsplit("/", 1)[-1].replace("_", " ")
    return f"{labels['subject']} - {last} - {labels['object']}"


_ROWS: Mapping[str, Callable[[PartResult], Iterator[Row]]] = {
    "table1": _table1,
    "table1-released": _released,
    "sizes": _sizes,
    "criage": _criage,
    "criage-p": _criage_p,
    "criage-seconds": _criage_seconds,
    "models": _models,
    "times": _times,
    "approximation": _approximation,
    "boxes": _boxes,
    "steadiness": _steadiness,
    "theory": _theory,
    "truth": _truth,
    "truth-predictions": _truth_predictions,
    "qualitative": _qualitative,
}
"""By table: the rows that a part gives."""


def summarise(results: Results, tables: Sequence[Comparison]) -> list[str]:
    """Sentences: what is missing, where the paper's figures lie, whether its claims hold."""
    found, said = {table.name: table for table in tables}, list[str]()
    if titles := [part.title for part in results.missing]:
        which = f"{len(titles)} of {len(titles) + len(results.finished)} parts"
        missing = f"Not finished: {which} are missing ({'; '.join(titles)})."
        said.append(f"{missing} Run the same command again to continue.")
    if limit := results.options.limit:
        per_seed = f"{limit} predictions per seed, drawn at random (--limit)"
        said.append(f"A trial: {per_seed}. The paper uses more.")
    said += [each for name in _COMPARED if name in found for each in _where_it_lies(found[name])]
    if "table1" in found:
        said += _distances(found["table1"])
    if "criage" in found:
        said.append(_against_criage(found["criage"], found["criage-p"]))
    for mine in results.find("approximation theory"):
        for protocol in protocols(mine.part.options.protocols):
            most = 1 if protocol.name == "theory" else None
            said += [*protocol.sentences(mine.evaluation)][:most]
    for mine in results.find("truth"):
        said += _about_truth(mine, found["truth"])
    return said


def _where_it_lies(table: Comparison) -> Iterator[str]:
    """Where the paper's figures lie in our range of seeds; it does not print differences."""
    title, apart, n_seeds = _COMPARED[table.name], list[float](), 0
    sides: dict[str, list[str]] = {"inside": [], "below": [], "above": []}
    for row in table.rows:
        for column, it in zip(table.columns, row.figures, strict=True):
            if it and it.paper_is and it.unit != "points":
                ranges = f"(paper {it.paper_text}, ours {it.seeds_text})"
                sides[it.paper_is].append(f"{' '.join(row.names)} {column} {ranges}")
                apart.append(100 * abs((it.mean or 0) - (it.paper or 0)))
                n_seeds = max(n_seeds, len(it.seeds))
    beside = f"{title}, the paper's {len(apart)} figures beside"
    if not apart:
        return
    if n_seeds == 1:
        yield f"{beside} our one seed: {sum(apart) / len(apart):.1f} points apart on average."
        return
    counts = ", ".join(f"{side} {len(texts)}" for side, texts in sides.items())
    yield f"{beside} the range of our {n_seeds} seeds: {counts}."
    for side in ("below", "above"):
        if texts := sides[side]:
            more = f", and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
            yield f"{title}, the paper's {side} ours: {'; '.join(texts[:_NAMED])}{more}."


def _distances(table: Comparison) -> Iterator[str]:
    """Rollback against random removals, without the first fact and in all columns."""
    for row in table.rows:
        points, who = row.figures[0], ", ".join(row.names[:-1])
        share = table.figures(*row.names[:-1], "rollback")[0]
        if row.names[-1] != "difference" or not (points and share):
            continue
        ours = points.mean or 0
        yield (
            f"{who}: without the fact that rollback ranks first, the probability falls in "
            f"{units.show(share.mean, 'percent')} of predictions, {units.points(ours)} "
            f"{'more' if ours >= 0 else 'less'} than without a random fact "
            f"(paper {points.paper_text})."
        )
        both = zip(table.columns, row.figures, strict=True)
        known = [(name, it.mean, it.paper) for name, it in both if it and it.paper is not None]
        columns = [name for name, mean, paper in known if (mean or 0) > (paper or 0)]
        named = f" ({', '.join(columns)})" if columns else ""
        yield (
            f"{who}: rollback's distance to random is larger than the paper's in {len(columns)} of "
            f"{len(known)} columns{named}."
        )


def _against_criage(table: Comparison, p_values: Comparison) -> str:
    def means(table: Comparison, method: str) -> list[float]:
        figures = (table.figures(method, metric) for metric in METRICS.values())
        return [it.mean or 0.0 for mine in figures for it in mine if it]

    mine, theirs = means(table, "rollback"), means(table, "criage")
    at_least = sum(a >= b for a, b in zip(mine, theirs, strict=True))
    apart = means(p_values, "rollback, criage")
    return (
        f"CRIAGE table: rollback is at or above criage in {at_least} of {len(mine)} figures; "
        f"{sum(p < _LEVEL for p in apart)} of {len(apart)} differences have p < {_LEVEL:g}."
    )


def _about_truth(mine: PartResult, table: Comparison) -> Iterator[str]:
    found = {row.names[0]: [it.mean or 0 for it in row.figures if it] for row in table.rows}
    truth, *_ = mine.evaluation.leave_one_out  # one retraining may serve two predictions
    *_, best = next(iter(found.values()))
    yield (
        f"The truth: all {truth.n_facts:,} facts adjacent to {len(truth.orders)} predictions, each "
        f"removed alone. The best fact of a prediction lowers its probability by "
        f"{100 * best:.0f}% on average."
    )
    for method, (_, _, most, first, _) in found.items():
        yield (
            f"The truth, {method}: removing the fact it ranks first "
            f"{'lowers' if first >= 0 else 'raises'} the probability by {100 * abs(first):.0f}% on "
            f"average, and the best fact is always among its first {most:,}."
        )
