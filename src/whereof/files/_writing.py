"""A file that is there when it is complete, or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from whereof.errors import WhereofError
from whereof.files._formats import Format, Result, Write
from whereof.run.files import writing_to


def check_free(path: Path, *, force: bool) -> None:
    """Refuse a place that holds something else."""
    if path.is_dir():
        raise WhereofError(f"{path} is a folder; name a file")
    if path.exists() and not force:
        raise WhereofError(f"{path} exists; choose another file, or overwrite it with --force")


@contextmanager
def new_file(path: Path, fill: Format[Result]) -> Iterator[Write[Result]]:
    """A file to fill that takes its name when it is complete."""
    with _draft(path) as draft, fill(draft) as write:
        yield write


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """One text as a file."""
    check_free(path, force=force)
    with _draft(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """A hidden file beside a path, which replaces it unless something goes wrong."""
    draft = path.with_name(f".{path.name}-{token_hex(4)}")
    try:
        with writing_to(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield draft
            draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink()
