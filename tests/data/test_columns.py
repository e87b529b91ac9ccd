"""Which columns hold what: headers, names, numbers, ratings and sources."""

from collections.abc import Callable
from pathlib import Path

import pytest

from whereof.data.columns import FactTable
from whereof.data.options import ReadOptions
from whereof.data.read import read_dataset, read_facts
from whereof.errors import WhereofError

Write = Callable[[str, str | bytes], Path]


def rows(table: FactTable) -> list[tuple[str, ...]]:
    return list(zip(*(column.to_pylist() for column in table.fact_columns), strict=True))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Head,REL,tail", [("1", "2", "3")]),
        ("object,subject,predicate", [("2", "3", "1")]),
        ("s,p,o", [("1", "2", "3")]),
        ("source,relation,target", [("1", "2", "3")]),
        ("userId,movieId,timestamp", [("1", "2")]),
        ("item_id,user_id", [("2", "1")]),
        ("customer,song", [("1", "2")]),
        ("user,tune,rating", [("1", "2")]),
        ("listener,rating,date,song", [("1", "4")]),
        ("id,user,item", [("2", "3")]),
        ("user,item,label", [("1", "2")]),
        ("subject,relation,object,confidence", [("1", "2", "3")]),
        ("subject,verb,object", [("1", "2", "3")]),
    ],
)
def test_a_header_of_known_words_names_the_columns(
    write: Write, header: str, expected: list[tuple[str, ...]]
) -> None:
    cells = ",".join("1234"[: header.count(",") + 1])
    table = read_facts(write("facts.csv", f"{header}\n{cells}\n"), ReadOptions(), "train")
    assert rows(table) == expected


@pytest.mark.parametrize("first", ["egypt,embassy,usa", "head,of,state", "s,h,o", "h,to,t"])
def test_any_other_first_line_is_a_fact(write: Write, first: str) -> None:
    table = read_facts(write("facts.csv", f"{first}\n1,2,3\n"), ReadOptions(), "train")
    assert rows(table) == [tuple(first.split(",")), ("1", "2", "3")]


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("h,r,t", "'h' as subject, 'r' as relation, 't' as object"),
        ("user,tune,stars", "'user' as subject, 'tune' as object, 'stars' as rating"),
        ("item,user,source", "'user' as subject, 'item' as object, 'source' as source"),
    ],
)
def test_columns_that_a_header_decides_are_noted(write: Write, header: str, roles: str) -> None:
    path = write("facts.csv", f"{header}\n1,2,3\n4,5,6\n")
    assert read_dataset(path).notes == (f"columns read by their names: {roles}",)
    assert read_dataset(path, columns=header.split(",")[:2]).notes == ()


def test_columns_that_are_not_read_are_named(write: Write) -> None:
    path = write("facts.csv", "head,rel,tail,trust,date\na,b,c,0.5,1999\nc,b,a,2,2001\n")
    note = "columns not read: 'trust'; name one with --weight, --source, --rating or --time"
    assert read_dataset(path).notes[1:] == (note,)
    assert len(read_dataset(path, weight="trust").notes) == 1
    assert read_dataset(path, columns="1,2,3").notes == ()


@pytest.mark.parametrize("options", [{"source": "doc"}, {"columns": "3,1,2"}])
def test_a_header_is_one_whatever_is_asked_for(write: Write, options: dict[str, str]) -> None:
    path = write("facts.csv", "relation,tail,head,doc\n1,2,3,4\n")
    assert rows(read_facts(path, ReadOptions(**options), "train")) == [("3", "1", "2")]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"columns": "from,via,to"}, [("1", "2", "3"), ("5", "6", "7")]),
        ({"columns": "TO, from"}, [("3", "1"), ("7", "5")]),
        ({"columns": "1,3", "header": True}, [("1", "3"), ("5", "7")]),
        ({"columns": "1,3"}, [("from", "to"), ("1", "3"), ("5", "7")]),
        ({"source": "doc"}, [("1", "2", "3"), ("5", "6", "7")]),
        ({"columns": "1,2", "rating": "4", "header": True}, [("1", "2"), ("5", "6")]),
    ],
)
def test_columns_by_name_and_number(
    write: Write, options: dict[str, str], expected: list[tuple[str, ...]]
) -> None:
    path = write("facts.csv", "from,via,to,doc\n1,2,3,4\n5,6,7,8\n")
    assert rows(read_facts(path, ReadOptions(**options), "train")) == expected


