"""Reading TAB-separated text, and what is said about files that are not that."""

import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.data import ReadOptions
from whereof.data._formats import read_facts
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]


def read_tsv(path: Path) -> list[list[str]]:
    """The columns of a file of facts, cell by cell."""
    return [list(column) for column in read_facts(path, ReadOptions(), "train").columns]


cell = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1)
filled = cell.filter(lambda text: bool(text.strip()))


@given(st.lists(st.tuples(filled, filled, filled), min_size=1), st.booleans(), st.booleans())
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, str]],
    packed: bool,
    windows: bool,
) -> None:
    end = "\r\n" if windows else "\n"
    data = end.join("\t".join(row) for row in rows).encode("utf-8-sig" if windows else "utf-8")
    path = tmp_path_factory.mktemp("tsv") / ("facts.txt.gz" if packed else "facts.txt")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(zip(*read_tsv(path), strict=True)) == rows


def test_blank_lines_are_skipped(write: Write) -> None:
    path = write("facts.tsv", "\n\na\tr\tb\n  \n\r\nb\tr\ta\n\n")
    assert read_tsv(path) == [["a", "b"], ["r", "r"], ["b", "a"]]


def test_names_keep_spaces_and_unusual_line_separators(write: Write) -> None:
    path = write("facts.tsv", "a b \tc\u2028d\x85e\n")
    assert read_tsv(path) == [["a b "], ["c\u2028d\x85e"]]


def test_gzip_is_known_by_its_content(write: Write) -> None:
    assert read_tsv(write("facts.txt", gzip.compress(b"a\tb\n"))) == [["a"], ["b"]]


PACKED = gzip.compress(b"a\tr\tb\n" * 1000)
BAD = {
    "ragged": ("train.txt", b"a\tr\tb\n\na\tb\n", ":3: 2 columns, expected 3 as on line 1"),
    "ragged in sum": (
        "train.txt",
        b"\na\tb\nc\na\tb\tc\n",
        ":3: 1 column, expected 2 as on line 2",
    ),
    "too wide": ("train.txt", b"a\tb\tc\td\n", ":1: 4 columns, expected 2 (subject, object) or 3"),
    "no tab": ("train.txt", b"a r b\n", "separate them by TAB"),
    "empty cell": ("train.txt", b"a\tr\tb\na\t\tb\n", ":2: column 2 is empty"),
    "cell of spaces": ("train.txt", b"a\tr\tb\na\tr\t \n", ":2: column 3 is empty"),
    "only tabs": ("train.txt", b"a\tr\tb\n\t\t\n", ":2: column 1 is empty"),
    "not utf-8": ("train.txt", b"a\tb\nc\t\xe9t\xe9\n", ":2: not UTF-8 (byte 0xe9)"),
    "nul": ("train.txt", b"a\tb\nc\t\0\n", ":2: a NUL byte"),
    "utf-16": ("train.txt", "a\tb\n".encode("utf-16"), ":1: a NUL byte"),
    "endless line": ("train.txt", b"a\tb\n" + b"c" * 2**21, ":2: a line of more than 1 MiB"),
    "long line": ("train.txt", b"a\tb\nc\t" + b"d" * 2**21 + b"\n", ":2: a line of more than 1"),
    "empty": ("train.txt", b"", ": an empty file; expected lines of 2 (subject, object) or 3"),
    "blank": ("train.txt", b"\xef\xbb\xbf\n \n", ": an empty file"),
    "empty gzip": ("train.txt.gz", b"", ": an empty file"),
    "not gzip": ("train.txt.gz", b"a\tb\n", ": not a gzip file"),
    "truncated": ("train.txt.gz", PACKED[:-9], ": truncated or damaged gzip data"),
    "damaged": ("train.txt.gz", PACKED[:12] + b"\xff" * 20, ": truncated or damaged gzip data"),
    "gzip header only": ("train.txt.gz", b"\x1f\x8b", ": truncated or damaged gzip data"),
}


@pytest.mark.parametrize(("name", "content", "message"), BAD.values(), ids=BAD.keys())
def test_bad_file(write: Write, name: str, content: bytes, message: str) -> None:
    path = write(name, content)
    with pytest.raises(WhereofError) as caught:
        read_tsv(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(WhereofError, match=re.escape(f"{tmp_path / 'gone.txt'}: no such file")):
        read_tsv(tmp_path / "gone.txt")
    with pytest.raises(WhereofError, match="a folder, expected a file"):
        read_tsv(tmp_path)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root and Windows ignore file modes"
)
def test_file_without_permission(write: Write) -> None:
    path = write("train.txt", "a\tb\n")
    path.chmod(0)
    with pytest.raises(WhereofError, match="cannot be read: Permission denied"):
        read_tsv(path)
