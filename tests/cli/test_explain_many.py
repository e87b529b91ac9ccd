"""`whereof explain --predictions`: many, into a file."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trained import train

from cli.helpers import whereof


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, inverse=True)
    return str(path)


def test_many_are_explained_into_a_file(run: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = whereof("explain", run, "--predictions", "top", "-o", str(out), "--top", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{out}: 286 facts for 143 predictions, in ")
    found = [json.loads(line) for line in out.read_text().splitlines()]
    places = ("subject", "relation", "object")
    names = (found[9]["prediction"][place] for place in places)
    expected = json.loads(whereof("explain", run, *names, "--top", "2", "--json").stdout)
    assert {name: expected[name] for name in found[9]} == found[9]
    more = ["--split", "valid", "--limit", "7", "--threads", "1", "--json", "--force"]
    done = whereof("explain", run, "--predictions", "true", "-o", str(out), *more)
    summary = json.loads(done.stdout)
    assert summary.pop("seconds") >= 0
    assert summary == {
        "path": str(out),
        "n_predictions": 7,
        "n_facts": 70,
        "notes": [],
        "n_resumed": 0,
        "failed": [],
    }


def test_bad_lines_are_named_and_the_rest_is_done(run: str, tmp_path: Path) -> None:
    file, out = tmp_path / "p.tsv", tmp_path / "out.csv"
    bad = "".join(f"land{number}\tembassy\tusa\n" for number in range(11))
    file.write_text("egypt\tembassy\tusa\n\negypt\tembassy\n" + bad + "uk\tembassy\t_\n")
    done = whereof("explain", run, "--predictions", str(file), "-o", str(out), "--json")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"whereof: {file}:3: a prediction is SUBJECT RELATION OBJECT")
    assert lines[1].startswith(f"whereof: {file}:4: unknown entity 'land0'")
    assert lines[10:] == ["whereof: 2 other predictions could not be explained either"]
    summary = json.loads(done.stdout)
    assert summary["n_predictions"] == 2
    assert [each["line"] for each in summary["failed"]] == list(range(3, 15))
    with out.open(newline="") as text:
        subjects = [row["prediction_subject"] for row in csv.DictReader(text)]
    assert list(dict.fromkeys(subjects)) == ["egypt", "uk"]


def test_a_file_of_bad_lines_is_bad_input(run: str, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_text("a\tb\tc\nusa\n")
    out = tmp_path / "out.csv"
    done = whereof("explain", run, "--predictions", str(tmp_path / "p.tsv"), "-o", str(out))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "p.tsv:1: unknown" in done.stderr
    assert "(1 other bad one)" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["p.tsv"]


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_after_a_kill_the_same_command_goes_on(run: str, tmp_path: Path, how: str) -> None:
    file, out = tmp_path / "p.tsv", tmp_path / "out.tsv"
    lines = ["egypt\tembassy\tusa\n", "uk\ttreaties\t_\n", "who\tis\tthat\n"] * 150
    file.write_text("".join(lines))
    command = ["explain", run, "--predictions", str(file), "--top", "50", "-o"]
    process = subprocess.Popen(
        [sys.executable, "-m", "whereof", *command, str(out)], stderr=subprocess.PIPE, text=True
    )
    journal = tmp_path / ".out.tsv.unfinished"
    while not journal.exists() or journal.read_bytes().count(b"\n") < 20:
        assert process.poll() is None
    getattr(process, how)()
    said = process.communicate()[1]
    if how == "terminate":
        assert said.endswith("whereof: interrupted; run the same command again to continue\n")
        assert process.returncode == 130
    assert not out.exists()
    other = whereof(*command, str(out), "--opposing")
    assert other.returncode == 2
    assert "has another set of options" in other.stderr
    again = whereof(*command, str(out), "--json")
    assert again.returncode == 0, again.stderr
    assert 0 < json.loads(again.stdout)["n_resumed"] < 450
    whole = tmp_path / "whole.tsv"
    assert whereof(*command, str(whole)).returncode == 0
    assert out.read_bytes() == whole.read_bytes()
    assert {each.name for each in tmp_path.iterdir()} == {"p.tsv", "out.tsv", "whole.tsv"}
