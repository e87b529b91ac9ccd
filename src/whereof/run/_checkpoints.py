"""Where the checkpoints of a run in the making are, and those that were kept for good."""

import json
from pathlib import Path

from safetensors import safe_open

from whereof.training.results import Checkpoint, Parameters

PROGRESS = "progress"
_NAME = "checkpoint-"


def find_checkpoints(run: Path) -> list[Path]:
    """The folders of a run's checkpoints, oldest first."""
    folders = [f for f in (run / PROGRESS).glob(f"{_NAME}*") if f.name[len(_NAME) :].isdigit()]
    return sorted(folders, key=_number)


def next_checkpoint(run: Path) -> Path:
    """The folder that comes after the last."""
    numbers = map(_number, find_checkpoints(run)[-1:])
    return run / PROGRESS / f"{_NAME}{1 + max(numbers, default=0)}"


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix(_NAME))


def read_checkpoint(file: Path) -> Checkpoint:
    """Parameters that were kept, and at which moment of training."""
    with safe_open(file, "numpy") as stored:
        about = json.loads(stored.metadata()["about"])
        rows = Parameters(stored.get_tensor("entities"), stored.get_tensor("relations"))
    return Checkpoint(rows, about["facts"], about["updates"])
