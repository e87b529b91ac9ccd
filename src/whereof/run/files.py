"""Files of a run: written completely or not at all, and checked; and results that it stores."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from whereof.drafts import draft_name, remove, remove_drafts
from whereof.errors import Interrupted, WhereofError
from whereof.events import Events
from whereof.memory import total_memory

try:
    import fcntl
except ImportError:  # Windows locks parts of a file instead
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:
    msvcrt = None  # type: ignore[assignment]

MANIFEST = "manifest.json"
Arrays = Mapping[str, NDArray[Any]]
"""Arrays by name."""
Fits = Callable[[Arrays], bool]
"""Whether arrays that were read have the names, shapes, types and values that they should have."""


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Report a full disk or a read-only folder in one line."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        remedy = "choose another place or make room"
        raise WhereofError(f"cannot write {path}: {why}; {remedy}") from error


def check_free(path: Path, *, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse a folder, and a file that exists unless `force` is given.

    A device, one of the `inputs` and a file of a run are never overwritten.
    """
    if path.is_dir():
        raise WhereofError(f"{path} is a folder; name a file")
    if not path.exists():
        return
    if not path.is_file():
        raise WhereofError(f"{path} is a device or a pipe; name a file")
    if not force:
        raise WhereofError(f"{path} exists; choose another file, or overwrite it with force=True")
    if any(each.exists() and path.samefile(each) for each in inputs):
        raise WhereofError(f"{path} is read by this command; choose another file for the output")
    found = path.resolve()
    for parent in found.parents:
        if _belongs_to_run(found.relative_to(parent), parent / MANIFEST):
            raise WhereofError(f"{path} belongs to the run {parent}; choose another file")


def _belongs_to_run(file: Path, manifest: Path) -> bool:
    """Whether a file is part of the run with this manifest; those of other programs are ignored.

    Beside the manifest, files that the run does not know may stand, such as a report.
    """
    if not manifest.is_file():
        return False
    try:
        values = read_json(manifest)
    except WhereofError:
        return False
    if not isinstance(values, dict) or not {"whereof", "whence"} & values.keys():
        return False
    listed = values.get("files")
    known = {MANIFEST, "reliability.json", *(listed if isinstance(listed, dict) else ())}
    return len(file.parts) > 1 or file.name.startswith(".") or file.name in known


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write one text as a file."""
    check_free(path, force=force)
    with draft_of(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


@contextlib.contextmanager
def draft_of(path: Path, *, folder: bool = False, durable: bool = True) -> Iterator[Path]:
    """A hidden file or folder beside a path, which gets its name unless something goes wrong.

    durable: afterwards, it also survives a power cut. A link stays a link, and a file that is
    replaced passes on its permissions.
    """
    path = path.resolve() if path.is_symlink() else path
    draft = draft_name(path)
    remove_drafts(path.parent)
    parents = path.absolute().parents
    try:
        with writing_to(path):
            n_new = next(n for n, parent in enumerate(parents) if parent.exists())
            (draft if folder else path.parent).mkdir(parents=True, exist_ok=True)
            yield draft
            if durable:
                sync(draft)
            if path.is_file():  # after the sync, which opens the draft for writing
                shutil.copymode(path, draft)
            draft.replace(path)
            for parent in parents[: n_new + 1] if durable else ():
                sync_names(parent)
    finally:
        remove(draft)


def sync(path: Path) -> None:
    """Wait until a file, or everything in a folder, is on the disk."""
    if path.is_dir():
        for each in path.iterdir():
            sync(each)
        sync_names(path)
        return
    file = os.open(path, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_names(folder: Path) -> None:
    """Wait until the names of the files in a folder are on the disk, if the system can do that."""
    with contextlib.suppress(OSError):  # Windows opens no folders, and some disks sync none
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def lock(path: Path, busy: str = "") -> IO[bytes]:
    """Lock a run, or other work, for this process until the returned file is closed."""
    file = path.open("ab")
    try:
        _lock(file.fileno())
    except OSError:
        file.close()
        trained = f"{path.parent} is being trained by another process; wait for it"
        raise WhereofError(busy or trained) from None
    return file


_LOCKED_BYTE = 0x7FFFFFFE
"""The byte of a file that Windows locks: nobody can read a locked byte, so it is one past all."""


def _lock(file: int) -> None:
    """Lock a file by its descriptor until it is closed; OSError if another process has it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif msvcrt is not None:
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]


