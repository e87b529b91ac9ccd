"""The text of values by their units."""

import math
from typing import Any

import pytest

from whereof import units
from whereof.table import Cell, Column, cell_text

_NAN = math.nan


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("text", "a|b", "a|b"),
        ("text", True, "yes"),
        ("text", None, ""),
        ("count", 1592, "1,592"),
        ("count", "all", "all"),
        ("mean", 261.43, "261.4"),
        ("mean", 10.0, "10"),
        ("mean", 1234.5, "1,234"),
        ("percent", 0.0, "0.0%"),
        ("percent", 0.13796, "13.8%"),
        ("percent", 0.004573, "0.46%"),
        ("percent", 0.0000452, "0.0045%"),
        ("percent", 4.5e-9, "4.5e-07%"),
        ("percent", 0.99994, ">99.9%"),
        ("percent", 1.0, "100.0%"),
        ("percent", -0.02, "-2.0%"),
        ("points", 0.1059, "+10.6 points"),
        ("points", -0.00012, "-0.012 points"),
        ("points", 0.0, "0.0 points"),
        ("probability", 0.50169, "0.5017"),
        ("probability", 0.00001234, "1.23e-05"),
        ("probability", 0.002034, "0.00203"),
        ("chance", 0.002034, "0.203%"),
        ("chance", 0.0234, "2.3%"),
        ("chance", 4.5e-9, "4.50e-07%"),
        ("chance", 0.99994, ">99.9%"),
        ("influence", 0.1059, "+0.1059"),
        ("influence", -0.000012, "-1.2e-05"),
        ("score", -1.25, "-1.250"),
        ("correlation", 0.9, "0.900"),
        ("number", 1234.0, "1,234"),
        ("number", 0.1, "0.100"),
        ("number", 1.234e-7, "1.23e-07"),
        ("number", 12345678.0, "1.23e+07"),
        ("number", 0, "0"),
        ("p-value", 0.0001, "<0.0002"),
        ("p-value", 0.01234, "0.0123"),
        ("seconds", 0.0123, "12.3 ms"),
        ("seconds", 1.37, "1.4 s"),
        ("seconds", 59.96, "1 min"),
        ("seconds", 1370.0, "22 min 50 s"),
        ("seconds", 3599.7, "1 h"),
        ("seconds", 11_100.0, "3 h 5 min"),
        ("seconds", 200_000.0, "2 days 8 h"),
        ("bytes", 3_400_000, "3.4 MB"),
        ("bytes", 12, "12 B"),
    ],
)
def test_a_value_by_its_unit(unit: str, value: Any, text: str) -> None:
    assert units.show(value, unit) == text


def test_ordinals() -> None:
    texts = [units.ordinal(n) for n in (1, 2, 3, 4, 11, 12, 21, 113, 1203)]
    assert texts == ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "113th", "1,203rd"]


def test_every_unit_can_be_written_and_has_a_word_for_what_is_not_known() -> None:
    for unit in units.UNITS:
        assert units.show(0.5, unit)
        if unit != "text":
            for value in (None, _NAN, math.inf):
                assert units.show(value, unit) == "-"


@pytest.mark.parametrize(
    ("unit", "ends", "text"),
    [
        ("percent", (0.823, 1.0), "82-100%"),
        ("percent", (0.004, 0.012), "0.4-1.2%"),
        ("percent", (-0.02, 0.1), "-2.0% to 10%"),
        ("points", (-0.012, 0.054), "-1.2 to +5.4 points"),
        ("correlation", (-0.2, 0.1), "-0.200 to 0.100"),
        ("percent", None, ""),
        ("percent", (_NAN, 1.0), ""),
    ],
)
def test_intervals(unit: str, ends: Any, text: str) -> None:
    assert units.show(ends, unit, "interval") == text


@pytest.mark.parametrize(
    ("unit", "both", "text"),
    [
        ("mean", (10.0, 0.0), "10"),
        ("mean", (261.43, 12.2), "261.4 ± 12.2"),
        ("percent", (0.92, 0.012), "92.0 ± 1.2%"),
        ("points", (0.1, 0.02), "+10.0 points ± 2.0 points"),
        ("number", (None, 1.0), "-"),
    ],
)
def test_a_mean_and_its_deviation(unit: str, both: Any, text: str) -> None:
    assert units.show(both, unit, "deviation") == text


def test_a_cell_may_differ_from_its_column() -> None:
    column = Column("pd", "PD", "percent")
    assert cell_text(0.5, column) == "50.0%"
    assert cell_text(Cell(0.5, mark="***"), column) == "50.0%***"
    assert cell_text(Cell(0.5, unit="points"), column) == "+50.0 points"


def test_one_is_not_several() -> None:
    counts = [units.count(1, "query"), units.count(0, "fact"), units.count(1592, "entity")]
    assert counts == ["1 query", "0 facts", "1,592 entities"]
    assert units.count("all", "negative") == "all negatives"


def test_minus_signs_on_pages() -> None:
    written = units.typographic("-0.2 to 0.1 (-3), 82-100%, 1e-05, a-1")
    assert written == "−0.2 to 0.1 (−3), 82-100%, 1e-05, a-1"
