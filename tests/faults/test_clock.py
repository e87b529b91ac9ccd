"""A clock that jumps: no work is lost, and no result changes."""

import itertools
import os
import time
from pathlib import Path

import pytest
from listening import stopping
from trained import outcome, train

import whereof
from whereof.errors import Interrupted


def test_training_and_resuming_do_not_look_at_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(tmp_path / "whole", epochs=6)
    jumps = itertools.cycle([4e9, 0.0, 2e9, -1e6])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    with pytest.raises(Interrupted):
        train(tmp_path / "run", epochs=6, checkpoint_seconds=0.01, events=stopping(3))
    run = whereof.resume(tmp_path / "run")
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
    first = run.verify("egypt", "embassy", "usa", method="rollback")
    again = run.verify("egypt", "embassy", "usa", method="rollback")
    assert first.actual == again.actual
    assert again.n_known == first.n_known + 2


@pytest.mark.parametrize("seconds", [0, 4_102_444_800])  # 1970 and 2100
def test_times_of_files_do_not_matter(tmp_path: Path, seconds: int) -> None:
    run = train(tmp_path / "run", epochs=2)
    wanted = run.explain("egypt", "embassy", "usa", method="rollback").facts
    run.evaluate(limit=1, methods="random", protocols="removal", k=1)
    for file in (tmp_path / "run").rglob("*"):
        os.utime(file, (seconds, seconds))
    opened = whereof.Run.open(tmp_path / "run")
    assert opened.explain("egypt", "embassy", "usa", method="rollback").facts == wanted
    assert len(opened.evaluations().found) == 1
    file = tmp_path / "run" / "train.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    os.utime(file, (seconds, seconds))  # as if nothing had happened
    with pytest.raises(whereof.WhereofError, match=r"train\.npy was altered"):
        whereof.Run.open(tmp_path / "run")