def is_held(path: Path) -> bool:
    """Whether another process is training the run with this lock."""
    try:
        if path.exists():
            lock(path).close()
    except (WhereofError, OSError) as error:  # a read-only folder is not trained
        return isinstance(error, WhereofError)
    return False


def check_room(path: Path, n_bytes: int) -> None:
    """Refuse a run that the disk has no room for."""
    place = next(parent for parent in path.absolute().parents if parent.exists())
    disk = shutil.disk_usage(place)
    # Places such as /proc report a total of 0; writing there fails with its own message.
    if disk.total and n_bytes > disk.free:
        raise WhereofError(
            f"{path} needs about {n_bytes >> 20:,} MiB and its disk has {disk.free >> 20:,} free; "
            "choose another place, train without a trace, or keep it in float16"
        )


def check_memory(n_bytes: int) -> None:
    """Refuse parameters that do not fit into the memory of this machine."""
    memory = total_memory()
    if memory is not None and n_bytes > memory:
        raise WhereofError(
            f"the rows alone need {n_bytes >> 20:,} MiB of memory and this machine has "
            f"{memory >> 20:,}; choose a smaller dim"
        )


def write_json(path: Path, value: Any, *, durable: bool = False) -> None:
    """Write a JSON document; the file appears when it is complete.

    durable: afterwards, it also survives a power cut.
    """
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)  # it could be a link to somewhere else
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    draft.write_text(text + "\n", encoding="utf-8")
    if durable:
        sync(draft)
    draft.replace(path)
    if durable:
        sync_names(path.parent)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def parse_json(text: str | bytes, **options: Any) -> Any:
    """The document in a text; ValueError if it is not JSON, or nested too deep."""
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read_json(path: Path) -> Any:
    """Read a JSON document; an error names the file."""
    try:
        return parse_json(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (ValueError, OSError) as error:
        raise WhereofError(f"{path} cannot be read: it is missing, truncated or altered") from error


def write_sealed(path: Path, values: dict[str, Any], *, durable: bool = False) -> None:
    """Write a JSON document with a checksum of its own."""
    write_json(path, values | {"checksum": digest(values)}, durable=durable)


def read_sealed(path: Path) -> dict[str, Any]:
    """Read what `write_sealed` wrote; an error if it was altered."""
    values = read_json(path)
    if not isinstance(values, dict) or "checksum" not in values:
        raise WhereofError(f"{path} was altered: it has no checksum")
    check_seal(path, values)
    return values


def check_seal(path: Path, values: Any) -> None:
    """Take the checksum out of a document, if it has one; an error if it does not match."""
    sealed = isinstance(values, dict) and "checksum" in values
    if sealed and values.pop("checksum") != digest(values):
        raise WhereofError(f"{path} was altered: its checksum does not match")


def sealed_line(record: Any, **options: Any) -> bytes:
    """A line of a journal, without its end: a JSON document, a TAB, and a checksum."""
    text = json.dumps(record, **options).encode()
    return text + b"\t" + _line_checksum(text)


def read_sealed_line(line: bytes) -> Any:
    """The document in a line of a journal; ValueError if it was cut short or altered."""
    text, _, checksum = line.rstrip(b"\n").rpartition(b"\t")
    if checksum != _line_checksum(text):
        raise ValueError("the checksum does not match")
    return parse_json(text)


def _line_checksum(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8).hexdigest().encode()


def digest(values: dict[str, Any]) -> str:
    """SHA-256 of a JSON document."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, allow_nan=False).encode()).hexdigest()


def write_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array as a .npy file."""
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def read_array(path: Path, *, mapped: bool = False) -> NDArray[Any]:
    """Read a .npy file, or map it into memory; an error names the file."""
    try:
        return np.asanyarray(np.load(path, mmap_mode="r" if mapped else None))
    except (ValueError, OSError, EOFError, MemoryError) as error:
        raise WhereofError(f"{path} cannot be read as an array") from error


def check_array(path: Path, array: NDArray[Any], shape: tuple[int, ...], dtype: str) -> None:
    """Refuse an array of another shape or type: a kernel would read outside of it."""
    if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
        kinds = f"{array.dtype} of shape {array.shape}", f"{dtype} of shape {shape}"
        raise WhereofError(f"{path} has {kinds[0]}; this run needs {kinds[1]}")


def link(source: Path, target: Path) -> None:
    """The same file under a second name; a copy, on the disk, if the disk has no links."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        sync(target)


def describe(path: Path) -> dict[str, Any]:
    """The size and SHA-256 of a file."""
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": checksum}


def check_file(path: Path, about: dict[str, Any], seen: Any = None) -> list[Any]:
    """Refuse a file that is missing or altered. Return its stamp; if it was `seen`, trust it."""
    if not path.is_file():
        raise WhereofError(f"{path} is missing from the run")
    stat = path.stat()
    if stat.st_size != about["bytes"]:
        raise WhereofError(
            f"{path} is truncated or altered: {stat.st_size} bytes, not {about['bytes']}"
        )
    # A copy on another disk has another inode and another time of change.
    stamp = [stat.st_ino, stat.st_ctime_ns, stat.st_mtime_ns, about["sha256"]]
    if stamp != seen and describe(path) != about:
        raise WhereofError(f"{path} was altered: its checksum does not match")
    return stamp


def save_evaluation(folder: Path, document: dict[str, Any], arrays: Arrays | None = None) -> Path:
    """Keep an evaluation for reports; it replaces an earlier one with the same options.

    The file is evaluations/PREDICTIONS-KEY.json: PREDICTIONS is `top`, `true` or the name of the
    file, KEY is a short digest of options and seeds. Arrays stand beside it, such as true
    influences as PREDICTIONS-KEY-seed-42.npy.
    """
    asked = json.dumps([document["options"], document["seeds"]], sort_keys=True)
    key = hashlib.blake2b(asked.encode(), digest_size=4).hexdigest()
    path = folder / "evaluations" / f"{Path(document['predictions']).stem}-{key}.json"
    plain = json.loads(json.dumps(document, allow_nan=False))  # as it will be read
    sealed = plain | {"checksum": digest(plain)}
    text = json.dumps(sealed, ensure_ascii=False, indent=2)
    with draft_of(path) as written:
        written.write_text(text + "\n", encoding="utf-8", newline="\n")
    for name, array in (arrays or {}).items():
        with draft_of(path.with_name(f"{path.stem}-{name}.npy")) as draft:
            write_array(draft, array)
    return path


def find_evaluations(folder: Path) -> list[Path]:
    """The evaluations in a run's folder, the latest last."""
    paths = folder.glob("evaluations/*.json")
    return sorted(paths, key=lambda path: (path.stat().st_mtime_ns, path))


def like(**kinds: tuple[tuple[int, ...], str]) -> Fits:
    """Whether arrays have these names, shapes and types, and are finite."""

    def fits(arrays: Arrays) -> bool:
        found = {name: (array.shape, str(array.dtype)) for name, array in arrays.items()}
        return found == kinds and all(np.isfinite(array).all() for array in arrays.values())

    return fits


_LOOK_SECONDS = 0.1
"""How often someone who waits asks whether to stop."""
_SEAL, _CHUNK = 32, 1 << 20
"""The bytes of a SHA-256 checksum, and of what is read at a time for it."""


class Store:
    """Arrays that take long to compute, by key: the last ones in memory, all in the run's folder.

    Of several threads, one computes at a time. A file ends with its checksum. What cannot be
    read, or does not fit, is computed again.
    """

    def __init__(self, folder: Path | None = None, about: str = "") -> None:
        """about: what the arrays belong to. Files of another run are not read."""
        self._folder, self._lock = folder, RLock()  # one computation may need another
        self._about = about.encode()
        self._owner: object = None
        self._last: dict[str, Arrays] = {}

    def serves(self, owner: object) -> bool:
        """Whether it stores arrays of this owner; it belongs to the first one that asks."""
        self._owner = self._owner or owner
        return self._owner is owner

    def get(
        self, key: str, make: Callable[[], Arrays], fits: Fits, events: Events | None = None
    ) -> Arrays:
        """The arrays of a key, computed on first use."""
        return self.get_many([key], lambda _: [make()], [fits], events)[0]

    def get_many(
        self,
        keys: Sequence[str],
        make: Callable[[list[int]], Iterable[Arrays]],
        fits: Sequence[Fits],
        events: Events | None = None,
    ) -> list[Arrays]:
        """The arrays of each key; make: computes those at some positions, which are missing.

        Each is stored as soon as it is there.

        fits: one for each key. events: may stop it while another thread computes.
        """
        found = self._look_up(keys, fits)
        if None in found.values():
            # Those who only read do not wait for what is being computed.
            with self._turn(events or Events()):
                found = self._look_up(keys, fits)
                missing = [at for at, key in enumerate(keys) if found[key] is None]
                for at, arrays in zip(missing, make(missing) if missing else (), strict=True):
                    found[keys[at]] = arrays
                    self.put(keys[at], arrays)
        known = {key: arrays for key, arrays in found.items() if arrays is not None}
        self._last = known
        return [known[key] for key in keys]

    def find(self, key: str, fits: Fits) -> Arrays | None:
        """The arrays of a key; None if they are not known."""
        if key in self._last:
            return self._last[key]
        found: Arrays | None = self._read(key)
        return found if found is not None and fits(found) else None

    def __contains__(self, key: str) -> bool:
        """Whether the arrays of a key are known; of a file, only the table of contents is read."""
        path = self._path(key)
        if key in self._last or path is None:
            return key in self._last
        reading = contextlib.suppress(Exception)  # as in _read
        with reading, path.open("rb") as stream, np.load(stream) as file:
            return bool(list(file))
        return False

    @contextlib.contextmanager
    def _turn(self, events: Events) -> Iterator[None]:
        """Wait until no other thread computes; raise `Interrupted` if the work should stop."""
        while not self._lock.acquire(timeout=_LOOK_SECONDS):
            if events.should_stop():
                raise Interrupted("interrupted while waiting for other work on the same run")
        try:
            yield
        finally:
            self._lock.release()

    def _look_up(self, keys: Sequence[str], fits: Sequence[Fits]) -> dict[str, Arrays | None]:
        return {key: self.find(key, its) for key, its in zip(keys, fits, strict=True)}

    def _path(self, key: str) -> Path | None:
        return self._folder and self._folder / "prepared" / f"{key}.npz"

    def _read(self, key: str) -> Arrays | None:
        """The arrays in the file of a key; None if it is missing, truncated or altered."""
        if (path := self._path(key)) is None:
            return None
        # A damaged file can raise nearly anything.
        with contextlib.suppress(Exception), path.open("rb") as file:
            size = file.seek(-_SEAL, os.SEEK_END)
            if file.read() == self._checksum(file, size):
                file.seek(0)
                with np.load(file) as found:  # reads over the checksum
                    return dict(found)
        return None

    def put(self, key: str, arrays: Arrays) -> bool:
        """Store the arrays of a key; False if the run has no folder, or it cannot be written."""
        if (path := self._path(key)) is None:
            return False
        with contextlib.suppress(WhereofError), draft_of(path) as draft, draft.open("w+b") as file:
            np.savez(file, **dict(arrays))  # type: ignore[arg-type]
            file.write(self._checksum(file, file.seek(0, os.SEEK_END)))
            return True
        return False

    def remove(self, key: str) -> None:
        """Forget the arrays of a key."""
        self._last.pop(key, None)
        if path := self._path(key):
            remove(path)

    def _checksum(self, file: IO[bytes], size: int) -> bytes:
        """The checksum of the first bytes of a file; its position is then after them."""
        found = hashlib.sha256(self._about)
        file.seek(0)
        while part := file.read(min(size, _CHUNK)):
            found.update(part)
            size -= len(part)
        return found.digest()
