"""Whether an explanation takes milliseconds is known in advance."""

from pathlib import Path

from trained import train

import whereof
from explain.helpers import random_run

NAMES = ("egypt", "embassy", "usa")


def test_methods_without_preparation_are_ready_and_those_that_retrain_are_not() -> None:
    run = random_run("distmult")
    assert run.is_ready("e0", "r0", "e1", method="rollback")
    assert run.is_ready("e0", "r0", "_", method="criage")
    assert not run.is_ready("e0", "r0", "e1", method="retrain")
    assert not run.is_ready("e0", "r0", "e1", method="rollback", seeds=2)


def test_a_sweep_is_ready_once_it_is_stored_and_only_for_its_prediction(tmp_path: Path) -> None:
    run = train(tmp_path / "run", optimizer="adagrad", epochs=1)
    assert not run.is_ready(*NAMES, method="unrolled")
    run.explain(*NAMES, method="unrolled")
    assert run.is_ready(*NAMES, method="unrolled")
    assert not run.is_ready(*NAMES, method="unrolled", of="score")
    assert not run.is_ready("usa", "embassy", "egypt", method="unrolled")
    again = whereof.Run.open(tmp_path / "run")
    assert again.is_ready(*NAMES, method="unrolled")