def test_ratings_and_sources_come_with_the_facts(write: Write) -> None:
    path = write("ratings.csv", "user,item,rating,timestamp,source\na,x,4.5,0,web\nb,x,1e0,0,app\n")
    table = read_facts(path, ReadOptions(), "train")
    assert rows(table) == [("a", "x"), ("b", "x")]
    assert table.columns["rating"].tolist() == [4.5, 1.0]
    assert table.columns["source"].to_pylist() == ["web", "app"]


def test_only_what_is_asked_for_is_read(write: Write) -> None:
    path = write("facts.csv", "user,item,rating,note\na,x,good,\n")
    table = read_facts(path, ReadOptions(columns="user,item"), "train")
    assert (rows(table), [*table.columns]) == ([("a", "x")], ["subject", "object"])


def test_headerless_ratings_by_number(write: Write) -> None:
    path = write("u.data", "196\t242\t3\t881250949\n186\t302\t2.5\t891717742\n")
    table = read_facts(path, ReadOptions(rating="3"), "train")
    assert rows(table) == [("196", "242"), ("186", "302")]
    assert table.columns["rating"].tolist() == [3, 2.5]


def test_weights_by_name_and_by_number(write: Write) -> None:
    named = write("facts.csv", "weight,head,relation,tail\n0.1,a,r,b\n2e0,b,r,c\n")
    bare = write("bare.csv", "a,r,b,0.1\nb,r,c,2\n")
    for path, options in ((named, {}), (bare, {"weight": "4"})):
        table = read_facts(path, ReadOptions(**options), "train")
        assert rows(table) == [("a", "r", "b"), ("b", "r", "c")]
        assert table.columns["weight"].tolist() == [0.1, 2]
    ignored = read_facts(named, ReadOptions(columns="head,tail"), "train")
    assert "weight" not in ignored.columns
    asked = read_facts(named, ReadOptions(columns="head,tail", weight="Weight"), "train")
    assert asked.columns["weight"].tolist() == [0.1, 2]


def test_users_and_items_with_ratings_and_weights(write: Write) -> None:
    path = write("u.csv", "a,x,5,0.5,2001\nb,x,1,0,2002\n")
    table = read_facts(path, ReadOptions(rating="3", weight="4"), "train")
    assert rows(table) == [("a", "x"), ("b", "x")]
    assert table.columns["rating"].tolist() == [5, 1]
    assert table.columns["weight"].tolist() == [0.5, 0]


