"""The paper's tables, made from the results of finished parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.protocol import protocols
from whereof.evaluate.protocols.approximation import Approximation
from whereof.evaluate.protocols.leave_one_out import Order
from whereof.paper.figures import ComparedRow, Comparison, Count, Figure, counts_text
from whereof.paper.measure import Finished, Results
from whereof.paper.plan import lazy_settings
from whereof.paper.published import (
    APPROXIMATION_CLAIM,
    CRIAGE_SIZES,
    EXAMPLES,
    METRICS,
    RANKINGS,
    SIZES,
    MeanStd,
    criage_share,
)
from whereof.units import is_number

BOX = ("low", "first_quarter", "median", "third_quarter", "high", "mean")
"""The numbers of a box plot."""
_METHODS = ("random", "rollback")
_RANKING_DIGIT = 0.00005
"""Half of the last digit that the paper's model table prints."""
_KS = [f"k = {k}" for k in CRIAGE_SIZES]


def compare(results: Results) -> list[Comparison]:
    """Every table with at least one finished row."""
    tables = [make(results) for make in _MAKERS]
    return [
        replace(table, about=f"{table.about} {counts_text(table.rows)}".strip())
        for table in tables
        if table.rows
    ]


def _figure(record: Any, name: str, unit: str = "share", **others: Any) -> Figure:
    """A value of a record with its interval and its seeds, if the record has them."""
    seeds = tuple(filter(is_number, getattr(record, f"{name}_seeds", ())))
    others.setdefault("interval", getattr(record, f"{name}_interval", None))
    return Figure(getattr(record, name), seeds=seeds, unit=unit, **others)


def _mean(values: Sequence[float | None], **others: Any) -> Figure:
    """The mean of known values."""
    known = [value for value in values if value is not None and is_number(value)]
    return Figure(float(np.mean(known)) if known else None, n_predictions=len(known), **others)


def _beside(figure: Figure | None, paper: float | None) -> Figure | None:
    """A figure with the paper's."""
    return figure and replace(figure, paper=paper)


def _shares(evaluation: Evaluation, method: str, metric: str) -> dict[str, Figure]:
    """A share of predictions by number of removed facts."""
    rows = [row for row in evaluation.removal if row.method == method]
    return {str(row.k): _figure(row, metric, n_predictions=row.n_predictions) for row in rows}


def _table1(results: Results) -> Comparison:
    lazy = lazy_settings(results.options.dataset).items()
    about = (
        "We remove facts and retrain the model: random facts (NH in the paper), and the facts that "
        "rollback ranks first (GR). PD: the probability falls. TC: the top answer changes. "
        "The paper's setting is optimizer=adam, credit=step. Ours beyond the paper is "
        f"{', '.join(f'{name}={value}' for name, value in lazy)}; beside it stands the paper's "
        "difference."
    )
    columns = [f"{title} {k}" for title in METRICS.values() for k in SIZES]
    rows = [row for mine in results.table1 for row in _table1_rows(results, mine)]
    title = "Table 1: PD and TC in percent"
    return Comparison("table1", title, about, "model optimizer method", columns, rows)


def _table1_rows(results: Results, mine: Finished) -> Iterator[ComparedRow]:
    """Random, rollback, and their difference."""
    printed, model = results.options.published, mine.part.model
    keys = [(metric, k) for metric in METRICS for k in SIZES]
    for method in _METHODS:
        found = {metric: _shares(mine.evaluation, method, metric) for metric in METRICS}
        papers = [printed.share(model, method, *key) if mine.is_papers else None for key in keys]
        figures = [_beside(found[m].get(k), it) for (m, k), it in zip(keys, papers, strict=True)]
        yield ComparedRow((*mine.names, method), figures, mine.count)
    n = mine.evaluation.n_predictions
    apart = {
        (row.metric, str(row.k)): Figure(row.difference, row.interval, row.seeds, n, unit="points")
        for row in mine.result.significance
    }
    points = [_beside(apart.get(key), printed.difference(model, *key)) for key in keys]
    yield ComparedRow((*mine.names, "difference"), points, mine.count)


