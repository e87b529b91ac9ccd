"""`whereof smallest` as a user types it: text, JSON, bad input."""

import json
from pathlib import Path

import pytest
from trained import train

import whereof as library
from cli.helpers import whereof

QUERY = ("egypt", "embassy", "_")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path)
    return str(path)


def test_json_is_what_the_library_says(run: str) -> None:
    done = whereof("smallest", run, *QUERY, "--budget", "20", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    wanted = library.Run.open(run).smallest(*QUERY, budget=20).to_dict()
    for name in ("seconds", "n_known"):
        del found[name], wanted[name]
    assert found == wanted
    assert found["found"] is True
    assert found["actual"]["top_answer"] != found["before"]["top_answer"]


def test_the_text_says_what_changes_and_what_it_cost(run: str) -> None:
    found = library.Run.open(run).smallest(*QUERY, budget=20, threads=1)
    done = whereof("smallest", run, *QUERY, "--budget", "20", "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert str(found) in " ".join(done.stdout.split())
    assert f"top answer changes from {found.before.top_answer}" in str(found)
    assert "stored already" in done.stdout
    assert f"; method {found.method}" in done.stdout


def test_nothing_found_is_no_error(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=30, rate=0.02)
    best = run.predict("uk", "embassy", top=1).answers[0].entity
    arguments = ("smallest", str(tmp_path / "run"), "uk", "embassy", best, "--budget", "2")
    done = whereof(*arguments, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["found"] is False
    assert "No set of facts changed the top answer" in whereof(*arguments).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "1"), "--budget is 1; give 2 retrainings or more"),
        (("--budget", "soon"), "--budget is 'soon'; give a number of retrainings from 2 on"),
        (("--method", "random"), "method random cannot rank facts to try; choose from rollback"),
    ],
)
def test_bad_input_is_one_line(run: str, options: tuple[str, ...], message: str) -> None:
    done = whereof("smallest", run, *QUERY, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_sufficient_facts_as_text_and_json(run: str) -> None:
    arguments = ("smallest", run, "burma", "relintergovorgs", "_", "--sufficient", "--budget", "12")
    done = whereof(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found, opened = json.loads(done.stdout), library.Run.open(run)
    wanted = opened.sufficient("burma", "relintergovorgs", None, budget=12)
    assert found["given"] == [*wanted.given]
    assert found["n_retrainings"] == wanted.n_retrainings <= 12
    text = whereof(*arguments).stdout
    assert str(wanted) in " ".join(text.split())
    assert all(each.label in text for each in wanted.receivers)
