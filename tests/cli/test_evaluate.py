"""`whereof evaluate` as a user types it: tables that fit, JSON, files, bad input, a kill."""

import csv
import io
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from evaluate.documents import FULL
from present.pages import plain
from rich.console import Console
from trained import train, train_ratings

import whereof as library
from cli.helpers import whereof
from whereof.cli import cli
from whereof.present.report import show_evaluation
from whereof.run.files import read_sealed_line
from whereof.units import show

SMALL = ("--limit", "5", "--k", "1,3", "--removals", "3")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, epochs=2)
    return str(path)


def shown(*arguments: str, **env: str) -> str:
    """Standard output of a command in this process, where kernels are loaded."""
    done = CliRunner(env=env).invoke(cli, ["evaluate", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shown(*arguments, "--json"))
    return found


def figures(found: dict[str, Any]) -> dict[str, Any]:
    """The document without path, times and number of known retrainings."""
    names = ("run", "seconds", "explain_seconds", "explain_seconds_seeds", "n_known")
    return {name: value for name, value in found.items() if name not in names}


def test_json_is_what_the_library_says(run: str) -> None:
    options: dict[str, Any] = {"limit": 5, "k": (1, 3), "removals": 3, "methods": "rollback,random"}
    expected = library.Run.open(run).evaluate(**options).to_dict()
    assert figures(document(run, *SMALL)) == figures(json.loads(json.dumps(expected)))


def test_tables_say_what_the_document_says(run: str) -> None:
    found, text = document(run, *SMALL), shown(run, *SMALL, COLUMNS="80")
    lines = text.split("\n")
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("method")) :]
    assert table[0].split() == ["method", "k", "PD", "95%", "TC", "95%", "removed"]
    for line, row in zip(table[1:], found["removal"], strict=False):
        cells = [cell.rstrip("*") for cell in line.split()]
        shown_pd = show(row["pd"], "percent"), show(row["pd_interval"], "percent", "interval")
        expected = [row["method"], str(row["k"]), *shown_pd, show(row["tc"], "percent")]
        assert (cells[:5], cells[-1]) == (expected, str(row["k"]))
    assert show(found["steadiness"]["changed"], "percent") in text
    assert f"{found['n_retrainings']} retrainings, {found['n_retrainings']} of them stored" in text


def test_the_plan_and_progress_go_to_standard_error(run: str, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("retrained"))
    done = whereof("evaluate", str(copy), *SMALL, "--seeds", "2", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["seeds"]) == 2
    assert f"seed {found['seeds'][1]}" in done.stderr
    # Two seeds: two methods, two sizes and five predictions, three removals, a control, and for
    # linearity and claims of five predictions 26.
    said = [line for line in done.stderr.split("\n") if "retrainings, " in line]
    assert len(said) == 1
    assert said[0].startswith("at most 100 retrainings, ")
    again = whereof("evaluate", str(copy), *SMALL, "--seeds", "2", "--json")
    assert (again.returncode, again.stderr) == (0, "")


