"""A run folder, opened and checked."""

import hashlib
import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from whereof.data.dataset import Dataset
from whereof.data.indexes import Adjacency
from whereof.errors import WhereofError
from whereof.models import find_model
from whereof.run.dataset import read_adjacency, read_dataset
from whereof.run.files import expect_random_access, read_json, total_memory
from whereof.run.manifest import Manifest, RunInfo
from whereof.training.config import TrainConfig
from whereof.training.results import Checkpoint, Parameters, Progress
from whereof.types import Rows

PROGRESS = "progress"


class RunFolder:
    """The content of a run. `open` checks all files; each is read when it is first needed."""

    def __init__(self, path: Path | None, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self.config = TrainConfig.from_dict(manifest.config)
        self.model = find_model(self.config.model)

    @classmethod
    def open(cls, path: str | Path, *, check: bool = False, unfinished: bool = False) -> Self:
        """Open a run folder. An error says in one line what is wrong with it.

        All files are checked. Files that have not changed since the last check are not read
        again, unless `check` is set. A run that is not finished is refused, unless `unfinished` is
        set: it has data, settings and history, but no parameters and no metrics.
        """
        path = Path(path)
        manifest = Manifest.read(path)
        if not manifest.finished and not unfinished:
            raise WhereofError(
                f"{path} is not finished; continue with: whereof train --resume {path}"
            )
        manifest.check_files(path, afresh=check)
        return cls(path, manifest)

    def file(self, name: str) -> Path:
        """The path of a file of the run."""
        assert self.path is not None  # a run from arrays has all its content in memory
        return self.path / name

    @cached_property
    def dataset(self) -> Dataset:
        return read_dataset(self.file(""), self.manifest.dataset)

    @cached_property
    def parameters(self) -> Parameters:
        return read_parameters(self.file("parameters.safetensors"))[0]

    @property
    def entity_rows(self) -> Rows:
        """(n_entities, width)."""
        return self.parameters.entity_rows

    @property
    def relation_rows(self) -> Rows:
        """(n_relations, width), followed by the inverse relations if there are any."""
        return self.parameters.relation_rows

    @cached_property
    def trace(self) -> NDArray[Any] | None:
        """(n_facts, trace width), memory-mapped; None for a run trained without one."""
        if not self.config.trace:
            return None
        trace: NDArray[Any] = np.load(self.file("trace.npy"), mmap_mode="r")
        if trace.nbytes > (total_memory() or math.inf) / 4:  # too large to stay in memory
            expect_random_access(trace)
        return trace

    @cached_property
    def adjacency(self) -> Adjacency:
        """The facts of every entity and relation."""
        return read_adjacency(self.path, self.dataset)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """By split and name: filtered MRR and hits, or recall and NDCG, or errors of ratings."""
        return dict(read_json(self.file("metrics.json"))) if self.manifest.finished else {}

    @cached_property
    def history(self) -> list[dict[str, float]]:
        """For every epoch its loss and, if validated, the metric that picks the best epoch."""
        if self.manifest.finished:
            return list(read_json(self.file("history.json")))
        return self._progress.history

    @property
    def fingerprint(self) -> str:
        """A hash of the content of all files or arrays."""
        files = {name: about["sha256"] for name, about in self.manifest.files.items()}
        digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode())
        if self.path is None:
            digest.update(f"{self.dataset.hash} {self.config}".encode())
            for array in (self.entity_rows, self.relation_rows, self.trace):
                if array is not None:
                    digest.update(np.ascontiguousarray(array).ravel().view(np.uint8).data)
        return digest.hexdigest()

    @property
    def about(self) -> RunInfo:
        """What is known of the run without reading its arrays."""
        manifest, data, result = self.manifest, self.manifest.dataset, self.manifest.result
        if not manifest.finished:
            progress = self._progress
            result = {
                "epochs": len(progress.history),
                "best_epoch": progress.best_epoch,
                "steps": progress.updates,
                "seconds": progress.seconds,
            }
        own = {
            "run": None if self.path is None else str(self.path),
            "dataset": data["name"],
            "dataset_hash": data.get("hash", ""),
            "model": self.config.model,
            "metrics": self.metrics,
            "history": self.history,
        }
        return msgspec.convert(data | result | vars(manifest) | own, RunInfo)

    @cached_property
    def _progress(self) -> Progress:
        """The progress of the last checkpoint."""
        folders = find_checkpoints(self.file(""))
        if not folders:
            return Progress()
        return Progress.from_dict(read_json(folders[-1] / "progress.json")["progress"])


def find_checkpoints(run: Path) -> list[Path]:
    """The checkpoints that an unfinished run can continue from, oldest first."""
    folders = (run / PROGRESS).glob("checkpoint-*")
    return sorted(folders, key=lambda folder: int(folder.name.rpartition("-")[2]))


def read_kept_checkpoints(run: Path | None) -> list[Checkpoint]:
    """The points of training that a run has kept, in order."""
    files = [] if run is None else sorted(run.glob("checkpoints/*"))
    found = map(read_parameters, files)
    return [Checkpoint(rows, about["facts"], about["updates"]) for rows, about in found]


def read_parameters(file: Path) -> tuple[Parameters, dict[str, Any]]:
    """Parameters, and what was written with them."""
    with safe_open(file, "numpy") as stored:
        about = json.loads((stored.metadata() or {}).get("about", "{}"))
        return Parameters(stored.get_tensor("entities"), stored.get_tensor("relations")), about
