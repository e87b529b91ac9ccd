"""The truth on a few predictions: measured for real on Nations, and as tables."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from listening import Recorded

from paper import hand_made
from whereof.api._cases import open_case, sibling
from whereof.errors import WhereofError
from whereof.evaluate.evaluation import plain
from whereof.evaluate.options import EvaluateOptions
from whereof.events import Events
from whereof.explain.rollback import CoreScoring
from whereof.paper import Paper, PaperOptions
from whereof.paper._budget import make_budget
from whereof.paper._measuring import Measuring
from whereof.paper._plan import Part, lazy_settings
from whereof.paper._results import Results
from whereof.paper._runs import Runs
from whereof.paper._tables import make_tables
from whereof.paper._text import grid
from whereof.paper._truth import check_same_rows, measure_truth
from whereof.predict.scored import ScoredPrediction
from whereof.retrain import EngineOptions, choose_engine

PART = Part(
    "truth",
    "the truth",
    "distmult",
    {**lazy_settings("nations"), "epochs": 2},
    ("leave-one-out",),
    1,
    methods=("rollback", "gradient-dot"),
    baselines=("rollback",),
    asked={"adjacent_only": True, "most_adjacent": 420, "limit": 2},
)


@pytest.fixture(scope="module")
def measured(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Any], Measuring, Recorded]:
    options = PaperOptions(models=("distmult",), seeds=2, out=tmp_path_factory.mktemp("truth"))
    events = Recorded()
    with closing(choose_engine(EngineOptions())) as engine:
        measuring = Measuring(options, engine, events, Runs(options, events))
        return measuring.measure(PART), measuring, events


Measured = tuple[dict[str, Any], Measuring, Recorded]


def test_both_credits_are_judged_by_the_same_truth(measured: Measured) -> None:
    document, _, events = measured
    source, dot = document["evaluation"]["leave_one_out"]
    assert (source["method"], dot["method"]) == ("rollback", "gradient-dot")
    assert document["evaluation"]["config"]["credit"] == "source"
    step = document["other_credit"]
    assert len(step) == len(source["orders"]) == len(dot["orders"]) == 2
    for mine, other in zip(step, source["orders"], strict=True):
        for name in ("subject", "object", "n_adjacent", "original", "best_fact", "best_drop"):
            assert mine[name] == other[name]
    assert [each["rho"] for each in step] != [each["rho"] for each in source["orders"]]
    assert len(events.done) == 1 + source["n_facts"]


def test_the_order_by_step_is_that_of_a_run_with_that_credit(measured: Measured) -> None:
    document, measuring, _ = measured
    run = sibling(measuring.runs.open(PART), Events(), credit="step")
    assert run.config.credit == "step"
    for order in document["other_credit"]:
        facts = run.explain(order["subject"], order["relation"], order["object"], top=None).facts
        assert order["first_fact"] == facts[0].fact_id
        (rank,) = [fact.rank for fact in facts if fact.fact_id == order["best_fact"]]
        assert order["best_rank"] == rank


def test_the_other_credit_is_explained_where_the_run_is(measured: Measured) -> None:
    document, measuring, _ = measured
    run, asked = measuring.runs.open(PART), set[str]()

    def backing(scored: ScoredPrediction) -> CoreScoring:
        asked.add(scored.trained.config.credit)
        return CoreScoring(scored)

    with open_case(run, measuring.engine, Recorded()) as case:
        elsewhere = replace(case, trained=replace(case.trained, backing=backing))
        options = EvaluateOptions.from_dict(document["evaluation"]["options"])
        found = measure_truth(elsewhere, sibling(run, Events(), credit="step"), options)
    assert "step" in asked
    assert plain(found["other_credit"]) == document["other_credit"]


def test_a_trace_of_other_rows_is_refused(measured: Measured) -> None:
    _, measuring, _ = measured
    run = measuring.runs.open(PART)
    check_same_rows(run, sibling(run, Events(), credit="step"))
    with pytest.raises(WhereofError, match=r"seed-43 has other rows than .*; remove .*, and both"):
        check_same_rows(run, sibling(run, seed=43))


def test_the_budget_is_the_most_there_can_be(measured: Measured, tmp_path: Path) -> None:
    _, measuring, events = measured
    (cost,) = make_budget([PART], [], measuring.runs, measuring.engine).parts
    assert len(events.done) <= cost.n_retrainings == 1 + 2 * 420
    assert (cost.n_trainings, cost.training_seconds) == (0, 0)  # both credits are there
    anew = Runs(replace(measuring.options, out=tmp_path), events)
    (cost,) = make_budget([PART], [], anew, measuring.engine).parts
    assert cost.n_trainings == 2
    assert cost.seconds > cost.retraining_seconds > 0
    assert [*tmp_path.iterdir()] == []


def test_what_is_finished_is_kept(measured: Measured) -> None:
    document, measuring, _ = measured
    assert measuring.kept(PART) == document


def order(**values: Any) -> dict[str, Any]:
    known = {
        "seed": 42,
        "subject": "/m/1",
        "relation": "/film/film/edited_by",
        "object": "/m/2",
        "asks": "object",
        "n_adjacent": 228,
        "original": 0.5,
        "rho": 0.3,
        "best_fact": 7,
        "best_drop": 0.25,
        "best_rank": 12,
        "first_fact": 3,
        "first_drop": 0.05,
    }
    return known | values


@pytest.fixture(scope="module")
def results() -> Results:
    """Two predictions: the best fact halves the one, and takes a fifth of the other."""
    second = {"subject": "/m/3", "original": 0.1, "best_drop": 0.02}
    document = hand_made.part(hand_made.evaluation())
    document["evaluation"]["config"] = {"credit": "source"}
    document["evaluation"]["leave_one_out"] = [
        {
            "method": method,
            "n_facts": 400,
            "orders": [order(), order(**second, best_rank=rank, first_drop=-0.01, rho=rho)],
        }
        for method, rank, rho in (("rollback", 30, 0.1), ("gradient-dot", 80, None))
    ]
    document["other_credit"] = [order(rho=0.1), order(**second, best_rank=50, first_drop=0.0)]
    document["labels"] = {"/m/1": "Happy-Go-Lucky", "/m/2": "Michael Kahn"}
    return Results(PaperOptions("fb15k-237", models=("distmult",)), {"truth": document})


def test_one_row_a_method(results: Results) -> None:
    table = {table.name: table for table in make_tables(results)}["truth"]
    assert [block[0] for block in grid(table).blocks] == [
        ("rollback, step", "0.200", "31", "50", "5.0", "35.0"),
        ("rollback, source", "0.200", "21", "30", "0.0", "35.0"),
        ("gradient-dot", "0.300", "46", "80", "0.0", "35.0"),
    ]
    assert table.rows[0].figures[0].n == 2
    assert table.rows[2].figures[0].n == 1


def test_one_row_for_every_prediction_and_method(results: Results) -> None:
    table = {table.name: table for table in make_tables(results)}["truth-predictions"]
    shown = [block[0] for block in grid(table).blocks]
    assert len(shown) == 6
    assert shown[1] == (
        *("Happy-Go-Lucky - edited by - Michael Kahn", "rollback, source"),
        *("0.500", "228", "0.300", "12", "10.0", "50.0"),
    )
    assert shown[4][0] == "/m/3 - edited by - Michael Kahn"
    assert shown[4][-2:] == ("-10.0", "20.0")


def test_the_summary_says_how_far_methods_come(results: Results, tmp_path: Path) -> None:
    paper = Paper.of(results)
    text = " ".join(paper.summary)
    assert "all 400 facts adjacent to 2 predictions" in text
    assert "lowers its probability by 35% on average" in text
    assert "source: removing the fact it ranks first lowers the probability by 0%" in text
    assert "the best one is always among its first 30." in text
    paper.write(tmp_path)
    results.parts["truth"]["other_credit"][0]["first_drop"] = -1.0
    (sentence,) = (each for each in Paper.of(results).summary if "rollback, step" in each)
    assert "ranks first raises the probability by 100% on average" in sentence
    assert "| rollback, step | 0.200 |" in (tmp_path / "tables.md").read_text()


def test_without_the_part_there_is_nothing() -> None:
    results = Results(PaperOptions("fb15k-237"), {"removal-distmult": hand_made.table1()})
    names = {table.name for table in make_tables(results)}
    assert "truth" not in names
    assert "qualitative" not in names
    unfinished, *others = Paper.of(results).summary
    assert "the truth, fact by fact" in unfinished
    assert "truth" not in " ".join(others)
