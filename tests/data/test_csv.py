"""Comma-separated text."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.data import ReadOptions
from whereof.data._formats import read_facts
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]
cell = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
filled = cell.filter(lambda text: bool(text.strip()))


@given(st.lists(st.tuples(filled, filled, filled), min_size=1))
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([("subject", "relation", "object"), *rows])
    path = tmp_path_factory.mktemp("csv") / "facts.csv"
    path.write_bytes(text.getvalue().encode("utf-8-sig"))
    table = read_facts(path, ReadOptions(), "train")
    expected = [tuple(cell.replace("\r\n", "\n") for cell in row) for row in rows]
    assert list(zip(*table.columns, strict=True)) == expected


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
def test_bad_file(write: Write, content: str, message: str) -> None:
    path = write("facts.csv", content)
    with pytest.raises(WhereofError) as caught:
        read_facts(path, ReadOptions(), "train")
    assert str(caught.value).startswith(f"{path}{message}")
