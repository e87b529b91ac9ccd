"""A power cut at any moment of training: the run resumes to the same bits, or never began."""

from pathlib import Path
from typing import Any

import pytest
from listening import stopping
from trained import outcome, train

import whereof
from faults.power import Disk
from whereof.errors import Interrupted
from whereof.run.folder import find_checkpoints

SETTINGS: dict[str, Any] = {"epochs": 4, "keep_checkpoints": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = tmp_path_factory.mktemp("whole") / "run"
    train(path, **SETTINGS)
    return outcome(path)


def refuse(*_: Any, **__: Any) -> None:
    raise OSError("this disk has no links")


@pytest.mark.parametrize("has_links", [True, False])
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_survives_a_power_cut_at_every_moment(
    tmp_path: Path, whole: dict, step: int, has_links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_links:
        monkeypatch.setattr("os.link", refuse)
    (tmp_path / "disk").mkdir()
    disk = Disk(tmp_path / "disk", tmp_path / "images")
    path = tmp_path / "disk" / "run"
    with disk.watched():
        with pytest.raises(Interrupted):
            train(path, **SETTINGS, events=stopping(2))
        with pytest.raises(Interrupted):
            whereof.resume(path, events=stopping(1))
        whereof.resume(path)
    assert outcome(path) == whole
    checkpointed = False
    for number in range(1, disk.n_images + 1, step):
        run = tmp_path / "images" / f"{number:04d}" / "run"
        if not run.exists():
            assert not checkpointed, f"image {number}: the run is lost"
            continue
        checkpointed = checkpointed or bool(find_checkpoints(run))
        whereof.resume(run)
        assert outcome(run) == whole, f"image {number}"
    assert checkpointed
