"""Answers to a file, query by query: there when it is complete, or not at all."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from whence.errors import WhenceError
from whence.predict._answers import Answers
from whence.predict._formats import Write, find_format
from whence.run._files import writing_to

Advanced = Callable[[int, int], None]
"""Told how many queries are answered, and of how many."""


@dataclass(frozen=True)
class Written:
    """What was answered, and where it is."""

    path: str
    n_queries: int
    n_answers: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def write_answers(
    path: Path,
    answers: Iterable[Answers],
    n_queries: int,
    *,
    force: bool = False,
    advanced: Advanced | None = None,
) -> Written:
    """Write answers as they come, in the format that the file's name ends in."""
    start, n_answers = time.perf_counter(), 0
    with _new_file(path, force) as write:
        for number, each in enumerate(answers, 1):
            write(each)
            n_answers += len(each.answers)
            if advanced is not None:
                advanced(number, n_queries)
    return Written(str(path), n_queries, n_answers, time.perf_counter() - start)


@contextmanager
def _new_file(path: Path, force: bool) -> Iterator[Write]:
    """A file to fill that takes its name when it is complete."""
    fill = find_format(path)
    if path.is_dir():
        raise WhenceError(f"{path} is a folder; name a file")
    if path.exists() and not force:
        raise WhenceError(f"{path} exists; choose another file, or overwrite it with --force")
    draft = path.with_name(f".{path.name}-{token_hex(4)}")
    try:
        with writing_to(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with fill(draft) as write:
                yield write
            draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink()
