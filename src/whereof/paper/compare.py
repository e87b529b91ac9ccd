"""The paper's tables, made from the results of finished parts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.protocol import protocols
from whereof.evaluate.protocols.approximation import Approximation
from whereof.evaluate.protocols.leave_one_out import Order
from whereof.paper.figures import ComparedRow, Comparison, Count, Figure, counts_text
from whereof.paper.measure import Finished, Results
from whereof.paper.plan import lazy_settings
from whereof.paper.published import CRIAGE_SIZES, EXAMPLES, METRICS, RANKINGS, SIZES
from whereof.units import is_number

_METHODS = ("random", "rollback")
_RANKING_DIGIT = 0.00005
"""Half of the last digit that the paper's model table prints."""
_KS = [f"k = {k}" for k in CRIAGE_SIZES]

_Make = Callable[[Results], Iterable[ComparedRow]]
_TABLES: list[tuple[Comparison, _Make]] = []
"""Tables without rows, each with the function that makes its rows."""


def compare(results: Results) -> list[Comparison]:
    """Every table with at least one finished row, beside the paper's figures."""
    printed, tables = results.options.published, []
    lazy = lazy_settings(results.options.dataset).items()
    words = ", ".join(f"{name}={value}" for name, value in lazy)
    for table, make in _TABLES:
        rows = [_beside(row, printed.row(table.name, row.names)) for row in make(results)]
        texts = table.about.format(lazy=words), printed.claims.get(table.name), counts_text(rows)
        if rows:
            tables.append(replace(table, rows=rows, about=" ".join(filter(None, texts))))
    return tables


def _beside(row: ComparedRow, printed: Sequence[Any]) -> ComparedRow:
    both = zip_longest(row.figures, printed)
    return replace(row, figures=[figure and figure.beside(paper) for figure, paper in both])


def _table(
    name: str, title: str, heads: str, columns: Iterable[str], about: str
) -> Callable[[_Make], _Make]:
    """Adds a table whose rows a function makes."""

    def add(make: _Make) -> _Make:
        _TABLES.append((Comparison(name, title, about, heads, [*columns]), make))
        return make

    return add


def _figure(record: Any, name: str, unit: str = "share", **others: Any) -> Figure | None:
    """A value of a record with its interval and its seeds, if the record has them."""
    if record is None:
        return None
    seeds = tuple(filter(is_number, getattr(record, f"{name}_seeds", ())))
    others.setdefault("interval", getattr(record, f"{name}_interval", None))
    return Figure(getattr(record, name), seeds=seeds, unit=unit, **others)


def _mean(values: Sequence[float | None], unit: str = "share") -> Figure:
    """The mean of known values."""
    known = [value for value in values if value is not None and is_number(value)]
    mean = float(np.mean(known)) if known else None
    return Figure(mean, n_predictions=len(known), unit=unit)


def _shares(
    evaluation: Evaluation, method: str, metric: str, sizes: Iterable[str]
) -> list[Figure | None]:
    """A share of predictions by number of removed facts."""
    found = {str(row.k): row for row in evaluation.removal if row.method == method}
    rows = map(found.get, sizes)
    return [_figure(row, metric, n_predictions=row and row.n_predictions) for row in rows]


@_table(
    "table1",
    "Table 1: PD and TC in percent",
    "model optimizer method",
    (f"{title} {k}" for title in METRICS.values() for k in SIZES),
    "We remove facts and retrain the model: random facts (NH in the paper), and the facts that "
    "rollback ranks first (GR). PD: the probability falls. TC: the top answer changes. The paper's "
    "setting is optimizer=adam, credit=step. Ours beyond the paper is {lazy}; beside it stands the "
    "paper's difference.",
)
def _table1(results: Results) -> Iterator[ComparedRow]:
    """Random, rollback, and their difference."""
    for mine in results.table1:
        found = mine.evaluation
        for method in _METHODS:
            shares = [share for it in METRICS for share in _shares(found, method, it, SIZES)]
            yield ComparedRow((*mine.names, method), shares, mine.count)
        points = dict[tuple[str, str], Figure]()
        for row in mine.result.significance:
            values = row.difference, row.interval, row.seeds, found.n_predictions
            points[row.metric, str(row.k)] = Figure(*values, unit="points")
        figures = [points.get((metric, k)) for metric in METRICS for k in SIZES]
        yield ComparedRow((*mine.names, "difference"), figures, mine.count)


