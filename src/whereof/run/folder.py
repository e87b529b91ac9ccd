"""A run folder: its manifest, and its files, opened and checked."""

import fnmatch
import hashlib
import json
import math
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NotRequired, Self, TypedDict, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from whereof._version import __version__
from whereof.data.dataset import Dataset
from whereof.data.indexes import Adjacency
from whereof.errors import WhereofError
from whereof.memory import expect_random_access, total_memory
from whereof.models import Model, find_model
from whereof.run import files
from whereof.run.dataset import read_adjacency, read_dataset, write_labels
from whereof.run.files import read_json, write_json
from whereof.run.reliability import Reliability, read_reliability
from whereof.settings import checked
from whereof.training.config import TrainConfig
from whereof.training.results import Checkpoint, Parameters, Progress
from whereof.types import FactIds, Rows

FORMAT = 1
PROGRESS = "progress"
STATE = "state.safetensors"
"""What training needs to go on, see `whereof update`."""
CHECKPOINTS = "checkpoints"
NAME = files.MANIFEST
_WRITTEN = (PROGRESS, CHECKPOINTS, "retrained", "prepared", "siblings", "evaluations", "audits")
"""Folders that Whereof writes into after a run was opened."""
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Manifest:
    """The content of manifest.json. It names all other files."""

    dataset: dict[str, Any]
    config: dict[str, Any]
    created: str
    finished: bool = False
    search: dict[str, Any] | None = None
    """What the search for settings tried; None without a search."""
    result: dict[str, Any] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Size and SHA-256 of each file, by name."""
    whereof: str = __version__
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        files.write_sealed(folder / NAME, asdict(self), durable=True)

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        if not os.path.isdir(folder):  # noqa: PTH112 (Path refuses a name that is too long)
            raise WhereofError(f"no run at {folder}; make one with: whereof train DATA -o {folder}")
        if not (folder / NAME).is_file():
            raise WhereofError(
                f"{folder} is not a run: it has no {NAME}; name the folder that `train` wrote"
            )
        values = read_json(folder / NAME)
        version = values.get("format") if isinstance(values, dict) else None
        if not isinstance(version, int):
            raise WhereofError(f"{folder / NAME} is not a manifest of a run")
        if version > FORMAT:
            raise WhereofError(
                f"{folder} has format {version}, and this whereof reads up to {FORMAT}; "
                f"upgrade it (the run was written by whereof {values.get('whereof')})"
            )
        if values.pop("checksum", None) != files.digest(values):
            raise WhereofError(f"{folder / NAME} was altered: its checksum does not match")
        values.setdefault("whereof", values.pop("whence", ""))  # the project's former name
        try:
            manifest = msgspec.convert(values, cls)
            msgspec.convert(manifest.dataset, _DatasetAbout)
            msgspec.convert(manifest.files, dict[str, _FileAbout])
            msgspec.convert(
                {"dataset": "", "model": ""} | manifest.result | {"config": {}}, RunInfo
            )
        except msgspec.ValidationError as error:
            raise WhereofError(f"{folder / NAME} is not a manifest of a run: {error}") from None
        for name in manifest.files:
            parts = PurePosixPath(name).parts
            if not parts or {*parts} & {"..", "/"} or "\\" in name or ":" in name:
                raise WhereofError(f"{folder / NAME} names {name!r}, which is not in the run")
        _check_links(folder)
        return manifest

    def check_files(self, folder: Path, *, afresh: bool = False) -> dict[str, Any]:
        """Check size and checksum of every file; unchanged files only once, unless `afresh`.

        Returns a stamp of each file, by name.
        """
        seen, checked = dict[str, Any](), folder / ".checked.json"
        if not afresh:
            with suppress(WhereofError, TypeError, ValueError):
                seen = dict(read_json(checked))
        stamps = {
            name: files.check_file(folder / name, about, seen.get(name))
            for name, about in self.files.items()
        }
        if stamps != seen:
            with suppress(OSError):  # the folder may be read-only
                write_json(checked, stamps)
        return stamps


class _FileAbout(TypedDict):
    bytes: int
    sha256: str


class _DatasetAbout(TypedDict):
    name: str
    hash: str
    n_facts: int
    n_entities: int
    n_relations: int
    subjects: tuple[int, int]
    objects: tuple[int, int]
    notes: list[str]
    read: NotRequired[dict[str, Any]]
    labels: NotRequired[str]


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """What is known of a run without reading its arrays; None is not known.

    `whereof info --json` prints all fields, `whereof train --json` those up to reliability.
    """

    run: str | None = None
    """The folder; None for a run in memory."""
    dataset: str
    model: str
    n_facts: int = 0
    n_entities: int | None = None
    n_relations: int | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    best_facts: int | None = None
    stopped: str | None = None
    steps: int | None = None
    seconds: float | None = None
    facts_per_second: float | None = None
    trace_bytes: int | None = None
    lipschitz: float | None = None
    norms: dict[str, float] | None = None
    bookkeeping: dict[str, float] | None = None
    search: dict[str, Any] | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    reliability: Reliability = field(default_factory=Reliability)
    """How reliable estimates are, as far as it was measured."""
    format: int = FORMAT
    whereof: str = ""
    """The version that wrote it."""
    created: str = ""
    finished: bool = True
    n_valid: int | None = None
    n_test: int | None = None
    dataset_hash: str = ""
    notes: list[str] = field(default_factory=list)
    read: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any]
    history: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def two_way(self) -> bool:
        """Whether facts have no relation."""
        return self.n_relations == 0

    @property
    def trained_elsewhere(self) -> bool:
        """Whether other software trained it: the command line cannot retrain it."""
        return self.finished and self.best_epoch is None

    @property
    def reliability_texts(self) -> list[str]:
        """What is known of its estimates, or how to measure it, in words."""
        return self.reliability.sentences(self.run, can_measure=not self.trained_elsewhere)

    def to_dict(self, *, summary: bool = False) -> dict[str, Any]:
        names = [item.name for item in fields(self)]
        shown = names[: names.index("reliability") + 1] if summary else names
        found = {name: value for name in shown if (value := getattr(self, name)) is not None}
        return found | {"reliability": self.reliability.to_dict()}


def _check_links(folder: Path) -> None:
    """Refuse links where Whereof writes: a crafted run could make it write to any file.

    Reading a pipe would wait for ever, so it is refused too. Listed files may be links, for
    example a trace on a larger disk: they are only read, and their content has a checksum.
    """
    folders = [folder / name for name in _WRITTEN]
    files_in = (each for it in folders if it.is_dir() for each in it.iterdir())
    own = (each for each in folder.iterdir() if each.name.startswith((".", "reliability.")))
    for each in (*folders, *own, *files_in):
        if each.is_symlink() and each.parent.name != CHECKPOINTS:
            raise WhereofError(f"{each} is a link; replace it by a copy of its target")
        if each.exists() and not (each.is_file() or each.is_dir()):
            raise WhereofError(f"{each} is a device or a pipe; delete it")


class RunFolder:
    """The content of a run. `open` checks all files; each is read when it is first needed."""

    def __init__(
        self,
        path: Path | None,
        manifest: Manifest,
        retraining: Callable[[FactIds], Any] | None = None,
    ) -> None:
        self.path, self.manifest, self.retraining = path, manifest, retraining
        self._stamps: dict[str, Any] = {}
        # Runs from before the setting started from 0.
        self.config = TrainConfig.from_dict({"accumulator": 0.0} | manifest.config)

    @classmethod
    @checked
    def open(
        cls,
        path: str | Path,
        *,
        check: bool = False,
        unfinished: bool = False,
        retrain: Callable[[FactIds], Any] | None = None,
    ) -> Self:
        """Open a run folder. An error says in one line what is wrong with it.

        All files are checked. Files that have not changed since the last check are not read
        again, unless `check` is set. A run that is not finished is refused, unless `unfinished` is
        set: it has data, settings and history, but no parameters and no metrics. `retrain` is
        your own training function, for a run that other software trained; see `from_arrays`.
        """
        path = Path(path)
        manifest = Manifest.read(path)
        if not manifest.finished and not unfinished:
            remedy = f"continue with: whereof train --resume {path}"
            raise WhereofError(f"{path} is not finished; {remedy}")
        stamps = manifest.check_files(path, afresh=check)
        opened = cls(path, manifest, retrain)
        opened._stamps = stamps
        return opened

    @cached_property
    def model(self) -> Model:
        """The scoring function; an error if it is the user's own and is not there."""
        return find_model(self.config.model)

    def file(self, name: str) -> Path:
        """The path of a file of the run."""
        assert self.path is not None  # a run from arrays has all its content in memory
        return self.path / name

    def checked_files(self, pattern: str = "*") -> list[Path]:
        """The files of the manifest that match a pattern; an error if one was altered by now."""
        names = [] if self.path is None else fnmatch.filter(self.manifest.files, pattern)
        for name in names:
            about, seen = self.manifest.files[name], self._stamps.get(name)
            self._stamps[name] = files.check_file(self.file(name), about, seen)
        return [self.file(name) for name in names]

    def _checked_file(self, name: str) -> Path:
        if not (found := self.checked_files(name)):
            raise WhereofError(f"{self.file(NAME)} does not list {name}; train the run again")
        return found[0]

    @cached_property
    def dataset(self) -> Dataset:
        self.checked_files()
        try:
            return read_dataset(self.file(""), self.manifest.dataset, self.manifest.files)
        except (msgspec.ValidationError, TypeError, AttributeError) as error:
            raise WhereofError(f"the data of {self.path} was altered: {error}") from error

    @cached_property
    def parameters(self) -> Parameters:
        return self._read_rows(self._checked_file("parameters.safetensors")).parameters

    def _read_rows(self, path: Path) -> Checkpoint:
        """Parameters in a file. They must fit the data and the model, and be finite."""
        data, widths = self.dataset, self.model.widths(self.config.dim)
        n_rows = data.inverse_offset * (1 + self.config.inverse)
        rows, about = read_parameters(path)
        shapes = (data.n_entities, widths.entity), (n_rows, widths.relation)
        for array, shape in zip(rows, shapes, strict=True):
            files.check_array(path, array, shape, self.config.precision)
            if not np.isfinite(array).all():
                raise WhereofError(f"{path} contains NaN or infinity; train the run again")
        return Checkpoint(rows, about.get("facts", 0), about.get("updates", 0))

    def kept_checkpoints(self) -> list[Checkpoint]:
        """The points of training that a run has kept, in order."""
        return [*map(self._read_rows, sorted(self.checked_files(f"{CHECKPOINTS}/*")))]

    def read_state(self) -> dict[str, NDArray[Any]] | None:
        """The optimizer's state and ledgers at the end of training; None if they were not kept."""
        if self.path is None or STATE not in self.manifest.files:
            return None
        path = self._checked_file(STATE)
        try:
            return load_file(path) or None  # a run that unlearned facts has none
        except SafetensorError as error:
            raise WhereofError(f"{path} cannot be read: {error}") from error

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
        path, widths = self._checked_file("trace.npy"), self.model.widths(self.config.dim)
        trace = files.read_array(path, mapped=True)
        shape = self.dataset.n_facts, widths.slots(1 + self.config.inverse)[-1].stop
        files.check_array(path, trace, shape, self.config.trace_dtype)
        if trace.nbytes > (total_memory() or math.inf) / 4:  # too large to stay in memory
            expect_random_access(trace)
        return trace

    @cached_property
    def adjacency(self) -> Adjacency:
        """The facts of every entity and relation."""
        return read_adjacency(self.checked_files("adjacency-*"), self.dataset)

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """By split and name: filtered MRR and hits, or recall and NDCG, or errors of ratings."""
        if not self.manifest.finished:
            return {}
        return _expect(self._checked_file("metrics.json"), dict[str, Any])

    @cached_property
    def history(self) -> list[dict[str, float]]:
        """For every epoch its loss and, if validated, the metric that picks the best epoch."""
        if self.manifest.finished:
            return _expect(self._checked_file("history.json"), list[dict[str, float]])
        return self._progress.history

    @property
    def retraining_seconds(self) -> float | None:
        """Estimated seconds of one retraining on one core; None if it is not known."""
        facts, speed = (self.manifest.result.get(n) for n in ("best_facts", "facts_per_second"))
        return facts / speed if facts and speed else None

    @property
    def reliability(self) -> Reliability:
        """How reliable estimates are, as far as it was measured; later measurements are read."""
        return read_reliability(self.path)

    @property
    def trained_content(self) -> str:
        """The checksums of facts, parameters and trace; labels do not change it."""
        names = ("train.npy", "parameters.safetensors", "trace.npy")
        return " ".join(self.manifest.files.get(name, {}).get("sha256", "") for name in names)

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
            "reliability": self.reliability.to_dict(),
        }
        return msgspec.convert(data | result | vars(manifest) | own, RunInfo)

    def _write_labels(self, dataset: Dataset) -> Manifest:
        """Write the labels of a finished run as a new file, then the manifest that names it."""
        path = self.file(f"labels-{secrets.token_hex(4)}.json")
        earlier = self.manifest.dataset.get("labels")
        described = {name: about for name, about in self.manifest.files.items() if name != earlier}
        with files.writing_to(path.parent):
            write_labels(path, dataset)
            described[path.name] = files.describe(path)
            about = self.manifest.dataset | {"labels": path.name}
            changed = replace(self.manifest, dataset=about, files=described)
            changed.write(path.parent)
            if earlier:
                self.file(earlier).unlink(missing_ok=True)
        return changed

    @cached_property
    def _progress(self) -> Progress:
        """The progress of the last checkpoint that can be read."""
        for folder in reversed(find_checkpoints(self.file(""))):
            with suppress(WhereofError):
                return Progress.from_dict(files.read_sealed(folder / "progress.json")["progress"])
        return Progress()


def find_checkpoints(run: Path) -> list[Path]:
    """The checkpoints that an unfinished run can continue from, oldest first."""
    folders = (run / PROGRESS).glob("checkpoint-*")
    numbers = {folder: folder.name.rpartition("-")[2] for folder in folders}
    known = (folder for folder, number in numbers.items() if number.isdecimal())
    return sorted(known, key=lambda folder: int(numbers[folder]))


def _expect(path: Path, kind: type[_Kind]) -> _Kind:
    """A JSON document of a kind."""
    try:
        return msgspec.convert(read_json(path), kind)
    except msgspec.ValidationError as error:
        raise WhereofError(f"{path} was altered: {error}") from None


def read_parameters(file: Path) -> tuple[Parameters, dict[str, Any]]:
    """Parameters, and what was written with them."""
    try:
        with safe_open(file, "numpy") as stored:
            about = files.parse_json((stored.metadata() or {}).get("about", "{}"))
            rows = Parameters(stored.get_tensor("entities"), stored.get_tensor("relations"))
        return rows, msgspec.convert(about, dict[str, int])
    except (SafetensorError, ValueError, msgspec.ValidationError) as error:
        raise WhereofError(f"{file} cannot be read: {error}") from error
