"""The model table, the time table, and how steady training is."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whereof.paper import _published as published
from whereof.paper._plan import PAPERS
from whereof.paper._records import Count, Figure, Row, Table
from whereof.paper._results import (
    Document,
    Removals,
    Results,
    count,
    make_table,
    over_seeds,
    pair,
)

_METRICS = {"mrr": "MRR", "hits@1": "Hits@1", "hits@10": "Hits@10"}
_ROUNDED = 0.00005
"""The paper prints hundredths of percents."""
_SECONDS = 60.0
"""Of a minute."""


def models_table(results: Results) -> Table | None:
    """MRR and hits of the test facts, with the paper's filter and with the standard one."""
    rows = []
    for mine in results.removals:
        runs = mine.part["runs"]
        tests = [run["metrics"]["test"] for run in runs if run["metrics"].get("test")]
        if tests:
            papers = mine.optimizer == PAPERS
            printed = published.model_metrics(results.dataset, mine.model) if papers else {}
            figures = _metrics([test["paper_filter"] for test in tests], printed)
            seeds = Count(None, len(tests))
            rows.append(Row((*mine.names, "paper's"), figures, seeds))
            rows.append(Row((*mine.names, "standard"), _metrics(tests, {}), seeds))
    about = (
        "Test facts. The paper's filter leaves known answers of training and validation out of "
        "the ranking, the standard one those of the test facts too."
    )
    title = "Model table: MRR and Hits in percent"
    columns = tuple(_METRICS.values())
    return make_table("models", title, about, "model optimizer filter", columns, rows)


def _metrics(
    tests: Sequence[Document], printed: dict[str, float | None]
) -> tuple[Figure | None, ...]:
    return tuple(
        _mean([test[name] for test in tests], printed.get(name)) if name in tests[0] else None
        for name in _METRICS
    )


def times_table(results: Results) -> Table | None:
    """How long training and one explanation take."""
    rows = [Row(mine.names, _times(results, mine), mine.count) for mine in results.removals]
    about = "Training with the trace, and one explanation by rollback: its ten strongest facts."
    columns = ("training, s", "training, min", "explaining, s", "explaining, min")
    return make_table("times", "Time table", about, "model optimizer", columns, rows)


def _times(results: Results, mine: Removals) -> tuple[Figure | None, ...]:
    """Of training and of explaining, each in seconds and minutes."""
    papers = mine.optimizer == PAPERS
    trains = published.training_seconds(results.dataset) if papers else None
    training = _mean([run["seconds"] for run in mine.part["runs"]], trains, "seconds")
    explaining = _explaining(mine.evaluation).get("rollback")
    if explaining is None:
        return training, _minutes(training), None, None
    if papers:
        explains = published.explaining_seconds(results.dataset)
        explaining = replace(explaining, paper=explains.mean, paper_std=explains.std)
    return training, _minutes(training), explaining, _minutes(explaining)


def method_times_table(results: Results) -> Table | None:
    """Seconds of one explanation by every method of the CRIAGE table."""
    found = results.evaluation("criage")
    if found is None:
        return None
    rows = [Row((name,), (seconds,), count(found)) for name, seconds in _explaining(found).items()]
    about = "On the models of the CRIAGE table."
    title = "Seconds of one explanation"
    return make_table("criage-seconds", title, about, "method", ("seconds",), rows)


def steadiness_table(results: Results) -> Table | None:
    """How often one random fact less changes a top answer."""
    rows = []
    for mine in results.removals:
        found = mine.evaluation["steadiness"]
        if found:
            changed = Figure(found["changed"], interval=pair(found["interval"]))
            moved = Figure(found["mean_change"], unit="share")
            removed = Figure(found["n_removals"], unit="facts")
            rows.append(Row(mine.names, (changed, moved, removed), mine.count))
    about = (
        "One random fact removed, whatever it says: the share of top answers that change, which "
        "is the floor of TC, and the mean change of a probability."
    )
    columns = ("top answer changes", "probability moves", "removals")
    title = "Steadiness in percent"
    return make_table("steadiness", title, about, "model optimizer", columns, rows)


def _explaining(evaluation: Document) -> dict[str, Figure]:
    """Seconds of one explanation, by method."""
    seeds = evaluation.get("explain_seconds_seeds") or {}
    return {
        method: over_seeds(seeds.get(method, ()), Figure(mean, unit="seconds"))
        for method, mean in (evaluation.get("explain_seconds") or {}).items()
    }


def _mean(values: Sequence[float], paper: float | None, unit: str = "share") -> Figure:
    figure = Figure(float(np.mean(values)), paper=paper, unit=unit, rounded=_ROUNDED)
    return over_seeds(values, figure)


def _minutes(figure: Figure) -> Figure:
    assert figure.ours is not None
    low, high = figure.interval or (None, None)
    return Figure(
        figure.ours / _SECONDS,
        interval=None if low is None or high is None else (low / _SECONDS, high / _SECONDS),
        seeds=tuple(seconds / _SECONDS for seconds in figure.seeds),
        paper=None if figure.paper is None else figure.paper / _SECONDS,
        paper_std=None if figure.paper_std is None else figure.paper_std / _SECONDS,
        unit="minutes",
    )