def _released(results: Results) -> Comparison:
    rows = []
    for mine in results.table1:
        for method in _METHODS:
            found = _shares(mine.evaluation, method, "tc_released")
            rows.append(ComparedRow((*mine.names, method), [*map(found.get, SIZES)], mine.count))
    about = (
        "In Table 1, an answer that is known from a removed fact stays known and is left out of "
        "the ranking. Here it counts as new, and may be the top answer."
    )
    title, columns = "Table 1: TC in percent, removed answers count", [f"TC {k}" for k in SIZES]
    return Comparison("table1-released", title, about, "model optimizer method", columns, rows)


def _sizes(results: Results) -> Comparison:
    printed, rows = results.options.published, []
    for mine in results.table1:
        found = mine.evaluation
        # The paper gives the number of removed facts for DistMult only.
        paper = printed.n_removed if mine.is_papers and mine.part.model == "distmult" else None
        removed: list[Figure | None] = [
            _facts(row.removed_mean, row.removed_std, paper).over(row.removed_seeds)
            for row in found.removal
            if (row.method, row.k) == ("rollback", "all")
        ]
        adjacent = _facts(found.n_adjacent_mean, found.n_adjacent_std, printed.n_adjacent)
        rows.append(ComparedRow(mine.names, [*(removed or [None]), adjacent], mine.count))
    about = "Number of facts per prediction: mean and standard deviation over predictions."
    columns = ["removed by GR-all", "adjacent"]
    return Comparison("sizes", "Sizes of explanations", about, "model optimizer", columns, rows)


def _facts(mean: float, std: float, paper: MeanStd | None) -> Figure:
    figure = Figure(mean, std=std, unit="facts")
    return replace(figure, paper=paper.mean, paper_std=paper.std) if paper else figure


def _criage(results: Results) -> Comparison:
    rows = []
    for mine in results.find("criage"):
        for method in mine.part.options.methods:
            for metric, name in METRICS.items():
                found = _shares(mine.evaluation, method, metric)
                papers = [criage_share(method, metric, k) for k in CRIAGE_SIZES]
                figures = [*map(_beside, map(found.get, CRIAGE_SIZES), papers)]
                rows.append(ComparedRow((method, name), figures, mine.count))
    about = "DistMult on Nations, trained with the sigmoid loss."
    title = "CRIAGE table: PD and TC in percent"
    return Comparison("criage", title, about, "method metric", _KS, rows)


def _criage_p_values(results: Results) -> Comparison:
    rows = []
    for mine in results.find("criage"):
        found: dict[tuple[str, str], dict[str, Figure]] = {}
        for row in mine.result.significance:
            names = (f"{row.method}, {row.baseline}", METRICS[row.metric])
            found.setdefault(names, {})[str(row.k)] = Figure(row.p_value, unit="p")
        for names, values in found.items():
            rows.append(ComparedRow(names, [*map(values.get, CRIAGE_SIZES)], mine.count))
    about = "Paired approximate randomisation over queries, two-sided, all seeds together."
    return Comparison("criage-p", "CRIAGE table: p-values", about, "methods metric", _KS, rows)


def _criage_seconds(results: Results) -> Comparison:
    rows = [
        ComparedRow((method,), _explaining(mine.evaluation, method)[:1], mine.count)
        for mine in results.find("criage")
        for method in mine.part.options.methods
    ]
    title, about = "Seconds of one explanation", "For the models of the CRIAGE table."
    return Comparison("criage-seconds", title, about, "method", ["seconds"], rows)


def _models(results: Results) -> Comparison:
    printed, rows = results.options.published, []
    for mine in results.table1:
        tests = [found for run in mine.result.runs if (found := run.metrics.get("test"))]
        filters = {"paper's": [test["paper_filter"] for test in tests], "standard": tests}
        for name, metrics in filters.items() if tests else ():
            figures = list[Figure | None]()
            for metric in RANKINGS:
                values = [each[metric] for each in metrics if metric in each]
                figure = Figure(float(np.mean(values)), rounded=_RANKING_DIGIT) if values else None
                papers = mine.is_papers and name != "standard"
                paper = printed.ranking(mine.part.model, metric) if papers else None
                figures.append(_beside(figure and figure.over(values), paper))
            rows.append(ComparedRow((*mine.names, name), figures, Count(None, len(tests))))
    about = (
        "Test facts. The paper's filter leaves answers known from training and validation out of "
        "the ranking; the standard filter leaves out those of the test facts too."
    )
    title, columns = "Model table: MRR and Hits in percent", list(RANKINGS.values())
    return Comparison("models", title, about, "model optimizer filter", columns, rows)


