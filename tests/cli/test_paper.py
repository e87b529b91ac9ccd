"""`whereof paper` as a user types it."""

import json
import re
from pathlib import Path

import pytest

from cli.helpers import whereof

FEW = ["--seeds", "1", "--limit", "2", "--models", "distmult"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper") / "out"


def test_tables_are_printed_and_the_budget_comes_first(folder: Path) -> None:
    done = whereof("paper", *FEW, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for title in ("Table 1: PD and TC in percent", "Model table", "Time table", "In short"):
        assert any(line.startswith(title) for line in lines), title
    assert lines[-1] == f"page: {folder / 'paper.html'}"
    said = done.stderr.splitlines()
    (budget,) = [number for number, line in enumerate(said) if line.startswith("at most ")]
    assert said[budget - 1].startswith("6 trainings: about ")
    assert re.search(r" retrainings and 6 trainings, \d+ at a time: about ", said[budget])
    trained = [number for number, line in enumerate(said) if line.startswith("training ")]
    assert budget < min(trained)
    parts = [number for number, line in enumerate(said) if " of 5: " in line]
    assert len(parts) == 5
    assert budget < parts[0]
    costs = [line for line in said if " retrainings x " in line]
    assert any(line.startswith("CRIAGE table: 33 retrainings x ") for line in costs)
    assert len(costs) == 5


def test_json_is_one_document_that_is_also_a_file(folder: Path) -> None:
    done = whereof("paper", "nations", *FEW, "-o", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout, parse_constant=pytest.fail)
    assert document == json.loads((folder / "paper.json").read_text())
    shares = [
        row[f"{metric}_{k}"]["mean"]
        for row in document["tables"]["table1"]["rows"]
        for metric in ("pd", "tc")
        for k in (1, 10, "all")
        if row["method"] != "difference"
    ]
    assert len(shares) == 24
    assert all(0 <= share <= 1 for share in shares)


def test_a_time_budget_ends_as_an_interruption_does(tmp_path: Path) -> None:
    done = whereof("paper", *FEW, "-o", str(tmp_path / "out"), "--time-budget", "0.01s")
    assert done.returncode == 130
    assert not done.stdout
    last = done.stderr.splitlines()[-1]
    assert last == (
        "whereof: the time budget is spent; no part is finished; "
        "run the same command again to continue"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["wn18"], "unknown dataset 'wn18'; choose from nations, fb15k-237, movielens"),
        (["--models", "transe"], "unknown model 'transe'; choose from distmult, complex"),
        (["--models", ","], "no models; choose from distmult, complex"),
        (["--limit", "0"], "--limit is 0; it must be 1 or more"),
        (["-o", __file__], "test_paper.py is a file; choose a folder with -o"),
        (["-o", f"{__file__}/out"], "test_paper.py is a file; choose a folder with -o"),
        (["--time-budget", "soon"], "--time-budget is 'soon'; give seconds above 0"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = whereof("paper", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout
    assert not list(tmp_path.iterdir())
