"""Where the larger datasets are, for the tests that read them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset

_REPOSITORY = Path(__file__).resolve().parents[2]
_SHARED = _REPOSITORY.parent / "shared" / "data"


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """The folder that contains a named dataset's folder; skips the test if it is missing."""

    def find(name: str) -> Path:
        if not (_SHARED / name).is_dir():
            pytest.skip(f"no {name} in ../shared/data")
        return _SHARED

    return find


@cache
def read_shared(name: str) -> Dataset:
    """A dataset in the shared folder, read once."""
    return read_dataset(name, data_dir=_SHARED)


@pytest.fixture
def shared(shared_data: Callable[[str], Path]) -> Callable[[str], Dataset]:
    """A named dataset from the shared folder; skips where it is not there."""

    def find(name: str) -> Dataset:
        shared_data(name)
        return read_shared(name)

    return find


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file below the test's folder."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
