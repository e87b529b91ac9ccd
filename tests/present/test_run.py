"""Metrics, answers and runs as tables."""

from typing import Any

from present.pages import plain
from whereof.predict.answers import Answer
from whereof.present.metrics import (
    best_value,
    main_metric,
    metric_column,
    metric_names,
    metrics_table,
)
from whereof.present.run import answers_table, counts, ending
from whereof.run.folder import RunInfo


def printed(metrics: dict[str, Any], **more: bool) -> list[str]:
    return plain(metrics_table(metrics, **more)).splitlines()


def test_ranking_metrics_of_every_side_and_filter() -> None:
    values = {"mrr": 0.5, "hits@10": 1.0}
    sides = {"paper_filter": {"mrr": 0.25, "hits@10": 0.5}, "objects": values | {"deeper": values}}
    assert printed({"valid": None, "test": values | sides}) == [
        "Metrics, filtered",
        "                        MRR  Hits@10",
        "test                  50.0%   100.0%",
        "test, paper's filter  25.0%    50.0%",
        "test, objects         50.0%   100.0%",
    ]


def test_metrics_of_objects_alone_say_so() -> None:
    metrics = {"test": {"mrr": 0.5}}
    lines = printed(metrics)
    assert lines[2] == "test, objects only  50.0%"
    assert lines[3].startswith("Objects only: the run has no inverse relations")
    assert printed(metrics, two_way=True)[2:] == ["test  50.0%"]
    assert "bjects only" not in "".join(printed({"test": {"rmse": 1.0}}))


def test_errors_are_plain_numbers_and_gaps_stay_empty() -> None:
    metrics = {"valid": {"recall@10": 0.125}, "test": {"recall@10": 0.25, "rmse": 0.91234}}
    metrics["test"]["paper_filter"] = {"recall@10": 1.0, "mae": 0.5}
    assert printed(metrics) == [
        "Metrics, filtered",
        "                       RMSE    MAE  Recall@10",
        "valid                                   12.5%",
        "test                  0.912             25.0%",
        "test, paper's filter         0.500     100.0%",
    ]


def test_titles_and_the_best() -> None:
    names = ["mrr", "hits@10", "recall@10", "ndcg@10", "rmse", "coverage"]
    titles = ["MRR", "Hits@10", "Recall@10", "NDCG@10", "RMSE", "Coverage"]
    assert [metric_column(name).title for name in names] == titles
    assert best_value("mrr", [0.2, None, 0.3]) == 0.3
    assert best_value("rmse", [0.9, 1.1]) == 0.9
    assert best_value("mrr", [0.2, 0.2]) is None
    assert best_value("mrr", [None, 0.2]) is None
    assert main_metric({"valid": {"mrr": 0.1}, "test": {"rmse": 1.0}}) == ("test", "rmse", 1.0)
    assert main_metric({}) is None


def test_the_order_of_metrics_is_one() -> None:
    rows = [
        {"mrr": 0.1, "hits@1": 0.1, "hits@10": 0.1},
        {"rmse": 1.0, "recall@10": 0.1, "mrr": 0.1},
    ]
    expected = ["rmse", "recall@10", "mrr", "hits@1", "hits@10"]
    assert metric_names(rows) == metric_names(reversed(rows)) == expected


def test_known_answers_have_no_rank() -> None:
    answers = [Answer("a", "Ann", 0.5, 1.0, 1, "train"), Answer("b", "b", 0.25, 0.5, 1, None)]
    assert plain(answers_table("", answers)).splitlines() == [
        "answer   probability  score  rank  known",
        "Ann (a)       0.5000  1.000        train",
        "b             0.2500  0.500     1",
    ]
    assert plain(answers_table("", answers[:1])).splitlines()[1].split()[-2:] == ["1", "train"]


def test_ratings_are_held_to_their_scale() -> None:
    answers = [Answer("a", "a", 0.5, 5.7, 1, None), Answer("b", "b", 0.5, 0.2, 2, None)]
    cells = [line.split() for line in plain(answers_table("", answers, (1.0, 5.0))).splitlines()]
    assert cells == [
        ["answer", "rating", "rank", "known"],
        ["a", "5.000", "1"],
        ["b", "1.000", "2"],
    ]


def info(**changes: Any) -> RunInfo:
    sizes = {"n_facts": 100, "n_entities": 9, "n_relations": 2}
    return RunInfo(**{"dataset": "d", "model": "mf", "config": {"epochs": 9}} | sizes | changes)


def test_how_training_ended() -> None:
    assert ending(info(epochs=9, best_epoch=9)) == "kept epoch 9 of 9"
    assert ending(info(epochs=9, best_epoch=4)) == "kept epoch 4 of 9, no better since"
    cut = ending(info(epochs=3, best_epoch=3, best_facts=250, stopped="time"))
    assert cut == ("stopped by the time budget in epoch 3 of 9; kept the finished part of epoch 3")
    whole = ending(info(epochs=3, best_epoch=2, best_facts=200, stopped="time"))
    assert whole == "stopped by the time budget in epoch 3 of 9; kept epoch 2"


def test_what_is_not_known_of_a_run_is_left_out() -> None:
    assert dict(counts(info(run=None))) == {
        "training facts": "100",
        "entities": "9",
        "relations": "2",
    }
