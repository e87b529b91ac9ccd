"""A split by time: the latest facts are held out."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whereof
from whereof.errors import WhereofError

USERS = ["a", "b", "a", "b", "a", "b", "c", "a"]
ITEMS = ["x", "y", "y", "x", "z", "z", "x", "x"]
TIMES = [3, 1, 2, 5, 0, 7, 9, 8]
"""The last fact repeats the first one, later."""


def names(dataset: whereof.Dataset, split: str) -> list[tuple[str, ...]]:
    return [dataset.fact_names(fact) for fact in getattr(dataset, split)]


def frame(times: Any = TIMES) -> dict[str, Any]:
    return {"user": USERS, "item": ITEMS, "timestamp": times}


def test_the_latest_facts_are_held_out() -> None:
    found = whereof.read(frame(), time="timestamp", valid_fraction=1 / 7, test_fraction=2 / 7)
    assert names(found, "train") == [("a", "x"), ("b", "y"), ("a", "y"), ("a", "z")]
    assert names(found, "valid") == [("b", "x")]
    assert names(found, "test") == [("b", "z")]
    assert found.notes[1:] == (
        "train: 1 duplicate fact dropped, the first in the file stays",
        "test: 1 of 2 facts dropped: they have names that are not in train",
    )
    assert found.entities.names == ("a", "b", "x", "y", "z")


DATES = [date(2026, 1, 1 + time) for time in TIMES]


@pytest.mark.parametrize(
    "times",
    [
        [str(day) for day in DATES],
        [f"{day} 10:30:00+02:00" for day in DATES],
        DATES,
        [datetime(day.year, day.month, day.day, 12) for day in DATES],
        np.array(DATES, "datetime64[s]"),
        [time + 0.5 for time in TIMES],
    ],
)
def test_dates_are_times(times: Any) -> None:
    options: dict[str, Any] = {"valid_fraction": 1 / 7, "test_fraction": 2 / 7}
    wanted = whereof.read(frame(), time="timestamp", **options)
    assert whereof.read(frame(times), time="timestamp", **options).hash == wanted.hash


def test_files_with_ratings_and_without_a_header(tmp_path: Path) -> None:
    rows = zip(USERS, ITEMS, range(8), TIMES, strict=True)
    path = tmp_path / "u.data"
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    found = whereof.read(path, columns="1,2", rating=3, time=4, test_fraction=2 / 7)
    assert names(found, "test") == [("b", "z")]
    assert found.ratings is not None
    assert found.ratings.test.tolist() == [5.0]
    assert found.ratings.train.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_split_at_random_names_the_column_of_times() -> None:
    said = "held-out facts are random; to hold out the latest facts, use --time timestamp"
    assert said in whereof.read(frame(), test_fraction=0.2).notes
    assert said not in whereof.read(frame()).notes
    assert said not in whereof.read(frame(), time="timestamp", test_fraction=0.2).notes


def test_a_split_that_loses_all_facts_says_so() -> None:
    users = {"user": [*"aabbcd"], "item": [*"xyxyxy"], "timestamp": [*range(6)]}
    found = whereof.read(users, time="timestamp", valid_fraction=1 / 6, test_fraction=1 / 6)
    assert found.notes[-1] == (
        "split by time: no fact of valid and test is left: none has its user and its item in "
        "train, and a model cannot rank what it has not seen; to hold out random facts, leave out "
        "--time"
    )


def test_movielens_has_its_own_split(tmp_path: Path) -> None:
    for name in ("ua.base", "ua.test"):
        (tmp_path / "movielens-100k").mkdir(exist_ok=True)
        (tmp_path / "movielens-100k" / name).write_text("1\t2\t3\t4\n")
    (tmp_path / "movielens-100k" / "u.item").write_text("2|Heat\n")
    with pytest.raises(WhereofError, match="alone, with --columns 1,2 --rating 3 --time 4"):
        whereof.read("movielens-100k", data_dir=tmp_path, time="timestamp", test_fraction=0.1)


def test_a_column_of_times_is_not_read_unless_asked_for() -> None:
    odd = frame(["soon"] * 8)
    assert whereof.read(odd).n_facts == 7
    with pytest.raises(WhereofError, match="row 1: time 'soon' is not a number or a date"):
        whereof.read(odd, time="timestamp", test_fraction=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing is held out; give valid_fraction or test_fraction too"),
        ({"test_fraction": 0.1, "split_seed": 1}, "leave out split_seed"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WhereofError, match=message):
        whereof.read(frame(), time="timestamp", **options)