@_table(
    "table1-released",
    "Table 1: TC in percent, removed answers count",
    "model optimizer method",
    (f"TC {k}" for k in SIZES),
    "In Table 1, an answer that is known from a removed fact stays known and is left out of the "
    "ranking. Here it counts as new, and may be the top answer.",
)
def _released(results: Results) -> Iterator[ComparedRow]:
    for mine in results.table1:
        for method in _METHODS:
            shares = _shares(mine.evaluation, method, "tc_released", SIZES)
            yield ComparedRow((*mine.names, method), shares, mine.count)


@_table(
    "sizes",
    "Sizes of explanations",
    "model optimizer",
    ("removed by GR-all", "adjacent"),
    "Number of facts per prediction: mean and standard deviation over predictions.",
)
def _sizes(results: Results) -> Iterator[ComparedRow]:
    for mine in results.table1:
        found, removed = mine.evaluation, None
        for row in found.removal:
            if (row.method, row.k) == ("rollback", "all"):
                removed = Figure(row.removed_mean, std=row.removed_std, unit="facts")
                removed = removed.over(row.removed_seeds)
        adjacent = Figure(found.n_adjacent_mean, std=found.n_adjacent_std, unit="facts")
        yield ComparedRow(mine.names, [removed, adjacent], mine.count)


@_table(
    "criage",
    "CRIAGE table: PD and TC in percent",
    "method metric",
    _KS,
    "DistMult on Nations, trained with the sigmoid loss.",
)
def _criage(results: Results) -> Iterator[ComparedRow]:
    for mine in results.find("criage"):
        for method in mine.part.options.methods:
            for metric, name in METRICS.items():
                shares = _shares(mine.evaluation, method, metric, CRIAGE_SIZES)
                yield ComparedRow((method, name), shares, mine.count)


@_table(
    "criage-p",
    "CRIAGE table: p-values",
    "methods metric",
    _KS,
    "Paired approximate randomisation over queries, two-sided, all seeds together.",
)
def _criage_p_values(results: Results) -> Iterator[ComparedRow]:
    for mine in results.find("criage"):
        found: dict[tuple[str, str], dict[str, Figure]] = {}
        for row in mine.result.significance:
            names = (f"{row.method}, {row.baseline}", METRICS[row.metric])
            found.setdefault(names, {})[str(row.k)] = Figure(row.p_value, unit="p")
        for names, values in found.items():
            yield ComparedRow(names, [*map(values.get, CRIAGE_SIZES)], mine.count)


@_table(
    "criage-seconds",
    "Seconds of one explanation",
    "method",
    ("seconds",),
    "For the models of the CRIAGE table.",
)
def _criage_seconds(results: Results) -> Iterator[ComparedRow]:
    for mine in results.find("criage"):
        for method in mine.part.options.methods:
            yield ComparedRow((method,), _explaining(mine.evaluation, method)[:1], mine.count)


@_table(
    "models",
    "Model table: MRR and Hits in percent",
    "model optimizer filter",
    RANKINGS.values(),
    "Test facts. The paper's filter leaves answers known from training and validation out of the "
    "ranking; the standard filter leaves out those of the test facts too.",
)
def _models(results: Results) -> Iterator[ComparedRow]:
    for mine in results.table1:
        tests = [found for run in mine.result.runs if (found := run.metrics.get("test"))]
        filters = {"paper's": [test["paper_filter"] for test in tests], "standard": tests}
        for name, metrics in filters.items() if tests else ():
            figures = list[Figure | None]()
            for metric in RANKINGS:
                values = [each[metric] for each in metrics if metric in each]
                mean = float(np.mean(values)) if values else None
                figure = Figure(mean, rounded=_RANKING_DIGIT).over(values)
                figures.append(figure if values else None)
            yield ComparedRow((*mine.names, name), figures, Count(None, len(tests)))