def _times(results: Results) -> Comparison:
    printed, rows = results.options.published, []
    for mine in results.table1:
        seconds, papers = [run.seconds for run in mine.result.runs], mine.is_papers
        minutes = MeanStd(printed.training_minutes, 0) if papers else None
        training = _both_units(float(np.mean(seconds)), seconds, minutes)
        minutes = printed.explaining_minutes if papers else None
        explaining = _explaining(mine.evaluation, "rollback", minutes)
        rows.append(ComparedRow(mine.names, [*training, *explaining], mine.count))
    about = "Training with the trace, and one explanation by rollback with ten facts."
    columns = ["training, s", "training, min", "explaining, s", "explaining, min"]
    return Comparison("times", "Time table", about, "model optimizer", columns, rows)


def _explaining(
    evaluation: Evaluation, method: str, paper: MeanStd | None = None
) -> Sequence[Figure | None]:
    """The time of one explanation in both units, if it was measured."""
    mean = (evaluation.explain_seconds or {}).get(method)
    seeds = (evaluation.explain_seconds_seeds or {}).get(method, ())
    return (None, None) if mean is None else _both_units(mean, seeds, paper)


def _both_units(mean: float, seconds: Sequence[float], paper: MeanStd | None) -> list[Figure]:
    """A time in seconds and in minutes; the paper gives minutes."""
    made = []
    for unit, size in (("seconds", 1), ("minutes", 60)):
        figure = Figure(mean / size, unit=unit).over([each / size for each in seconds])
        if paper:
            there, std = (each * 60 / size for each in (paper.mean, paper.std))
            figure = replace(figure, paper=there, paper_std=std or None)
        made.append(figure)
    return made


def approximations(results: Results) -> list[tuple[Finished, Approximation]]:
    """From the part with constraints, then from every part of Table 1 that measured it."""
    parts = (*results.find("approximation"), *results.table1)
    return [(mine, row) for mine in parts for row in mine.evaluation.approximation]


def _approximation(results: Results) -> Comparison:
    printed, rows = results.options.published.lipschitz, []
    for mine, found in approximations(results):
        paper = printed.get(found.constraint)
        figures = [
            _figure(found, "pearson_probability", "number", n_predictions=found.n_points),
            _figure(found, "pearson_change", "number", n_predictions=found.n_points),
            _figure(found, "lipschitz", "number", paper=paper).over(found.lipschitz_seeds),
        ]
        rows.append(ComparedRow((*mine.names, found.constraint), figures, mine.count))
    about = (
        "Pearson r of what rollback predicts without its first fact and what retraining gives: "
        "for probabilities, as the paper plots them, and for their changes."
    )
    if len({row.names[-1] for row in rows}) > 1:
        about += f" {APPROXIMATION_CLAIM}"
    columns, heads = ["r, probabilities", "r, changes", "Lipschitz"], "model optimizer constraint"
    return Comparison("approximation", "Approximation", about, heads, columns, rows)


def _boxes(results: Results) -> Comparison:
    rows = [
        ComparedRow(
            (*mine.names, str(row.k)), [_figure(row.spread, it, "number") for it in BOX], mine.count
        )
        for mine in results.table1
        for row in mine.evaluation.changes
        if (row.method, row.baseline) == ("rollback", "random")
    ]
    about = (
        "The probability without random facts minus the probability without rollback's facts, for "
        "each prediction. Above 0, rollback's facts mattered more."
    )
    columns = ["lowest", "25%", "median", "75%", "highest", "mean"]
    return Comparison("boxes", "Box plots in numbers", about, "model optimizer k", columns, rows)


def _steadiness(results: Results) -> Comparison:
    rows = []
    for mine in results.table1:
        if found := mine.evaluation.steadiness:
            changed = _figure(found, "changed", interval=found.interval)
            others = _figure(found, "mean_change"), _figure(found, "n_removals", "facts")
            rows.append(ComparedRow(mine.names, [changed, *others], mine.count))
    about = (
        "One random fact is removed. The share of top answers that change is the floor of TC; "
        "beside it stands the mean change of a probability."
    )
    columns = ["top answer changes", "probability moves", "removals"]
    title = "Steadiness in percent"
    return Comparison("steadiness", title, about, "model optimizer", columns, rows)


