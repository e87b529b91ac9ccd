"""A journal of long work beside its file: a later call goes on after the last whole line."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from whereof.errors import WhereofError
from whereof.files._writing import check_free
from whereof.run.files import lock, writing_to


@dataclass(frozen=True)
class Task:
    """The file to make, and how to treat what is there of it."""

    path: Path
    force: bool = False
    """Start anew, whatever is there."""
    resume: bool = False
    """Go on or do nothing; without it, go on or start."""

    def __post_init__(self) -> None:
        if self.force and self.resume:
            raise WhereofError("--resume goes on and --force starts anew; choose one of them")

    @property
    def journal(self) -> Path:
        return self.path.with_name(f".{self.path.name}.unfinished")


class Journal:
    """What is finished, one JSON document a line, below a line that says what the work is."""

    def __init__(self, path: Path, file: IO[bytes], n_done: int) -> None:
        self._path, self._file = path, file
        self.n_done = n_done

    def add(self, record: dict[str, Any]) -> None:
        """Keep one more record; it survives this process."""
        self._file.write(_line(record))
        self._file.flush()
        self.n_done += 1

    def records(self) -> Iterator[dict[str, Any]]:
        """All records, in their order."""
        with self._path.open("rb") as file:
            file.readline()
            yield from map(json.loads, file)


@contextmanager
def open_journal(task: Task, header: dict[str, Any]) -> Iterator[Journal]:
    """The journal of a task, held by this process; it goes when the work inside is done."""
    path, header = task.journal, json.loads(_line(header))
    there = path.exists()
    if not there or task.force:
        check_free(task.path, force=task.force)
    if task.resume and not there:
        raise WhereofError(f"no unfinished work for {task.path}; leave out --resume to begin it")
    with writing_to(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        held = _hold(task)
    with held, path.open("r+b") as file:
        start = 0 if task.force else _check_header(task, file, header)
        with writing_to(path):
            n_done = _go_on(file, start, header)
        yield Journal(path, file, n_done)
    path.unlink()


def _hold(task: Task) -> IO[bytes]:
    try:
        return lock(task.journal)
    except WhereofError:
        raise WhereofError(f"{task.path} is being written by another process") from None


def _check_header(task: Task, file: IO[bytes], header: dict[str, Any]) -> int:
    """How long the first line is, which must say the same; 0 where there is none yet."""
    line = file.readline()
    if not line.endswith(b"\n"):
        return 0
    found = _parsed(line)
    if found != header:
        names = [name for name in header if not found or found.get(name) != header[name]]
        raise WhereofError(
            f"unfinished work for {task.path} has another {_listed(names)}: "
            "finish it as it was begun, choose another file, or start anew with --force"
        )
    return len(line)


def _go_on(file: IO[bytes], start: int, header: dict[str, Any]) -> int:
    """Leave a file at the end of its last whole line; how many records there are."""
    end, n_done = start, 0
    if start:
        for line in file:
            if not line.endswith(b"\n") or _parsed(line) is None:
                break
            end, n_done = end + len(line), n_done + 1
    file.seek(end)
    file.truncate()
    if not start:
        file.write(_line(header))
        file.flush()
    return n_done


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
