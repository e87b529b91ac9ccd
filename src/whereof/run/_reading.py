"""A finished run, opened."""

import hashlib
import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from whereof.data import Adjacency, Dataset
from whereof.errors import WhereofError
from whereof.models import Model, find_model
from whereof.run._checkpoints import find_checkpoints, read_checkpoint
from whereof.run._dataset import read_adjacency, read_dataset
from whereof.run._files import expect_random_access, read_json, total_memory
from whereof.run._manifest import Manifest
from whereof.training.config import TrainConfig
from whereof.training.results import Checkpoint, Progress
from whereof.types import Rows


class RunFolder:
    """Reads a run's files as they are asked for; `open` checks them first."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest

    @classmethod
    def open(
        cls, path: str | Path, *, check: bool = False, unfinished: bool = False
    ) -> "RunFolder":
        """Open a run; a missing, truncated, altered or newer file is named.

        One that is not finished is refused, unless `unfinished` takes what there is of it: it has
        data, settings and history, but neither parameters nor metrics.
        """
        path = Path(path)
        manifest = Manifest.read(path)
        if not manifest.finished and not unfinished:
            raise WhereofError(f"{path} is not finished; go on with: whereof train --resume {path}")
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
        """(n_relations, width), then as many inverse relations where there are any."""
        return self._parameters["relations"]

    @cached_property
    def trace(self) -> NDArray[Any] | None:
        """(n_facts, subject, relation, object and inverse relation), memory-mapped."""
        if not self.config.trace:
            return None
        trace: NDArray[Any] = np.load(self.path / "trace.npy", mmap_mode="r", allow_pickle=False)
        if trace.nbytes > (total_memory() or math.inf) / 4:  # it will not stay in memory as a whole
            expect_random_access(trace)
        return trace

    @cached_property
    def adjacency(self) -> Adjacency:
        """Which facts every entity and relation stands in."""
        return read_adjacency(self.path, self.dataset)

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """The moments of training that were kept, in their order."""
        return [read_checkpoint(file) for file in sorted(self.path.glob("checkpoints/*"))]

    @property
    def fingerprint(self) -> str:
        """Tells this run from every other: a hash of what its files hold."""
        files = {name: about["sha256"] for name, about in self.manifest.files.items()}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()

    @property
    def about(self) -> dict[str, Any]:
        """Name and sizes of the data."""
        return self.manifest.dataset

    @cached_property
    def metrics(self) -> dict[str, Any]:
        return dict(read_json(self.path / "metrics.json")) if self.manifest.finished else {}

    @cached_property
    def history(self) -> list[dict[str, float]]:
        """One entry an epoch."""
        if self.manifest.finished:
            return list(read_json(self.path / "history.json"))
        return self._progress.history

    @property
    def result(self) -> dict[str, Any]:
        """What training came to, in numbers, or how far it has come."""
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
        """How far the last checkpoint is."""
        folders = find_checkpoints(self.path)
        if not folders:
            return Progress()
        return Progress.from_dict(read_json(folders[-1] / "progress.json")["progress"])