def _theory(results: Results) -> Comparison:
    rows = [
        ComparedRow((quantity,), [Figure(value, unit="number")], mine.count)
        for mine in results.find("theory")
        for protocol in protocols(mine.part.options.protocols)
        for table in protocol.tables(mine.evaluation)
        for quantity, value in table.rows
    ]
    about = (
        "DistMult. The claim: rolling a fact back is closer to retraining without it than the "
        "original model is, and within the bound. A bound above 1 says nothing about a probability."
    )
    return Comparison("theory", "Theory", about, "quantity", ["value"], rows)


def truth_methods(results: Results) -> dict[str, Sequence[Order]]:
    """How methods rank the facts of each prediction, by method; rollback with either credit."""
    found: dict[str, Sequence[Order]] = {}
    for mine in results.find("truth"):
        own = {row.method: row.orders for row in mine.evaluation.leave_one_out}
        found[f"rollback, {mine.part.other_credit}"] = mine.result.other_credit
        found[f"rollback, {mine.part.settings['credit']}"] = own.pop("rollback", ())
        found |= own
    return {method: orders for method, orders in found.items() if orders}


def relative_drops(orders: Iterable[Order], which: str) -> list[float | None]:
    """Drops as shares of the probability before; None if that was 0."""
    drops = [(getattr(order, f"{which}_drop"), order.original) for order in orders]
    return [drop / original if original else None for drop, original in drops]


def _truth(results: Results) -> Comparison:
    rows = []
    for method, orders in truth_methods(results).items():
        ranks = [order.best_rank for order in orders]
        figures = [
            _mean([order.rho for order in orders], unit="number"),
            _mean(ranks, unit="facts"),
            Figure(max(ranks), unit="facts", n_predictions=len(ranks)),
            *(_mean(relative_drops(orders, which)) for which in ("first", "best")),
        ]
        rows.append(ComparedRow((method,), figures))
    about = (
        "DistMult with lazy Adam. Every adjacent fact of a prediction was removed alone and the "
        "model retrained: that is the truth. Rho is Spearman's correlation of estimated and true "
        "influence. Drops are in percent of the probability before. The best fact is the one whose "
        "removal lowers the probability most; its rank is the number of retrainings that find it."
    )
    columns = ["rho", "rank of best", "at most", "first fact drops", "best fact drops"]
    title = "The truth: every adjacent fact removed alone, means over predictions"
    return Comparison("truth", title, about, "method", columns, rows)


def _truth_predictions(results: Results) -> Comparison:
    methods, rows = truth_methods(results), []
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
                *(_mean(relative_drops([order], which)) for which in ("first", "best")),
            ]
            figures = [replace(figure, n_predictions=None) for figure in figures]
            rows.append(ComparedRow((_words(order.relation, shown), method), figures))
    columns = ["probability", "adjacent facts", "rho", "rank of best"]
    columns += ["first fact drops", "best fact drops"]
    title, about = "The truth, prediction by prediction", "The same for each prediction."
    return Comparison("truth-predictions", title, about, "prediction method", columns, rows)


def _qualitative(results: Results) -> Comparison:
    explained = [
        (mine.evaluation.config, example)
        for number in range(len(EXAMPLES))
        for mine in results.table1
        for example in mine.result.qualitative[number : number + 1]
    ]
    rows = []
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
                rows.append(ComparedRow((texts[0], training, whose, texts[1]), figures))
    about = (
        "DistMult. The facts that rollback ranks first for the predictions that the paper shows, "
        "and the place of the paper's fact in our ranking. Influence is on the probability."
    )
    columns, heads = ["probability", "rank", "of", "influence"], "prediction training whose fact"
    return Comparison("qualitative", "The paper's examples", about, heads, columns, rows)


def _words(relation: str | None, labels: Mapping[str, str | None]) -> str:
    return f"{labels['subject']} - {short_relation(relation)} - {labels['object']}"


def short_relation(name: str | None) -> str:
    """The last word of a path: `currency` for /location/.../currency."""
    return (name or "").rsplit("/", 1)[-1].replace("_", " ")


_MAKERS = (
    *(_table1, _released, _sizes, _criage, _criage_p_values, _criage_seconds, _models, _times),
    *(_approximation, _boxes, _steadiness, _theory, _truth, _truth_predictions, _qualitative),
)
