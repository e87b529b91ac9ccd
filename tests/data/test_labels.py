"""Files of labels."""

from collections.abc import Callable
from pathlib import Path

import pytest

from whereof.data.labels import read_labels
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]


def test_labels_in_csv(write: Write) -> None:
    path = write("labels.csv", '/m/1,"Paris, Texas"\n')
    assert read_labels(path) == {"/m/1": "Paris, Texas"}


def test_labels(write: Write) -> None:
    path = write("entity2text.txt", "/m/1\tParis\n\n/m/2\tNew York\n/m/1\tParis\n")
    assert read_labels(path) == {"/m/1": "Paris", "/m/2": "New York"}


def test_two_labels_for_one_name(write: Write) -> None:
    path = write("labels.tsv", "\n/m/1\tParis\n\n/m/1\tLondon\n")
    with pytest.raises(WhereofError, match=r"labels.tsv:4: second label 'London' for '/m/1', alre"):
        read_labels(path)


def test_labels_have_two_columns(write: Write) -> None:
    path = write("labels.tsv", "/m/1\tParis\tcity\n")
    with pytest.raises(WhereofError, match=r"labels.tsv:1: 3 columns, expected 2 \(name, label\)"):
        read_labels(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tAda\n\tBob\n", "labels.tsv:2: an empty name"),
        ("a\tAda\nb\t \n", "labels.tsv:2: an empty label"),
        ("\n", "labels.tsv: an empty file"),
    ],
)
def test_labels_that_are_empty(write: Write, content: str, message: str) -> None:
    with pytest.raises(WhereofError, match=message):
        read_labels(write("labels.tsv", content))
