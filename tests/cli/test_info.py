"""`whereof info` as a user types it: one run, several side by side, one that is not finished."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from explain.test_own_score import twins
from rich.console import Console
from trained import train

import whereof as library
from cli.helpers import whereof, whereof_process
from whereof.present.run import show_runs
from whereof.run.files import lock
from whereof.units import size


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    train(folder / "one")
    train(folder / "two", dim=3, rate=0.01, epochs=2)
    train(folder / "both", inverse=True)
    (folder / "facts.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    library.train(folder / "facts.tsv", out=folder / "other", dim=2)
    return folder


def table(folder: Path, *arguments: str) -> dict[str, list[str]]:
    """Cells of a table, by the first one or two words of their row."""
    done = whereof("info", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
    return {" ".join(row[:-2]): row[-2:] for row in rows}


def test_a_run_with_a_scoring_function_of_its_own_is_described(tmp_path: Path) -> None:
    """Another process does not know the function."""
    twins()[1].save(tmp_path / "own")
    done = whereof_process("info", "own", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "own-distmult: a scoring function of its own" in done.stdout
    refused = whereof_process("predict", "own", "e0", "r0", cwd=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "scored by a function of your own, distmult, which is not stored" in refused.stderr


def test_metrics_and_differing_settings_stand_side_by_side(runs: Path) -> None:
    rows = table(runs, "one", "two")
    assert rows[""] == ["one", "two"]
    assert rows["dim"] == ["6", "3"]
    assert rows["training facts"] == ["1,592", "1,592"]
    assert "seed" not in rows
    assert "paper's filter" not in " ".join(rows)
    values = [library.Run.open(runs / name).metrics["test"]["mrr"] for name in ("one", "two")]
    assert [cell.rstrip("*") for cell in rows["test MRR"]] == [f"{100 * v:.1f}%" for v in values]
    assert [cell.endswith("*") for cell in rows["test MRR"]] == [v == max(values) for v in values]


def test_all_shows_what_is_equal_too(runs: Path) -> None:
    rows = table(runs, "one", "two", "--all")
    assert rows["seed"] == ["3", "3"]
    assert "test paper's filter MRR" in rows


def test_other_data_is_said_and_nothing_marked(runs: Path) -> None:
    out = whereof("info", "one", "other", cwd=runs).stdout
    assert "The datasets differ (nations " in out
    assert "*" not in out


def test_sides_are_compared_with_their_like(runs: Path) -> None:
    rows = table(runs, "one", "both")
    alone = library.Run.open(runs / "one").metrics["test"]["mrr"]
    assert rows["test objects MRR"][0].rstrip("*") == f"{100 * alone:.1f}%"
    assert "*" not in "".join(rows["test MRR"])
    assert "Compare the `objects` rows" in whereof("info", "one", "both", cwd=runs).stdout


def test_runs_that_do_not_fit_go_on_below(runs: Path) -> None:
    info = replace(library.Run.open(runs / "one").about, run=f"{'long-' * 8}name")
    out = Console(force_terminal=True, color_system=None, width=60, highlight=False)
    with out.capture() as capture:
        show_runs(out, [info] * 5, everything=False)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 60
    assert capture.get().count("1,592") == 5
    assert "* is the best" not in capture.get()  # they are the same
    pipe = Console(width=60)
    with pipe.capture() as capture:
        show_runs(pipe, [info] * 5, everything=False)
    assert capture.get().splitlines()[0].split() == [info.run] * 5


def test_sides_are_not_shown_of_other_data(runs: Path) -> None:
    out = whereof("info", "both", "other", cwd=runs).stdout
    assert "objects" not in out


@pytest.mark.parametrize("which", [["one"], ["one", "two"]])
def test_the_epochs_of_training_and_the_setting_have_other_names(
    runs: Path, which: list[str]
) -> None:
    lines = whereof("info", *which, cwd=runs).stdout.splitlines()
    rows = [" ".join(line.split()) for line in lines]
    epochs = " ".join({"one": "4", "two": "2"}[name] for name in which)
    assert rows.count(f"epochs trained {epochs}") == rows.count(f"epochs {epochs}") == 1


def test_json_has_every_run_and_the_differences(runs: Path) -> None:
    document = json.loads(whereof("info", "one", "two", "--json", cwd=runs).stdout)
    assert document["differences"] == {"dim": [6, 3], "rate": [0.003, 0.01], "epochs": [4, 2]}
    single = json.loads(whereof("info", "one", "--json", cwd=runs).stdout)
    assert document["runs"][0] == single


def test_one_run_says_what_it_has_and_how_it_ended(runs: Path) -> None:
    lines = {
        " ".join(line.split()) for line in whereof("info", "one", cwd=runs).stdout.splitlines()
    }
    assert {
        "validation facts 199",
        "test facts 201",
        "sources of facts no",
        "ended kept epoch 4 of 4",
        f"trace on disk {size(library.Run.open(runs / 'one').trace.nbytes)}",
    } <= lines
    assert any(line.startswith("test, objects only") for line in lines)
    assert any("add up to 100%" in line for line in lines)


@pytest.mark.skipif(os.name == "nt", reason="locks are those of POSIX")
def test_a_run_in_training_is_said_to_be(runs: Path, tmp_path: Path) -> None:
    path = unfinished(runs / "one", tmp_path / "half")
    with lock(path / ".lock"):
        assert "not finished; another process is training it" in whereof("info", str(path)).stdout
    assert "whereof train --resume" in whereof("info", str(path)).stdout


def test_runs_of_one_name_are_told_apart(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "two", tmp_path / "one")
    assert str(tmp_path)[:8] in whereof("info", "one", str(tmp_path / "one"), cwd=runs).stdout


def test_an_unfinished_run_is_shown(runs: Path, tmp_path: Path) -> None:
    path = unfinished(runs / "one", tmp_path / "half")
    done = whereof("info", str(path))
    assert done.returncode == 0, done.stderr
    assert f"not finished; continue with: whereof train --resume {path}" in done.stdout
    assert "distmult" in done.stdout
    assert "finished" in table(runs, "one", str(path))
    refused = whereof("predict", str(path), "egypt", "embassy")
    assert refused.returncode == 2
    assert "whereof train --resume" in refused.stderr


def unfinished(run: Path, path: Path) -> Path:
    """A copy of a run as it was before its first checkpoint."""
    from whereof.run.folder import Manifest

    shutil.copytree(run, path)
    about: dict[str, Any] = vars(Manifest.read(path)) | {"finished": False, "result": {}}
    Manifest(**about).write(path)
    return path
