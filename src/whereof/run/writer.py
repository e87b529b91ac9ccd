"""Writing a run folder: checkpoints during training, then the finished run."""

import json
import math
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from whereof.data.dataset import Dataset
from whereof.errors import WhereofError
from whereof.run import files
from whereof.run.dataset import write_dataset
from whereof.run.folder import PROGRESS, Manifest, find_checkpoints, read_parameters
from whereof.training.config import TrainConfig
from whereof.training.results import BestEpoch, Bookkeeping, Parameters, Progress


class RunWriter:
    """Writes a run. Until `finish`, the folder contains data, config and the last checkpoint.

    Every checkpoint is a folder that gets its name when it is complete: if the process is killed,
    the last complete one is there.
    """

    def __init__(self, path: Path, manifest: Manifest, memory_share: float) -> None:
        self.path, self.manifest = path, manifest
        self._memory_share = memory_share
        self._checkpointed_best = 0
        self._progress = path / PROGRESS
        with files.writing_to(path):
            self._lock = files.lock(path / ".lock")

    @classmethod
    def create(
        cls,
        path: Path,
        dataset: Dataset,
        config: TrainConfig,
        n_bytes: int,
        memory_share: float,
        search: dict[str, Any] | None = None,
    ) -> "RunWriter":
        """Make the folder of a new run, which will take about `n_bytes`.

        search: what the search for settings tried.
        """
        cls.check_place(path, n_bytes)
        with files.draft_of(path, folder=True) as folder:
            about = write_dataset(folder, dataset)
            described = {file.name: files.describe(file) for file in sorted(folder.iterdir())}
            now = datetime.now(UTC).isoformat(timespec="seconds")
            values = config.to_dict()
            manifest = Manifest(about, values, created=now, search=search, files=described)
            manifest.write(folder)
        return cls(path, manifest, memory_share)

    @staticmethod
    def check_place(path: Path, n_bytes: int) -> None:
        """Raise an error if the folder exists, cannot be made or has no room for a run."""
        with files.writing_to(path):
            if path.exists():
                remedy = "choose another folder with -o"
                with suppress(WhereofError):
                    if not Manifest.read(path).finished:
                        remedy += f", or continue it: whereof train --resume {path}"
                raise WhereofError(f"{path} exists; {remedy}")
        files.check_room(path, n_bytes)
        tried = path.with_name(f".{path.name}-{os.getpid()}")
        with files.writing_to(path):
            tried.mkdir(parents=True)
            tried.rmdir()

    def stop(self) -> None:
        """Unlock a run whose training stopped; remove it if it has no checkpoint."""
        self._lock.close()
        if not find_checkpoints(self.path):
            shutil.rmtree(self.path, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what only training needs."""
        self._lock.close()
        (self.path / ".lock").unlink(missing_ok=True)
        shutil.rmtree(self._progress, ignore_errors=True)

    def is_mapped(self, n_bytes: int) -> bool:
        """Whether a trace of this size is memory-mapped."""
        return n_bytes > self._memory_share * (files.total_memory() or math.inf)

    def allocate_trace(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Zeros in memory, or in a memory-mapped file if they are too large."""
        if not self.is_mapped(shape[0] * shape[1] * dtype.itemsize):
            return np.zeros(shape, dtype)
        with files.writing_to(self.path):
            self._progress.mkdir(exist_ok=True)
            path = self._progress / "trace.npy"
            path.unlink(missing_ok=True)
            trace = np.lib.format.open_memmap(path, "w+", dtype, shape)
            if hasattr(os, "posix_fallocate"):  # a full disk under a memory map kills the process
                with path.open("r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
            files.expect_random_access(trace)
            return trace

    def save_checkpoint(
        self, arrays: dict[str, NDArray[Any]], progress: dict[str, Any], trace: NDArray[Any] | None
    ) -> None:
        """Keep everything that is needed to continue with the same bits."""
        older = find_checkpoints(self.path)
        number = 1 + int(older[-1].name.rpartition("-")[2]) if older else 1
        arrays = arrays | ({} if trace is None else {"trace": trace})
        with files.draft_of(self._progress / f"checkpoint-{number}", folder=True) as folder:
            for name, array in arrays.items():
                files.write_array(folder / f"{name}.npy", array)
            described = {file.name: files.describe(file) for file in folder.iterdir()}
            files.write_json(folder / "progress.json", {"progress": progress, "files": described})
        for folder in older:
            shutil.rmtree(folder, ignore_errors=True)
        self._checkpointed_best = progress["best_epoch"]
        self._sweep_best(self._checkpointed_best)

    def load_checkpoint(
        self, trace: NDArray[Any] | None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """The last checkpoint, with its trace read into `trace`; None if there is none."""
        folders = find_checkpoints(self.path)
        if not folders:
            return None
        document = files.read_json(folders[-1] / "progress.json")
        arrays = {}
        for name, about in document["files"].items():
            files.check_file(folders[-1] / name, about)
            arrays[name.removesuffix(".npy")] = np.load(folders[-1] / name, mmap_mode="r")
        if trace is not None:
            trace[...] = arrays.pop("trace")
        self._checkpointed_best = document["progress"]["best_epoch"]
        return arrays, document["progress"]

    def keep_best(self, best: BestEpoch, trace: NDArray[Any] | None) -> None:
        """Keep the best epoch so far with its trace.

        The best epoch of the last checkpoint stays too: a resumed run may need it.
        """
        shutil.rmtree(self._best(best.epoch), ignore_errors=True)
        with files.draft_of(self._best(best.epoch), folder=True) as folder:
            _write_parameters(folder / "parameters.safetensors", best.parameters)
            if trace is not None:
                files.write_array(folder / "trace.npy", trace)
            about = {"epoch": best.epoch, "norms": best.norms}
            bookkeeping = asdict(best.bookkeeping)
            files.write_json(folder / "best.json", about | {"bookkeeping": bookkeeping})
        self._sweep_best(best.epoch, self._checkpointed_best)

    def _sweep_best(self, *epochs: int) -> None:
        """Remove all best epochs except these."""
        for folder in self._progress.glob("best-*"):
            if folder not in map(self._best, epochs):
                shutil.rmtree(folder, ignore_errors=True)

    def _best(self, epoch: int) -> Path:
        return self._progress / f"best-{epoch}"

    def keep_checkpoint(self, index: int, parameters: Parameters, about: dict[str, Any]) -> None:
        """Keep the parameters of one point of training."""
        with files.draft_of(self.path / "checkpoints" / f"{index:04d}.safetensors") as draft:
            _write_parameters(draft, parameters, **about)

    def best(self, epoch: int) -> BestEpoch:
        """The best epoch that was kept."""
        parameters, _ = read_parameters(self._best(epoch) / "parameters.safetensors")
        about = files.read_json(self._best(epoch) / "best.json")
        bookkeeping = Bookkeeping(**about.pop("bookkeeping"))
        return BestEpoch(parameters, **about, bookkeeping=bookkeeping)

    def finish(self, progress: Progress, best: BestEpoch, metrics: Mapping[str, Any]) -> None:
        """Move the best epoch into place. The new manifest makes the run a finished one."""
        with files.writing_to(self.path):
            names = [*self.manifest.files, "history.json", "metrics.json"]
            for name in ("parameters.safetensors", "trace.npy"):
                if (kept := self._best(best.epoch) / name).exists():
                    files.link(kept, self.path / name)
                    names.append(name)
            files.write_json(self.path / "history.json", progress.history)
            files.write_json(self.path / "metrics.json", dict(metrics))
            checkpoints = sorted(self.path.glob("checkpoints/*.safetensors"))
            names += [file.relative_to(self.path).as_posix() for file in checkpoints]
            self.manifest = replace(
                self.manifest,
                finished=True,
                result=self._result(progress, best),
                files={name: files.describe(self.path / name) for name in names},
            )
            self.manifest.write(self.path)
        self.sweep()

    def _result(self, progress: Progress, best: BestEpoch) -> dict[str, Any]:
        """The numbers of the result, for the manifest."""
        trace = self.path / "trace.npy"
        return {
            "epochs": len(progress.history),
            "best_epoch": best.epoch,
            "best_facts": progress.best_facts,
            "stopped": progress.stopped,
            "steps": progress.updates,
            "seconds": progress.seconds,
            "facts_per_second": progress.facts / max(progress.seconds, 1e-9),
            "trace_bytes": np.load(trace, mmap_mode="r").nbytes if trace.exists() else 0,
            "lipschitz": best.norms["lipschitz"],
            "norms": {name: best.norms[name] for name in ("entity_norm", "relation_norm")},
            "bookkeeping": asdict(best.bookkeeping),
        }


def _write_parameters(path: Path, parameters: Parameters, **about: Any) -> None:
    rows = {"entities": parameters.entity_rows, "relations": parameters.relation_rows}
    path.write_bytes(save(rows, metadata={"about": json.dumps(about)} if about else None))