@_table(
    "times",
    "Time table",
    "model optimizer",
    ("training, s", "training, min", "explaining, s", "explaining, min"),
    "Training with the trace, and one explanation by rollback with ten facts.",
)
def _times(results: Results) -> Iterator[ComparedRow]:
    for mine in results.table1:
        seconds = [run.seconds for run in mine.result.runs]
        training = _both_units(float(np.mean(seconds)), seconds)
        explaining = _explaining(mine.evaluation, "rollback")
        yield ComparedRow(mine.names, [*training, *explaining], mine.count)


def _explaining(evaluation: Evaluation, method: str) -> Sequence[Figure | None]:
    """The time of one explanation in both units, if it was measured."""
    seeds = (evaluation.explain_seconds_seeds or {}).get(method, ())
    mean = (evaluation.explain_seconds or {}).get(method)
    return (None, None) if mean is None else _both_units(mean, seeds)


def _both_units(mean: float, seconds: Sequence[float]) -> list[Figure]:
    return [
        Figure(mean / size, unit=unit).over([each / size for each in seconds])
        for unit, size in (("seconds", 1), ("minutes", 60))
    ]


def approximations(results: Results) -> list[tuple[Finished, Approximation]]:
    """From the part with constraints, then from every part of Table 1 that measured it."""
    parts = (*results.find("approximation"), *results.table1)
    return [(mine, row) for mine in parts for row in mine.evaluation.approximation]


@_table(
    "approximation",
    "Approximation",
    "model optimizer constraint",
    ("r, probabilities", "r, changes", "Lipschitz"),
    "Pearson r of what rollback predicts without its first fact and what retraining gives: for "
    "probabilities, as the paper plots them, and for their changes.",
)
def _approximation(results: Results) -> Iterator[ComparedRow]:
    for mine, found in approximations(results):
        figures = [
            _figure(found, "pearson_probability", "number", n_predictions=found.n_points),
            _figure(found, "pearson_change", "number", n_predictions=found.n_points),
            Figure(found.lipschitz, unit="number").over(found.lipschitz_seeds),
        ]
        yield ComparedRow((*mine.names, found.constraint), figures, mine.count)


@_table(
    "boxes",
    "Box plots in numbers",
    "model optimizer k",
    ("lowest", "25%", "median", "75%", "highest", "mean"),
    "The probability without random facts minus the probability without rollback's facts, for each "
    "prediction. Above 0, rollback's facts mattered more.",
)
def _boxes(results: Results) -> Iterator[ComparedRow]:
    for mine in results.table1:
        for row in mine.evaluation.changes:
            if (row.method, row.baseline) == ("rollback", "random"):
                figures = [Figure(value, unit="number") for value in astuple(row.spread)[:6]]
                yield ComparedRow((*mine.names, str(row.k)), figures, mine.count)


@_table(
    "steadiness",
    "Steadiness in percent",
    "model optimizer",
    ("top answer changes", "probability moves", "removals"),
    "One random fact is removed. The share of top answers that change is the floor of TC; beside "
    "it stands the mean change of a probability.",
)
def _steadiness(results: Results) -> Iterator[ComparedRow]:
    for mine in results.table1:
        if found := mine.evaluation.steadiness:
            changed = _figure(found, "changed", interval=found.interval)
            others = _figure(found, "mean_change"), _figure(found, "n_removals", "facts")
            yield ComparedRow(mine.names, [changed, *others], mine.count)


@_table(
    "theory",
    "Theory",
    "quantity",
    ("value",),
    "DistMult. The claim: rolling a fact back is closer to retraining without it than the original "
    "model is, and within the bound. A bound above 1 says nothing about a probability.",
)
def _theory(results: Results) -> Iterator[ComparedRow]:
    """The protocol's own table."""
    for mine in results.find("theory"):
        for protocol in protocols(mine.part.options.protocols):
            for table in protocol.tables(mine.evaluation):
                for quantity, value in table.rows:
                    yield ComparedRow((quantity,), [Figure(value, unit="number")], mine.count)


