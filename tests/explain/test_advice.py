"""What methods cost, how far to trust them, and which one is recommended."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli.helpers import whereof as command
from trained import train

import whereof
from explain.helpers import random_run
from whereof.explain.advice import default_method, default_reason, trust_of
from whereof.explain.method import get_method
from whereof.run.reliability import Claims, Linearity, Reliability
from whereof.training.problem import Problem

QUERY = ("egypt", "embassy", "usa")
LINEAR, NOT_LINEAR = Linearity(9, 0.99, 0.99, 1.0, 0.0), Linearity(9, 0.5, 0.5, 1.0, 0.0)
RIGHT, WRONG = Claims("rollback", 9, 1.1, 8, 9, 9), Claims("rollback", 9, 1.1, 7, 9, 1)


SWEPT = replace(RIGHT, method="unrolled")


@pytest.mark.parametrize(
    ("method", "reliability", "trust"),
    [
        ("rollback", Reliability(), "rough"),
        ("rollback", Reliability(LINEAR), "rough"),
        ("rollback", Reliability(claims=(RIGHT,)), "close"),
        ("rollback", Reliability(claims=(WRONG,)), "rough"),
        ("gradient-dot", Reliability(LINEAR, (RIGHT,)), "rough"),
        ("unrolled", Reliability(), "not measured"),
        ("unrolled", Reliability(LINEAR), "close"),
        ("unrolled", Reliability(NOT_LINEAR), "rough"),
        ("unrolled", Reliability(LINEAR, (SWEPT,)), "close"),
        ("unrolled", Reliability(None, (SWEPT,)), "close"),
        ("unrolled", Reliability(NOT_LINEAR, (SWEPT,)), "close"),
        ("unrolled", Reliability(LINEAR, (replace(WRONG, method="unrolled"),)), "rough"),
        ("rollback", Reliability(NOT_LINEAR, (RIGHT,)), "close"),
        ("verified", Reliability(NOT_LINEAR), "exact"),
        ("retrain", Reliability(), "exact"),
    ],
)
def test_trust_follows_from_what_was_measured(
    method: str, reliability: Reliability, trust: str
) -> None:
    assert trust_of(get_method(method), reliability, steady=True) == trust


def test_estimates_along_training_that_is_not_steady_are_rough_unless_measured() -> None:
    unrolled, (none, linear) = get_method("unrolled"), (Reliability(), Reliability(LINEAR))
    assert trust_of(unrolled, none, steady=False) == "rough"
    assert trust_of(unrolled, linear, steady=False) == "close"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("advice") / "run")


def advice(run: whereof.Run, reliability: Reliability) -> tuple[dict[str, str], str | None]:
    reliability.write(run.file(""))
    found = run.explain(*QUERY)
    assert found.reliability == reliability
    return {each.method: each.trust for each in found.costs}, found.recommended


def test_the_cheapest_method_that_can_be_trusted_is_recommended(run: whereof.Run) -> None:
    trusts, best = advice(run, Reliability())
    assert trusts == {
        "rollback": "rough",
        "unrolled": "rough",  # training was not steady
        "verified": "exact",
        "retrain": "exact",
    }
    assert best == "verified"
    assert advice(run, Reliability(LINEAR))[1] == "verified"
    run.explain(*QUERY, method="unrolled")  # its first sweep also measures sizes
    assert advice(run, Reliability(LINEAR))[1] == "unrolled"
    assert advice(run, Reliability(LINEAR, (RIGHT,)))[1] == "rollback"
    assert advice(run, Reliability(NOT_LINEAR, (WRONG,)))[1] == "verified"
    found = run.explain(*QUERY)
    costs = {each.method: each.seconds for each in found.costs}
    assert costs["rollback"] is None
    assert costs["retrain"] / costs["verified"] == pytest.approx((found.n_adjacent + 1) / 50)


def test_what_was_measured_does_not_hold_for_the_last_epochs(run: whereof.Run) -> None:
    Reliability(LINEAR, (Claims("unrolled", 9, 1.1, 9, 9, 9),)).write(run.file(""))
    whole = run.explain(*QUERY, method="unrolled")
    last = run.explain(*QUERY, method="unrolled", sweep_epochs=1)
    trusts = [{each.method: each.trust for each in found.costs} for found in (whole, last)]
    assert [each["unrolled"] for each in trusts] == ["close", "rough"]
    assert [whole.names_new_tops, last.names_new_tops] == [True, False]
    assert [whole.recommended, last.recommended] == ["unrolled", "verified"]


def test_a_run_of_arrays_has_no_costs() -> None:
    found = random_run("distmult").explain("e0", "r0", "e1")
    assert (found.costs, found.recommended, found.reliability) == ((), None, Reliability())


def test_a_new_top_answer_is_named_only_if_such_claims_come_true(
    run: whereof.Run, tmp_path: Path
) -> None:
    reported = tmp_path / "page.html"
    asked = [(*run.dataset.fact_names(fact)[:2], "_") for fact in run.dataset.test]
    query = next(names for names in asked if run.explain(*names, top=1).facts[0].top_answer_changes)
    for claims, named in ((WRONG, False), (RIGHT, True)):
        Reliability(claims=(claims,)).write(run.file(""))
        options = ("--html", str(reported), "--force", "--stability")
        done = command("explain", str(run.path), *query, *options, COLUMNS="200")
        assert done.returncode == 0, done.stderr
        assert str(claims) in done.stdout
        page = reported.read_text()
        assert "the probability is estimated to fall from" in done.stdout
        for text in (done.stdout, page):
            assert ("new top answer" in text) is named
        assert ("the top answer is estimated to change to" in done.stdout) is named
        assert ("top answer\n" in done.stdout) is named
    document = json.loads(command("explain", str(run.path), *query, "--json").stdout)
    assert document["facts"][0]["top_answer_changes"]
    assert document["recommended"] == "rollback"
    assert "Methods here: rollback, close;" in done.stdout
    assert re.search("; verified about [^,;]+, exact for its candidates; ", done.stdout)
    assert re.search(r"; retrain about [^,;]+, exact\.", done.stdout)


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ({"optimizer": "adagrad", "accumulator": 0.1}, "unrolled"),
        ({"optimizer": "sgd"}, "unrolled"),
        ({"optimizer": "adagrad", "accumulator": 0.0}, "rollback"),
        ({"optimizer": "adam"}, "rollback"),
    ],
)
def test_small_steady_runs_are_swept_by_default(
    settings: dict[str, Any], method: str, tmp_path: Path
) -> None:
    run = train(tmp_path / "run", epochs=1, **settings)
    assert run.default_method == method
    explanation = run.explain(*QUERY)
    assert explanation.method == method
    said = [note for note in explanation.notes if "is the default for this run" in note]
    assert len(said) == (method == "rollback")
    assert all("it was not trained steadily" in note for note in said)
    assert run.explain(*QUERY, method=method, top=1).notes == ()
    assert run.verify(*QUERY, top=1).method == method
    (found,) = run.explain_many([QUERY])
    assert found.method == method
    assert run.explain(*QUERY, candidates="seen").method == "rollback"
    assert run.explain(*QUERY, exhaustive=True).method == "rollback"


def test_a_sweep_that_takes_long_is_no_default(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=1, optimizer="sgd")
    (tmp_path / "new.tsv").write_text("brazil\tembassy\tatlantis\n")
    updated = whereof.Run.open(run.update(tmp_path / "new.tsv", out=tmp_path / "updated").run)
    cost = Problem.of(run.dataset, run.config).fact_cost + 750
    most = 1_500_000_000 // cost
    for each, long in ((run, "repeats the training"), (updated, "the training and its updates")):
        for n_trained, reason in ((most, None), (most + 1, long), (None, "is not known")):
            trained = replace(each._trained, n_trained=n_trained)
            assert default_method(trained) == ("rollback" if reason else "unrolled")
            assert (reason or "None") in str(default_reason(trained))


def test_options_of_a_sweep_require_its_method(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=1, optimizer="sgd")
    assert command("explain", str(run.path), *QUERY, "--rivals", "2").returncode == 0
    done = command("explain", str(run.path), *QUERY, "--candidates", "seen", "--rivals", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--rivals requires --method unrolled" in done.stderr
