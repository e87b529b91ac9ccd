"""Tables take whatever metrics a run has."""

from typing import Any

from rich.console import Console

from whereof.cli._tables import metrics_table
from whereof.drawing._metrics import MetricRow, best_value, metric_names, metric_text, metric_title


def printed(metrics: dict[str, Any]) -> list[str]:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(metrics_table(metrics))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_ranking_metrics_of_every_side_and_filter() -> None:
    values = {"mrr": 0.5, "hits@10": 1.0}
    sides = {"paper_filter": {"mrr": 0.25, "hits@10": 0.5}, "objects": values | {"deeper": values}}
    assert printed({"valid": None, "test": values | sides}) == [
        "Metrics, filtered, in percent",
        "                   MRR  Hits@10",
        "test              50.0    100.0",
        "  paper's filter  25.0     50.0",
        "  objects         50.0    100.0",
    ]


def test_errors_are_plain_numbers_and_gaps_stay_empty() -> None:
    metrics = {"valid": {"recall@10": 0.125}, "test": {"recall@10": 0.25, "rmse": 0.91234}}
    metrics["test"]["paper_filter"] = {"recall@10": 1.0, "mae": 0.5}
    assert printed(metrics) == [
        "Metrics, filtered, in percent, but RMSE,",
        "MAE",
        "                    RMSE     MAE  Recall@10",
        "valid                                  12.5",
        "test              0.9123               25.0",
        "  paper's filter          0.5000      100.0",
    ]


def test_titles_and_the_best() -> None:
    names = ["mrr", "hits@10", "recall@10", "ndcg@10", "rmse", "coverage"]
    titles = ["MRR", "Hits@10", "Recall@10", "NDCG@10", "RMSE", "Coverage"]
    assert [metric_title(name) for name in names] == titles
    assert best_value("mrr", [0.2, None, 0.3]) == 0.3
    assert best_value("rmse", [0.9, 1.1]) == 0.9
    assert best_value("mrr", [0.2, 0.2]) is None
    assert best_value("mrr", [None, 0.2]) is None
    assert metric_text("mrr", None) == ""


def test_the_order_of_metrics_is_one() -> None:
    rows = [
        {"mrr": 0.1, "hits@1": 0.1, "hits@10": 0.1},
        {"rmse": 1.0, "recall@10": 0.1, "mrr": 0.1},
    ]
    made = [MetricRow("test", "", values) for values in rows]
    expected = ["rmse", "recall@10", "mrr", "hits@1", "hits@10"]
    assert metric_names(made) == metric_names(reversed(made)) == expected