def truth_methods(results: Results) -> dict[str, Sequence[Order]]:
    """How methods rank the facts of each prediction, by method; rollback with either credit."""
    found: dict[str, Sequence[Order]] = {}
    for mine in results.find("truth"):
        own = {row.method: row.orders for row in mine.evaluation.leave_one_out}
        found[f"rollback, {mine.part.other_credit}"] = mine.result.other_credit
        found[f"rollback, {mine.part.settings['credit']}"] = own.pop("rollback", ())
        found |= own
    return {method: orders for method, orders in found.items() if orders}


def relative_drop(order: Order, drop: float) -> float | None:
    """A drop as a share of the probability before; None if that was 0."""
    return drop / order.original if order.original else None


@_table(
    "truth",
    "The truth: every adjacent fact removed alone, means over predictions",
    "method",
    ("rho", "rank of best", "at most", "first fact drops", "best fact drops"),
    "DistMult with lazy Adam. Every adjacent fact of a prediction was removed alone and the model "
    "retrained: that is the truth. Rho is Spearman's correlation of estimated and true influence. "
    "Drops are in percent of the probability before. The best fact is the one whose removal lowers "
    "the probability most; its rank is the number of retrainings that find it.",
)
def _truth(results: Results) -> Iterator[ComparedRow]:
    for method, orders in truth_methods(results).items():
        ranks = [order.best_rank for order in orders]
        figures = [
            _mean([order.rho for order in orders], "number"),
            _mean(ranks, "facts"),
            Figure(max(ranks), unit="facts", n_predictions=len(ranks)),
            _mean([relative_drop(order, order.first_drop) for order in orders]),
            _mean([relative_drop(order, order.best_drop) for order in orders]),
        ]
        yield ComparedRow((method,), figures)


@_table(
    "truth-predictions",
    "The truth, prediction by prediction",
    "prediction method",
    ("probability", "adjacent facts", "rho", "rank of best", "first fact drops", "best fact drops"),
    "The same for each prediction.",
)
def _truth_predictions(results: Results) -> Iterator[ComparedRow]:
    methods = truth_methods(results)
    labels = {k: v for mine in results.find("truth") for k, v in mine.result.labels.items()}
    for orders in zip(*methods.values(), strict=True):
        for method, order in zip(methods, orders, strict=True):
            shown = {"subject": order.subject, "object": order.object}
            shown = {place: labels.get(name, name) for place, name in shown.items()}
            figures = [
                _figure(order, "original", "number"),
                _figure(order, "n_adjacent", "facts"),
                _figure(order, "rho", "number"),
                _figure(order, "best_rank", "facts"),
                Figure(relative_drop(order, order.first_drop)),
                Figure(relative_drop(order, order.best_drop)),
            ]
            yield ComparedRow((_words(order.relation, shown), method), figures)


@_table(
    "qualitative",
    "The paper's examples",
    "prediction training whose fact",
    ("probability", "rank", "of", "influence"),
    "DistMult. The facts that rollback ranks first for the predictions that the paper shows, and "
    "the place of the paper's fact in our ranking. Influence is on the probability.",
)
def _qualitative(results: Results) -> Iterator[ComparedRow]:
    explained = [
        (mine.evaluation.config, example)
        for number in range(len(EXAMPLES))
        for mine in results.table1
        for example in mine.result.qualitative[number : number + 1]
    ]
    for config, example in explained:
        training = f"{config['optimizer']}, credit={config['credit']}"
        asked = example.ours.prediction
        for whose, facts in (("ours", example.ours.facts), ("paper's", example.paper)):
            for fact in facts:
                figures = [
                    _figure(asked, "probability", "number"),
                    _figure(fact, "rank", "facts"),
                    _figure(example.ours, "n_adjacent", "facts"),
                    _figure(fact, "influence", "number"),
                ]
                texts = [_words(each.relation, each.labels) for each in (asked, fact)]
                yield ComparedRow((texts[0], training, whose, texts[1]), figures)


def _words(relation: str | None, labels: Mapping[str, str | None]) -> str:
    return f"{labels['subject']} - {short_relation(relation)} - {labels['object']}"


def short_relation(name: str | None) -> str:
    """The last word of a path: `currency` for /location/.../currency."""
    return (name or "").rsplit("/", 1)[-1].replace("_", " ")
