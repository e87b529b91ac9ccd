"""Output that nobody can read: the work goes on, and nothing complains."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from trained import outcome, train

OPTIONS = [
    *("--model", "distmult", "--dim", "6", "--no-inverse", "--negatives", "5", "--n3", "0"),
    *("--optimizer", "adam-lazy", "--rate", "0.003", "--epochs", "4", "--validate-every", "1"),
    *("--patience", "0", "--seed", "3"),
]


@pytest.mark.parametrize("kind", ["pipe", "terminal"])
def test_training_ends_well_although_its_output_is_closed(tmp_path: Path, kind: str) -> None:
    reader, writer = os.pipe() if kind == "pipe" else os.openpty()
    os.close(reader)
    command = [sys.executable, "-m", "whereof", "train", "nations", *OPTIONS]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "run")], stderr=writer, stdout=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert done.returncode == 0
    train(tmp_path / "other")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "other")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_results_that_nobody_reads_need_no_message(options: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "whereof", "datasets", *options]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")
