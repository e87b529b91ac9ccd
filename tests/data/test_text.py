"""TAB- and comma-separated text, and error messages for bad files."""

import csv
import gzip
import io
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.data import text
from whereof.data.options import ReadOptions
from whereof.data.read import read_dataset, read_facts
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]


def read_tsv(path: Path) -> list[list[str]]:
    """The columns of a file of facts, cell by cell."""
    table = read_facts(path, ReadOptions(), "train")
    return [column.to_pylist() for column in table.fact_columns]


cell = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1)
filled = cell.filter(lambda cell: bool(cell.strip()))


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


def test_a_gzip_file_of_blank_lines_is_empty(write: Write) -> None:
    blank = b"\n" * (text.BLOCK + 5)
    with pytest.raises(WhereofError, match="an empty file"):
        read_tsv(write("facts.tsv.gz", gzip.compress(blank, 1)))
    with pytest.raises(WhereofError, match=f"facts.tsv.gz:{len(blank) + 2}: 1 column"):
        read_tsv(write("facts.tsv.gz", gzip.compress(blank + b"a\tb\nc\n", 1)))


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
    "empty": ("train.txt", b"", ": an empty file; expected columns: 2 (subject, object) or 3"),
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


any_cell = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
any_filled = any_cell.filter(lambda cell: bool(cell.strip()))


@given(st.lists(st.tuples(any_filled, any_filled, any_filled), min_size=1))
def test_csv_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    file = io.StringIO()
    csv.writer(file).writerows([("subject", "relation", "object"), *rows])
    path = tmp_path_factory.mktemp("csv") / "facts.csv"
    path.write_bytes(file.getvalue().encode("utf-8-sig"))
    expected = [tuple(cell.replace("\r\n", "\n") for cell in row) for row in rows]
    assert [*zip(*read_tsv(path), strict=True)] == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('a,r,b\n\n"a\nb",r,c\na,b\n', ":5: 2 columns, expected 3 as on line 1"),
        ('a,r,b\na,"r"s,b\n', ":2: ',' expected after '\"'"),
        ('a,r,b\na,r,"b\n', ":2: unexpected end of data"),
        ("a,r,b\na,r\rs,c\n", ":2: a carriage return alone, outside of quotes; expected"),
        ('a,"r",b\na,r\rs,c\n', ":2: a carriage return alone, outside of quotes; expected"),
        ("a,r,b\ra,r,c\r", ":1: a carriage return alone, outside of quotes; expected"),
        ("a;r;b\n", ":1: 1 column, expected 2"),
        ("", ": an empty file"),
    ],
)
def test_bad_csv_file(write: Write, content: str, message: str) -> None:
    path = write("facts.csv", content)
    with pytest.raises(WhereofError) as caught:
        read_facts(path, ReadOptions(), "train")
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_large_csv_file_with_some_quotes(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"é{i % 97},r{i % 3},é{i * i % 89}" for i in range(500)]
    tall = "tall\n" * 200
    quoted = [f'"a, b",r,"{tall}{i}"' for i in range(50)]
    path = write("facts.csv", "\n".join([*lines, *quoted, *lines, "", 'c,"r",d']))
    small = read_dataset(path)
    monkeypatch.setattr(text, "BLOCK", 1000)
    large = read_dataset(path)
    assert (large.hash, large.notes) == (small.hash, small.notes)
    write("facts.csv", "\n".join([*lines, *quoted, "c,d"]))
    with pytest.raises(WhereofError, match=r"facts.csv:10551: 2 columns, expected 3 as on line 1"):
        read_dataset(path)


def test_a_large_file_is_read_like_a_small_one(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"é{i % 97}\tr{i % 3}\té{i * i % 89}" for i in range(2000)]
    path = write("facts.tsv", "\n".join([*lines[:1000], "", *lines[1000:]]))
    small = read_dataset(path)
    monkeypatch.setattr(text, "BLOCK", 1000)
    large = read_dataset(path)
    assert (large.hash, large.notes) == (small.hash, small.notes)
    rated = read_dataset(path, columns="1,2", source="3")
    assert rated.sources is not None
    assert list(rated.sources)[:2] == ["é0", "é1"]
    with pytest.raises(WhereofError, match=r"facts.tsv:1: rating 'é0' is not a finite number"):
        read_dataset(path, rating="3")
    write("facts.tsv", "\n".join([*lines, "a\t \tb"]))
    with pytest.raises(WhereofError, match=r"facts.tsv:2001: column 2 is empty"):
        read_dataset(path)
    write("facts.tsv", "\n".join([*lines, "a\tb"]))
    with pytest.raises(WhereofError, match=r"facts.tsv:2001: 2 columns, expected 3 as on line 1"):
        read_dataset(path)