BAD = {
    "unknown name": ("a,b,c\n1,2,3\n", {"columns": "a,bee"}, ":1: no column 'bee'; there are a, b"),
    "near name": (
        "head,rel,tail\n",
        {"columns": "head,rel,tale"},
        "no column 'tale'; did you mean 'tail'?",
    ),
    "name twice": ("a,a,b\n1,2,3\n", {"columns": "a,b"}, "2 columns named 'a'; give its number"),
    "number too large": ("a,b,c\n", {"columns": "1,4"}, ":1: no column 4; there are 3, from 1"),
    "number zero": ("a,b,c\n", {"columns": "0,1"}, ":1: no column 0; there are 3, from 1"),
    "one column": (
        "a,b,c\n",
        {"columns": "1"},
        "columns has length 1; give 2 (subject, object) or 3",
    ),
    "name without header": (
        "a,b,c\n",
        {"columns": "a,b", "header": False},
        "'a' names a column, and there is no header",
    ),
    "one for two": (
        "a,b,c\n",
        {"columns": "1,1"},
        ":1: column 1 is used as subject and as object; choose different columns",
    ),
    "a rating as a weight": (
        "user,item,stars,ts\na,x,4,1\n",
        {"weight": "stars"},
        ":1: column 'stars' is used as rating and as weight; choose the columns of a fact, and "
        "name them with columns, such as user,item",
    ),
    "a weight as a source": (
        "user,item,w\na,x,4\n",
        {"weight": "w", "source": "w"},
        ":1: column 'w' is used as source and as weight; choose different columns",
    ),
    "rated triple": ("a,b,c,4\n", {"columns": "1,2,3", "rating": "4"}, "ratings require 2 columns"),
    "rating after a triple": ("a,b,c,4\n", {"rating": "4"}, "ratings require 2 columns, user and"),
    "name of a rating": (
        "a,b,points\n1,2,3\n",
        {"rating": "3"},
        ":1: rating 'points' is not a finite number; correct it, or say --header if line 1 names",
    ),
    "two items": (
        "user,item,item_id\n",
        {},
        ":1: 'item' and 'item_id' are both object columns; say which with columns",
    ),
    "two ratings": (
        "user,item,score,stars\n",
        {},
        "are both rating columns; say which with rating",
    ),
    "no item": (
        "user,tune,year,rating\n",
        {},
        ":1: cannot tell subject and object among user, tune, year, rating; name them with "
        "columns, or say --no-header",
    ),
    "no subject named": (
        "relation,a,b\n",
        {"header": True},
        "cannot tell subject and object among relation, a, b; name them with columns",
    ),
    "too wide": ("a,b,c,d\n", {}, ":1: 4 columns, expected 2 (subject, object) or 3 (subject"),
    "header alone": ("head,relation,tail\n", {}, ": no facts below the header"),
    "text rating": ("user,item,rating\na,x,4\nb,x,good\n", {}, ":3: rating 'good' is not a fin"),
    "nan rating": ("user,item,rating\na,x,NaN\n", {}, ":2: rating 'NaN' is not a finite number"),
    "huge rating": ("user,item,rating\na,x,1e39\n", {}, ":2: rating '1e39' is too large to be"),
    "merging rating": (
        "user,item,rating\na,x,16777216\nb,x,16777217\n",
        {},
        ":3: rating '16777217' is too large to be kept exactly: whole numbers are kept up to "
        "16,777,216; divide all ratings by one number",
    ),
    "no rating": ("user,item,rating\na,x,\n", {}, ":2: rating '' is not a finite number"),
    "text weight": ("user,item,weight\na,x,4\nb,x,good\n", {}, ":3: weight 'good' is not a finite"),
    "nan weight": (
        "user,item,weight\na,x,NaN\n",
        {},
        "weight 'NaN' is not a finite number that is 0",
    ),
    "negative weight": (
        "user,item,weight\na,x,-1\n",
        {},
        "'-1' is not a finite number that is 0 or larger",
    ),
    "huge weight": ("user,item,weight\na,x,1e999\n", {}, ":2: weight '1e999' is not a finite num"),
    "no weight": ("user,item,weight\na,x,\n", {}, ":2: weight '' is not a finite number that is 0"),
    "name of a weight": (
        "a,b,share\n1,2,3\n",
        {"weight": "3"},
        ":1: weight 'share' is not a finite number that is 0 or larger",
    ),
    "two weights": (
        "user,item,weight,Weight\n",
        {},
        "are both weight columns; say which with weight",
    ),
    "no source": (
        "user,item,source\na,x, \n",
        {},
        ":2: column 'source' is empty; correct it or leave the row out, or drop the column",
    ),
    "no subject": ("user,item\n\n,x\n", {}, ":3: column 'user' is empty; correct it"),
}


@pytest.mark.parametrize(("content", "options", "message"), BAD.values(), ids=BAD.keys())
def test_bad_columns(write: Write, content: str, options: dict[str, str], message: str) -> None:
    path = write("facts.csv", content)
    with pytest.raises(WhereofError) as caught:
        read_facts(path, ReadOptions(**options), "train")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
