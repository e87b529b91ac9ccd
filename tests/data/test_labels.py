"""Files of labels."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from whereof.data.read import as_labels, find_labels, read_dataset, read_labels
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


MOVIES = 'movieId,title,genres\n1,"Paris, Texas",drama\n2,Heat,crime\n'


@pytest.mark.parametrize("columns", ["", ":movieId,title", ":1,2", ":MOVIEID, title"])
def test_two_columns_of_a_wider_file(write: Write, columns: str) -> None:
    labels = find_labels(f"{write('movies.csv', MOVIES)}{columns}")
    assert labels is not None
    assert {n: labels[n] for n in ("1", "2")} == {"1": "Paris, Texas", "2": "Heat"}


@pytest.mark.parametrize(
    "header", ["entity\tlabel", "Name\tLabel", "movie_id\tTitle", "id\tlabel", "relation\tname"]
)
def test_a_header_of_two_columns(write: Write, header: str) -> None:
    path = write("labels.tsv", f"{header}\n/m/1\tParis\n")
    assert read_labels(path) == {"/m/1": "Paris"}
    first, _, second = header.partition("\t")
    assert read_labels(path, "1,2") == {first: second, "/m/1": "Paris"}


def test_a_header_may_name_the_labels_first(write: Write) -> None:
    assert read_labels(write("labels.tsv", "title\tmovieId\nHeat\t2\n")) == {"2": "Heat"}


@pytest.mark.parametrize("first", ["entity\tAn entity", "madrid\tname", "s\tname", "title\tlabels"])
def test_a_first_line_that_is_a_label(write: Write, first: str) -> None:
    name, _, label = first.partition("\t")
    assert read_labels(write("labels.tsv", f"{first}\na\tAda\n")) == {name: label, "a": "Ada"}


def test_groups(write: Write) -> None:
    path = write("groups.tsv", "entity\tgroup\na\teast\n")
    assert find_labels(path, noun="group") == {"a": "east"}
    wide = write("wide.csv", "id,name,group\na,Ada,east\n")
    assert find_labels(wide, noun="group") == {"a": "east"}
    with pytest.raises(WhereofError, match=r"bad.tsv:1: 1 column, expected 2 \(name, group\)"):
        find_labels(write("bad.tsv", "a\n"), noun="group")


def test_columns_that_are_none(write: Write) -> None:
    path = write("movies.csv", MOVIES)
    with pytest.raises(WhereofError, match=r":1: no column 'titel'; did you mean 'title'"):
        find_labels(f"{path}:movieId,titel")
    with pytest.raises(WhereofError, match="'title' names 1 columns of labels; give 2"):
        find_labels(f"{path}:title")
    with pytest.raises(WhereofError, match="no such file"):
        find_labels(f"{path}x:movieId,title")


FRAME = {"id": [1, 2, 3], "label": ["Paris", "Heat", None]}


@pytest.mark.parametrize(
    "given",
    [
        {1: "Paris", np.int64(2): "Heat"},
        {1.0: "Paris", "2": "Heat"},
        pd.Series(["Paris", "Heat"], index=[1, 2]),
        pd.DataFrame(FRAME),
        pd.DataFrame({"genre": ["a", "b", "c"], **FRAME}),
        pl.DataFrame(FRAME),
        pa.table(FRAME),
    ],
    ids=["numbers", "float", "series", "pandas", "wide", "polars", "arrow"],
)
def test_labels_from_python(given: object) -> None:
    assert as_labels(given) == {"1": "Paris", "2": "Heat"}


@pytest.mark.parametrize(("name", "key"), [("5.0", "5"), ("5", "5.0"), ("5.0", "5.0")])
def test_a_whole_number_may_have_decimals_in_facts_or_labels(
    write: Write, name: str, key: str
) -> None:
    facts = write("facts.tsv", f"a\t{name}\nb\tc\n")
    dataset = read_dataset(facts, entity_labels={key: "Heat", "other": "x"})
    assert dataset.entities.labels == {name: "Heat"}
