"""The suite faithfulness: which options it chooses, and how it shows the results."""

from collections.abc import Callable
from dataclasses import fields
from html import unescape
from pathlib import Path

import pytest
from listening import Recorded

import whereof
from evaluate.small import N_FACTS, train
from whereof.errors import Interrupted
from whereof.evaluate import suite
from whereof.evaluate.options import EvaluateOptions
from whereof.registry import METHODS, names

Small = Callable[..., whereof.Run]
STEADY = {"optimizer": "adagrad", "accumulator": 0.1, "precision": "float32"}
SMALL = {"limit": 2, "subsets": 3, "methods": "random,rollback,retrain,retrain:precision=float64"}


def test_options_name_all_suites() -> None:
    (item,) = (item for item in fields(EvaluateOptions) if item.name == "suite")
    assert item.metadata["choices"] == tuple(suite.SUITES)


def test_the_suite_has_every_method_that_is_possible(small_run: Small) -> None:
    study, trained = suite.SUITES["faithfulness"], small_run(credit="source")._trained
    chosen = EvaluateOptions(**study.choose(trained))
    left_out = {"tracin", "rollback-o", "fold-in"}  # no checkpoints; of rollback; new users
    assert set(names(METHODS)) - left_out <= set(chosen.methods)
    others = {"rollback:credit=step", "rollback:credit=forget", "unrolled:sweep-epochs=1"}
    assert others <= set(chosen.methods)
    assert "retrain:precision=float32" in chosen.methods  # the run has float64
    (note,) = study.notes(trained)
    assert note.startswith("tracin is left out: method tracin needs checkpoints")
    assert (chosen.k, chosen.shares, chosen.baseline) == ((1, 10), (0.01, 0.1, 0.5), "random")
    assert (chosen.facts, chosen.limit) == (None, None)


def test_a_run_without_a_trace_has_no_rollback(small_run: Small) -> None:
    study, trained = suite.SUITES["faithfulness"], small_run(trace=False)._trained
    chosen = study.choose(trained)["methods"]
    assert not [text for text in chosen if text.startswith("rollback")]
    assert study.notes(trained)[1].startswith("rollback is left out: rollback needs a trace")


def test_large_data_is_sampled(small_run: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "_LARGE", N_FACTS - 1)
    chosen = suite.SUITES["faithfulness"].choose(small_run()._trained)
    assert (chosen["facts"], chosen["limit"]) == (500, 30)


def test_one_table_some_sentences_one_chart(tmp_path: Path) -> None:
    run = train(tmp_path, **STEADY)
    found = run.evaluate(suite="faithfulness", **SMALL)
    assert found.options["drop"] == (0.01, 0.1, 0.5)
    (shown,) = found.sections()
    table, _sizes = shown.tables
    titles = [column.title for column in table.columns]
    rows = {row[0]: dict(zip(titles, row, strict=True)) for row in table.rows}
    assert [*rows] == SMALL["methods"].split(",")
    for row in found.leave_one_out:
        mine = rows[row.method]
        assert (mine["rho all"], mine["of best"]) == (row.rho_all, row.share_of_best)
        assert (mine["size"], mine["time"]) == (row.size_error, row.seconds)
    for row in found.datamodelling:
        assert rows[row.method][f"LDS {100 * row.drop:g}%"] == row.score
    for row in found.removal:
        mine = rows[row.method]
        assert (mine[f"PD {row.k}"], mine[f"TC {row.k}"]) == (row.pd, row.tc)
    assert rows["retrain"]["rho all"] == pytest.approx(1)
    assert "rollback is closest to the truth" in shown.sentences[0]
    assert shown.headline == shown.sentences[0]
    assert "The noise ceiling is rho" in shown.sentences[-1]
    assert len(shown.charts) == 1
    again = whereof.Evaluation.from_dict(found.to_dict())
    assert next(again.sections()).sentences == shown.sentences
    text = run.report(tmp_path / "study.md").read_text()
    assert all(sentence in text for sentence in shown.sentences)
    assert "| retrain:precision=float64 |" in text
    assert "--suite faithfulness" in text
    page = unescape(run.report(tmp_path / "study.html", examples=0).read_text())
    assert shown.headline in page.replace("<wbr>", "")


def test_an_interrupted_study_continues(tmp_path: Path) -> None:
    run = train(tmp_path, **STEADY)
    with pytest.raises(Interrupted, match="run the same command again"):
        run.evaluate(suite="faithfulness", events=Recorded(stop_after=10), **SMALL)
    found = run.evaluate(suite="faithfulness", **SMALL)
    assert found.n_known > 0
    other = train(tmp_path / "other", **STEADY).evaluate(suite="faithfulness", **SMALL)
    assert found.n_retrainings == other.n_retrainings
    assert found.removal == other.removal
    assert found.datamodelling == other.datamodelling


def test_every_method_has_a_row(small_run: Small) -> None:
    run = small_run(keep_checkpoints=2, **STEADY | {"trace": False})
    found = run.evaluate(suite="faithfulness", limit=1, subsets=2, k="1")
    methods = tuple(found.options["methods"])
    assert "tracin" in methods
    assert tuple(row.method for row in found.leave_one_out) == methods
    assert tuple(row.method for row in found.removal) == methods
    assert {row.method for row in found.datamodelling} == {*methods}
    assert all(row.seconds is not None for row in found.leave_one_out)
    assert found.notes[0].startswith("rollback is left out: rollback needs a trace")