def test_retrainings_go_to_a_file(run: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    found = document(run, *SMALL, "-o", str(path))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * found["n_predictions"] + 3 * found["n_predictions"]
    mine = [r for r in rows if (r["protocol"], r["method"], r["k"]) == ("removal", "rollback", "3")]
    fell = [float(row["actual"]) < float(row["original"]) for row in mine]
    assert sum(fell) / len(fell) == pytest.approx(found["removal"][1]["pd"])
    assert all(len(row["removed"].split()) == 3 for row in mine)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--methods", "rolback"), "unknown method 'rolback'; did you mean 'rollback'?"),
        (("--protocols", "kelpi"), "unknown protocol 'kelpi'; did you mean 'kelpie'?"),
        (("--k", "none"), "k is 'none'; give numbers from 1 on, or all"),
        (("--predictions", "nowhere.tsv"), "nowhere.tsv"),
        (("--out", "rows.doc"), "rows.doc: unknown ending '.doc'"),
        (("--force",), "--force overwrites a file: name it with -o"),
        (("--seeds", "0"), "seeds is 0; it must be 1 or more"),
    ],
)
def test_bad_input_is_one_line(run: str, arguments: tuple[str, ...], said: str) -> None:
    done = whereof("evaluate", run, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_a_file_that_is_there_is_refused_before_anything_is_retrained(
    run: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("mine")
    done = CliRunner().invoke(cli, ["evaluate", run, "--seed", "99", "-o", str(path)])
    assert "exists; choose another file" in str(done.exception)
    assert path.read_text() == "mine"


def test_options_may_come_from_a_file(run: str, tmp_path: Path) -> None:
    config = tmp_path / "options.toml"
    config.write_text('[evaluate]\nk = [1, 3]\nmethods = ["rollback", "random"]\nlimit = 5\n')
    found = document(run, "--config", str(config), "--removals", "3")
    assert figures(found) == figures(document(run, *SMALL))
    config.write_text("[evaluate]\nlimit = 'many'\n")
    done = CliRunner().invoke(cli, ["evaluate", run, "--config", str(config)])
    assert "limit is 'many'; give a whole number" in str(done.exception)


def test_one_prediction_has_no_interval(run: str) -> None:
    arguments = (run, "--limit", "1", "--k", "1", "--removals", "1")
    found, text = document(*arguments), shown(*arguments)
    assert [row["pd_interval"] for row in found["removal"]] == [None, None]
    assert found["steadiness"]["interval"] is None
    row = next(line for line in text.split("\n") if line.startswith("rollback"))
    shares = [show(found["removal"][0][name], "percent") for name in ("pd", "tc")]
    assert row.split() == ["rollback", "1", *shares, "1"]
    page = CliRunner().invoke(cli, ["report", run, "-o", str(Path(run) / "page.html")])
    assert page.exit_code == 0, page.output


def test_a_model_of_ratings_has_ratings(tmp_path: Path) -> None:
    train_ratings(tmp_path, epochs=5)
    arguments = ("--predictions", "true", "--split", "train", "--limit", "3", "--k", "1")
    protocols = ("--protocols", "removal,steadiness,approximation")
    text = shown(str(tmp_path / "run"), *arguments, *protocols)
    assert "PD: share of predictions whose rating falls." in text
    assert "How much lower the rating is" in text
    assert "of the top answers" in text
    assert "and the rating by" in text
    assert "r of ratings" in text
    assert "probabilit" not in text


def test_every_protocol_is_shown() -> None:
    file = io.StringIO()
    show_evaluation(Console(width=80, file=file), FULL)
    text = file.getvalue()
    for section in FULL.sections():
        assert f"\n{section.title}\n" in text
        assert all(sentence in text for sentence in section.sentences)
        assert all(plain(table) in text for table in section.tables)
    assert "900 retrainings; 1 min 1 s in total" in text
    assert "seeds 42 to 43" in text


def journal(folder: Path) -> list[str]:
    """Complete lines of a run's journals."""
    texts = [path.read_bytes() for path in folder.glob("retrained/*.jsonl")]
    found = []
    for line in b"".join(texts).split(b"\n"):
        try:
            found.append(read_sealed_line(line)["removed"])
        except ValueError:  # blank, or cut short
            continue
    return found


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that nobody can catch")
def test_a_killed_evaluation_goes_on_where_it_stopped(tmp_path: Path) -> None:
    train(tmp_path / "killed", epochs=20)
    shutil.copytree(tmp_path / "killed", tmp_path / "whole")
    options = ("--limit", "12", "--k", "1,3,all", "--removals", "5", "--threads", "1")
    whole = document(str(tmp_path / "whole"), *options)
    command = [sys.executable, "-m", "whereof", "evaluate", str(tmp_path / "killed"), *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(journal(tmp_path / "killed")) < 10:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    before = journal(tmp_path / "killed")
    again = document(str(tmp_path / "killed"), *options)
    after = journal(tmp_path / "killed")
    assert 10 <= len(before) < len(after)
    assert again["n_known"] == len(before)
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == again["n_retrainings"]
    assert sorted(after) == sorted(journal(tmp_path / "whole"))
    assert figures(again) == figures(whole)
