"""Damage in the files of an interrupted run: it resumes to the same bits, or says what is wrong."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from listening import Recorded, stopping
from trained import outcome, train

import whereof
from whereof.errors import Interrupted


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    train(folder / "whole", epochs=6, keep_checkpoints=6)
    with pytest.raises(Interrupted):
        train(folder / "cut", epochs=6, keep_checkpoints=6, events=stopping(3))
    with pytest.raises(Interrupted):
        whereof.resume(folder / "cut", events=stopping(1))
    return folder


@pytest.mark.parametrize("damage", [flip, cut, Path.unlink])
def test_no_damaged_file_becomes_part_of_a_finished_run(
    tmp_path: Path, runs: Path, damage: Callable[[Path], None]
) -> None:
    files = [file.relative_to(runs / "cut") for file in (runs / "cut").glob("**/*.*")]
    needed = [file for file in files if file.name != ".lock"]
    assert len({file.parent for file in needed}) == 5  # two checkpoints and their best epochs
    for number, file in enumerate(needed):
        path = shutil.copytree(runs / "cut", tmp_path / str(number))
        damage(path / file)
        try:
            whereof.resume(path)
        except whereof.WhereofError as error:
            assert file.name in str(error)  # noqa: PT017 - either is right, by file
        else:
            assert outcome(path) == outcome(runs / "whole"), file


def test_a_damaged_checkpoint_leaves_the_one_before(tmp_path: Path, runs: Path) -> None:
    path = shutil.copytree(runs / "cut", tmp_path / "run")
    flip(path / "progress" / "checkpoint-2" / "trace.npy")
    events = Recorded()
    whereof.resume(path, events=events)
    assert any("checkpoint-2/trace.npy was altered" in note for note in events.notes)
    assert outcome(path) == outcome(runs / "whole")


def test_damage_that_is_not_needed_is_not_told(tmp_path: Path, runs: Path) -> None:
    path = shutil.copytree(runs / "cut", tmp_path / "run")
    flip(path / "progress" / "checkpoint-1" / "progress.json")
    events = Recorded()
    whereof.resume(path, events=events)
    assert not any("checkpoint" in note for note in events.notes)
    assert outcome(path) == outcome(runs / "whole")


def test_without_a_whole_checkpoint_nothing_is_guessed(tmp_path: Path, runs: Path) -> None:
    path = shutil.copytree(runs / "cut", tmp_path / "run")
    for file in path.glob("progress/checkpoint-*/progress.json"):
        flip(file)
    with pytest.raises(whereof.WhereofError, match=r"progress\.json .*; to train from the begin"):
        whereof.resume(path)
    shutil.rmtree(path / "progress")
    whereof.resume(path)
    assert outcome(path) == outcome(runs / "whole")
