"""A run folder, opened and checked."""

import hashlib
import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file

from whereof.data.dataset import Dataset
from whereof.data.indexes import Adjacency
from whereof.errors import WhereofError
from whereof.models import Model, find_model
from whereof.run.dataset import read_adjacency, read_dataset
from whereof.run.files import expect_random_access, read_json, total_memory
from whereof.run.manifest import Manifest
from whereof.training.config import TrainConfig
from whereof.training.results import Checkpoint, Parameters, Progress
from whereof.types import Rows

PROGRESS = "progress"
_NAME = "checkpoint-"


class RunFolder:
    """A run folder. `open` checks its files; each is read when it is first needed."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest

    @classmethod
    def open(
        cls, path: str | Path, *, check: bool = False, unfinished: bool = False
    ) -> "RunFolder":
        """Open a run. An error names the file that is missing, truncated, altered or newer.

        A run that is not finished is refused, unless `unfinished` is set: it has data, settings
        and history, but no parameters and no metrics.
        """
        path = Path(path)
        manifest = Manifest.read(path)
        if not manifest.finished and not unfinished:
            raise WhereofError(
                f"{path} is not finished; continue with: whereof train --resume {path}"
            )
        manifest.check_files(path, afresh=check)
        return cls(path, manifest)

    @cached_property
    def config(self) -> TrainConfig:
        return TrainConfig.from_dict(self.manifest.config)

    @property
    def model(self) -> Model:
        return find_model(self.config.model)

    @cached_property
    def dataset(self) -> Dataset:
        return read_dataset(self.path, self.manifest.dataset)

    @cached_property
    def _parameters(self) -> dict[str, Rows]:
        return load_file(self.path / "parameters.safetensors")

    @property
    def entity_rows(self) -> Rows:
        """(n_entities, width)."""
        return self._parameters["entities"]

    @property
    def relation_rows(self) -> Rows:
        """(n_relations, width), then the inverse relations if there are any."""
        return self._parameters["relations"]

    @cached_property
    def trace(self) -> NDArray[Any] | None:
        """(n_facts, subject, relation, object and inverse relation), memory-mapped."""
        if not self.config.trace:
            return None
        trace: NDArray[Any] = np.load(self.path / "trace.npy", mmap_mode="r", allow_pickle=False)
        if trace.nbytes > (total_memory() or math.inf) / 4:  # too large to stay in memory
            expect_random_access(trace)
        return trace

    @cached_property
    def adjacency(self) -> Adjacency:
        """The facts of every entity and relation."""
        return read_adjacency(self.path, self.dataset)

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The points of training that were kept, in order."""
        return [read_checkpoint(file) for file in sorted(self.path.glob("checkpoints/*"))]

    @property
    def fingerprint(self) -> str:
        """A hash of the content of all files."""
        files = {name: about["sha256"] for name, about in self.manifest.files.items()}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()

    @property
    def about(self) -> dict[str, Any]:
        """Name and sizes of the dataset."""
        return self.manifest.dataset

    @cached_property
    def metrics(self) -> dict[str, Any]:
        return dict(read_json(self.path / "metrics.json")) if self.manifest.finished else {}

    @cached_property
    def history(self) -> list[dict[str, float]]:
        """One entry per epoch."""
        if self.manifest.finished:
            return list(read_json(self.path / "history.json"))
        return self._progress.history

    @property
    def result(self) -> dict[str, Any]:
        """The numbers of the manifest's result; of an unfinished run, its progress."""
        if self.manifest.finished:
            return self.manifest.result
        progress = self._progress
        return {
            "epochs": len(progress.history),
            "best_epoch": progress.best_epoch,
            "steps": progress.updates,
            "seconds": progress.seconds,
        }

    @cached_property
    def _progress(self) -> Progress:
        """The progress of the last checkpoint."""
        folders = find_checkpoints(self.path)
        if not folders:
            return Progress()
        return Progress.from_dict(read_json(folders[-1] / "progress.json")["progress"])


def find_checkpoints(run: Path) -> list[Path]:
    """The checkpoint folders of a run, oldest first."""
    folders = [f for f in (run / PROGRESS).glob(f"{_NAME}*") if f.name[len(_NAME) :].isdigit()]
    return sorted(folders, key=_number)


def next_checkpoint(run: Path) -> Path:
    """The folder of the next checkpoint."""
    numbers = map(_number, find_checkpoints(run)[-1:])
    return run / PROGRESS / f"{_NAME}{1 + max(numbers, default=0)}"


def _number(folder: Path) -> int:
    return int(folder.name.removeprefix(_NAME))


def read_checkpoint(file: Path) -> Checkpoint:
    """Parameters that were kept, and at which point of training."""
    with safe_open(file, "numpy") as stored:
        about = json.loads(stored.metadata()["about"])
        rows = Parameters(stored.get_tensor("entities"), stored.get_tensor("relations"))
    return Checkpoint(rows, about["facts"], about["updates"])
