"""Writing a run folder: checkpoints during training, then the finished run."""

import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from whereof.data.dataset import Dataset
from whereof.drafts import draft_name
from whereof.errors import WhereofError
from whereof.events import Events, Note
from whereof.memory import expect_random_access, total_memory
from whereof.run import files
from whereof.run.dataset import write_dataset
from whereof.run.folder import (
    CHECKPOINTS,
    PROGRESS,
    STATE,
    Manifest,
    RunFolder,
    find_checkpoints,
    read_parameters,
)
from whereof.training.config import TrainConfig
from whereof.training.results import BestEpoch, Bookkeeping, Parameters, Progress

_PARAMETERS, _TRACE, _BEST = "parameters.safetensors", "trace.npy", "best.json"

Settle = Callable[[NDArray[Any], Mapping[str, NDArray[Any]], int], None]


class RunWriter:
    """Writes a run. Until `finish`, the folder contains data, config and the last checkpoint.

    Every checkpoint is a folder that gets its name when it is complete and on the disk: after a
    kill or a power cut, the last one is there. The one before stays too, in case it is damaged.
    """

    def __init__(self, path: Path, manifest: Manifest, memory_share: float) -> None:
        self.path, self.manifest = path, manifest
        self._memory_share = memory_share
        self._good: list[tuple[Path, int]] = []
        """The last two checkpoints that are whole, each with its best epoch."""
        self._described: dict[str, dict[str, Any]] = {}
        """Size and checksum of files outside of checkpoints that a resumed run needs."""
        self._progress = path / PROGRESS
        with files.writing_to(path):
            self._lock = files.lock(path / ".lock")
        for draft in (path / CHECKPOINTS).glob(".*"):  # of a process that was killed
            draft.unlink(missing_ok=True)

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
                remedy = "choose another folder with -o (in Python: out=)"
                with suppress(WhereofError):
                    if not Manifest.read(path).finished:
                        remedy += f", or continue it: whereof train --resume {path}"
                raise WhereofError(f"{path} exists; {remedy}")
        files.check_room(path, n_bytes)
        tried = draft_name(path)
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
        return n_bytes > self._memory_share * (total_memory() or math.inf)

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
            expect_random_access(trace)
            return trace

    def save_checkpoint(
        self, arrays: dict[str, NDArray[Any]], progress: dict[str, Any], trace: NDArray[Any] | None
    ) -> None:
        """Keep everything that is needed to continue with the same bits."""
        older, best = find_checkpoints(self.path), progress["best_epoch"]
        number = 1 + int(older[-1].name.rpartition("-")[2]) if older else 1
        arrays = arrays | ({} if trace is None else {"trace": trace})
        self._good = self._good[-1:]
        for old in older:  # makes room for the new one
            if old not in [path for path, _ in self._good]:
                shutil.rmtree(old, ignore_errors=True)
        if best:
            with files.writing_to(self.path):
                self._describe_best(best)
        self._described = self._needed(self._described, best)
        path = self._progress / f"checkpoint-{number}"
        with files.draft_of(path, folder=True) as folder:
            for name, array in arrays.items():
                files.write_array(folder / f"{name}.npy", array)
            described = {file.name: files.describe(file) for file in folder.iterdir()}
            about = {"progress": progress, "files": described, "others": self._described}
            files.write_sealed(folder / "progress.json", about)
        self._good.append((path, best))
        self._sweep_best(best)

    def load_checkpoint(
        self, trace: NDArray[Any] | None, events: Events
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """The last checkpoint that is whole, with its trace read into `trace`; None without one."""
        found, damaged = None, ""
        for folder in reversed(find_checkpoints(self.path)):
            try:
                document = files.read_sealed(folder / "progress.json")
                if found is None:
                    best = document["progress"]["best_epoch"]
                    self._described = self._needed(document["others"], best)
                    found = self._read_arrays(folder, document, trace), document["progress"]
            except WhereofError as error:
                if found is None:
                    damaged = damaged or str(error)
            else:
                self._good.insert(0, (folder, document["progress"]["best_epoch"]))
        if damaged and found is None:
            remedy = f"to train from the beginning, remove {self._progress}"
            raise WhereofError(f"{damaged}; {remedy}")
        if damaged:
            events.emit(Note(f"{damaged}; continuing from the checkpoint before it"))
        return found

    def _read_arrays(
        self, folder: Path, document: dict[str, Any], trace: NDArray[Any] | None
    ) -> dict[str, NDArray[Any]]:
        """The arrays of a checkpoint. All files that it needs are checked."""
        for name, about in self._described.items():
            files.check_file(self.path / name, about)
        arrays = {}
        for name, about in document["files"].items():
            files.check_file(folder / name, about)
            arrays[name.removesuffix(".npy")] = np.load(folder / name, mmap_mode="r")
        stored = arrays.pop("trace", None)
        if trace is not None:
            if stored is None or stored.shape != trace.shape or stored.dtype != trace.dtype:
                raise WhereofError(f"{folder} has no trace of these facts")
            trace[...] = stored
        return arrays

    def keep_best(self, best: BestEpoch, trace: NDArray[Any] | None) -> None:
        """Keep the best epoch so far with its trace.

        The best epochs of the last two checkpoints stay too: a resumed run may need them.
        """
        shutil.rmtree(self._best(best.epoch), ignore_errors=True)
        # It is synced with the next checkpoint: until then, no resumed run needs it.
        with files.draft_of(self._best(best.epoch), folder=True, durable=False) as folder:
            _write_parameters(folder / _PARAMETERS, best.parameters)
            if trace is not None:
                files.write_array(folder / _TRACE, trace)
            state = {name: np.ascontiguousarray(array) for name, array in best.state.items()}
            (folder / STATE).write_bytes(save(state))
            about = {"epoch": best.epoch, "norms": best.norms}
            bookkeeping = asdict(best.bookkeeping)
            files.write_json(folder / _BEST, about | {"bookkeeping": bookkeeping})
        self._sweep_best(best.epoch)

    def _sweep_best(self, epoch: int) -> None:
        """Remove all best epochs except this one and those of the checkpoints."""
        kept = {self._best(each) for each in (epoch, *(best for _, best in self._good))}
        for folder in self._progress.glob("best-*"):
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _needed(self, described: dict[str, Any], best_epoch: int) -> dict[str, Any]:
        """The described files that a checkpoint with this best epoch needs."""
        folders = self._best(best_epoch), self.path / CHECKPOINTS
        return {
            name: about for name, about in described.items() if (self.path / name).parent in folders
        }

    def _describe_best(self, epoch: int) -> dict[str, dict[str, Any]]:
        """Sizes and checksums of a best epoch's files by name; syncs them first, once."""
        folder = self._best(epoch)
        traces = [_TRACE] if self.manifest.config["trace"] else []
        names = [_PARAMETERS, *traces, STATE, _BEST]
        paths = {name: (folder / name).relative_to(self.path).as_posix() for name in names}
        if not self._described.keys() >= {*paths.values()}:
            files.sync(folder)
            files.sync_names(self._progress)
            for path in paths.values():
                self._described[path] = files.describe(self.path / path)
        return {name: self._described[path] for name, path in paths.items()}

    def _best(self, epoch: int) -> Path:
        return self._progress / f"best-{epoch}"

    def keep_checkpoint(self, index: int, parameters: Parameters, about: dict[str, Any]) -> None:
        """Keep the parameters of one point of training."""
        name = _checkpoint_name(index)
        with files.draft_of(self.path / name) as draft:
            _write_parameters(draft, parameters, **about)
        self._described[name] = files.describe(self.path / name)

    def best(self, epoch: int) -> BestEpoch:
        """The best epoch that was kept."""
        parameters, _ = read_parameters(self._best(epoch) / _PARAMETERS)
        about = files.read_json(self._best(epoch) / _BEST)
        bookkeeping = Bookkeeping(**about.pop("bookkeeping"))
        return BestEpoch(parameters, **about, bookkeeping=bookkeeping)

    def finish(
        self,
        progress: Progress,
        best: BestEpoch,
        metrics: Mapping[str, Any],
        settle: Settle | None = None,
    ) -> None:
        """Move the best epoch into place. The new manifest makes the run a finished one.

        settle: changes the trace first, given the optimizer's state and the number of facts that
        it was trained on.
        """
        with files.writing_to(self.path):
            described = dict(self.manifest.files)
            for name, content in (("history", progress.history), ("metrics", dict(metrics))):
                path = self.path / f"{name}.json"
                files.write_json(path, content, durable=True)
                described[path.name] = files.describe(path)
            folder = self._best(best.epoch)
            for name, about in self._describe_best(best.epoch).items():
                if name == _TRACE and settle is not None:
                    with files.draft_of(self.path / name) as draft:
                        shutil.copyfile(folder / name, draft)
                        trace = np.lib.format.open_memmap(draft, "r+")
                        settle(trace, _read_state(folder / STATE), progress.best_facts)
                        trace.flush()
                        del trace
                    described[name] = files.describe(self.path / name)
                elif name != _BEST:
                    files.link(folder / name, self.path / name)
                    described[name] = about
            for name in map(_checkpoint_name, range(1, progress.kept + 1)):
                described[name] = self._described[name]
            files.sync_names(self.path)
            result = self._result(progress, best)
            self.manifest = replace(self.manifest, finished=True, result=result, files=described)
            self.manifest.write(self.path)
        self.sweep()

    def _result(self, progress: Progress, best: BestEpoch) -> dict[str, Any]:
        """The numbers of the result, for the manifest."""
        trace = self.path / _TRACE
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


def write_run(path: Path, run: RunFolder) -> None:
    """Write a run that is in memory as a finished folder."""
    parameters, trace = run.parameters, run.trace
    arrays = [*parameters, *(() if trace is None else (trace,))]
    RunWriter.check_place(path, sum(array.nbytes for array in arrays))
    with files.draft_of(path, folder=True) as folder:
        about = write_dataset(folder, run.dataset)
        _write_parameters(folder / _PARAMETERS, parameters)
        if trace is not None:
            files.write_array(folder / _TRACE, trace)
        files.write_json(folder / "history.json", run.history)
        files.write_json(folder / "metrics.json", run.metrics)
        described = {file.name: files.describe(file) for file in sorted(folder.iterdir())}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        written = replace(run.manifest, dataset=about, created=now, files=described)
        written.write(folder)


def _checkpoint_name(index: int) -> str:
    return f"{CHECKPOINTS}/{index:04d}.safetensors"


def _read_state(path: Path) -> dict[str, NDArray[Any]]:
    """The optimizer's state of all rows, without ledgers, which are as large."""
    with safe_open(path, "numpy") as stored:
        names = (name for name in stored.keys() if name.endswith(".state") or name == "count")  # noqa: SIM118
        return {name: stored.get_tensor(name) for name in names}


def _write_parameters(path: Path, parameters: Parameters, **about: Any) -> None:
    rows = {"entities": parameters.entity_rows, "relations": parameters.relation_rows}
    path.write_bytes(save(rows, metadata={"about": json.dumps(about)} if about else None))
