"""Charts: positions follow the numbers, descriptions contain them, and odd input is handled."""

import math
import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from present.svg import SVG, described, discs, is_inside, lines, numbers, parsed, words
from whereof.chart import Bar, Box, Chart, Curve, Mark, Points, Strip
from whereof.present.charts import Scale, axis_ticks, chart_svg, nice_ticks, tick_texts
from whereof.table import Column

FINITE = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-100)


@given(st.lists(FINITE, min_size=1, max_size=5))
def test_ticks_cover_the_data_evenly(values: list[float]) -> None:
    ticks = nice_ticks(values)
    room = 1e-6 * (ticks[-1] - ticks[0])
    assert ticks[0] - room <= min(values) <= max(values) <= ticks[-1] + room
    assert 2 <= len(ticks) <= 8
    steps = [after - before for before, after in pairwise(ticks)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-3)
    assert len(set(tick_texts(ticks))) == len(ticks)


def test_ticks_are_round() -> None:
    assert nice_ticks([0.03, 0.97]) == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    assert nice_ticks([0, 261]) == (0.0, 100.0, 200.0, 300.0)
    assert nice_ticks([0.86, 0.93]) == (0.86, 0.88, 0.9, 0.92, 0.94)
    assert nice_ticks([None, math.nan, math.inf, 1.0, 2.0]) == nice_ticks([1.0, 2.0])
    assert nice_ticks([]) == nice_ticks([0.0, 1.0])
    for value in (0.0, 5.0, -3.0):
        ticks = nice_ticks([value, value])
        assert ticks[0] < value < ticks[-1]


def test_tick_texts_have_the_digits_they_need() -> None:
    assert tick_texts((0.0, 0.25, 0.5)) == ["0.00", "0.25", "0.50"]
    assert tick_texts((0.0, 0.5, 1.0), percent=True) == ["0%", "50%", "100%"]
    assert tick_texts((-2000.0, 0.0)) == ["-2,000", "0"]


def test_a_scale_runs_either_way() -> None:
    assert Scale((0.0, 1.0), 10, 110).at(0.25) == 35
    assert Scale((0.0, 1.0), 110, 10).at(0.25) == 85


HOSTILE = '<script>alert("x")</script> & \x00'


def drawn(*marks: Mark, title: str = "t", x: str = "x", y: str = "y", unit: str = "number") -> str:
    return chart_svg(Chart("c", title, marks, Column("x", x, unit), Column("y", y, unit)))


def scatter(*points: tuple[float | None, float | None]) -> str:
    return drawn(Points("none", points, "r 0.93, L 6.9"))


def boxes(*heights: float, count: float | None = None) -> str:
    return drawn(Box("a", *heights, count=count), x="change")


def test_points_stand_right_and_up_by_their_numbers() -> None:
    root = parsed(scatter((0.1, 0.9), (0.5, 0.5), (0.9, 0.1)))
    first, middle, last = discs(root)
    assert first[0] < middle[0] < last[0]
    assert first[1] < middle[1] < last[1]
    assert "r 0.93, L 6.9" in words(root)
    assert "3 points" in words(root)


def test_the_diagonal_goes_through_equal_numbers() -> None:
    root = parsed(scatter((0.2, 0.2), (0.7, 0.7), (0.3, 0.8)))
    ((x1, y1, x2, y2),) = lines(root, "diagonal")
    on, also_on, above = discs(root)
    for x, y in (on, also_on):
        assert y == pytest.approx(y1 + (y2 - y1) * (x - x1) / (x2 - x1), abs=0.02)
    assert above[1] < y1 + (y2 - y1) * (above[0] - x1) / (x2 - x1) - 1


def test_panels_share_their_range_and_stand_apart() -> None:
    panels = [Points(name, [(0.1, 0.2), (top, top)]) for name, top in (("a", 0.3), ("b", 0.9))]
    root = parsed(drawn(*panels * 2))
    one, two = (lines(root, "diagonal")[index] for index in (0, 1))
    assert two[0] > one[2]
    assert two[2] - two[0] == one[2] - one[0]
    assert words(root).count("0.2") == 8
    assert lines(root, "diagonal")[2][3] > one[1]
    low = discs(root)[0]
    assert discs(root)[2][0] - two[0] == pytest.approx(low[0] - one[0], abs=0.02)


def test_thousands_of_points_are_thinned_and_it_is_said() -> None:
    points = [(index / 4999, (index * 7 % 5000) / 4999) for index in range(5000)]
    root = parsed(scatter(*points))
    assert len(discs(root)) == 1000
    assert "5,000 points, 1,000 of them drawn" in words(root)
    xs = [x for x, _ in discs(root)]
    assert max(xs) - min(xs) == pytest.approx(210, abs=0.1)


def test_a_box_has_its_numbers_in_order() -> None:
    root = parsed(boxes(-0.2, 0.0, 0.1, 0.4, 0.8, 0.3, count=261.0))
    ((_, median, _, _),) = lines(root, "median")
    ((_, zero, _, _),) = lines(root, "zero")
    lower, upper = lines(root, "whisker")
    body = next(item for item in root.iter(f"{SVG}rect") if "fill-opacity" in item.attrib)
    top, height = numbers(body, "y", "height")
    mean = discs(root)[0][1]
    assert upper[3] < top < mean < median < top + height < lower[1]
    assert top + height == pytest.approx(zero, abs=0.02)
    assert "300" in words(root)
    assert "facts removed, on average" in words(root)
    assert "median 0.100, mean 0.300, count 261." in described(root)


def test_counts_have_an_axis_only_where_there_are_some() -> None:
    assert "facts removed, on average" not in words(parsed(boxes(0, 1, 2, 3, 4, 2)))


def test_longer_bars_are_larger_and_whiskers_span_the_interval() -> None:
    bars = [
        Bar("k = 1", "rollback", 0.92, (0.82, 1.0)),
        Bar("k = 1", "random", 0.46, (0.4, 0.5)),
        Bar("k = 10", "rollback", 1.0),
    ]
    root = parsed(drawn(*bars, unit="percent"))
    rects = [
        numbers(item, "x", "width")
        for item in root.iter(f"{SVG}rect")
        if item.attrib.get("class", "").startswith("fill")
    ]
    zero = rects[0][0]
    assert rects[0][1] == pytest.approx(2 * rects[1][1], abs=0.05)
    assert rects[2][1] == max(width for _, width in rects)
    left, _, right, _ = lines(root, "interval")[0]
    assert (left - zero) / rects[2][1] == pytest.approx(0.82, abs=1e-3)
    assert (right - zero) / rects[2][1] == pytest.approx(1.0, abs=1e-3)
    shown = words(root)
    assert [shown.count(word) for word in ("k = 1", "k = 10", "rollback", "random")] == [1, 1, 2, 1]
    assert {"92.0%", "46.0%", "100.0%"} <= set(shown)


def test_bars_below_zero_go_left() -> None:
    root = parsed(drawn(Bar("", "a", -0.5), Bar("", "b", 0.5)))
    down, up = (
        numbers(item, "x", "width")
        for item in root.iter(f"{SVG}rect")
        if item.attrib.get("class", "").startswith("fill")
    )
    assert down[0] + down[1] == pytest.approx(up[0], abs=0.02)


def test_curves_rise_with_their_numbers_and_are_named() -> None:
    curves = [Curve("loss", [(1, 3.0), (2, 1.0)]), Curve("other", [(1, 0.5), (2, None), (3, 2.0)])]
    root = parsed(drawn(*curves, x="epoch", y="loss"))
    falling, rising = (
        [tuple(map(float, spot.split(","))) for spot in item.attrib["points"].split()]
        for item in root.iter(f"{SVG}polyline")
    )
    assert falling[0][1] < falling[1][1]
    assert rising[0][1] > rising[1][1]
    assert len(rising) == 2
    assert {"loss", "other", "epoch"} <= set(words(root))
    dashes = [item.attrib.get("stroke-dasharray") for item in root.iter(f"{SVG}polyline")]
    assert len(set(dashes)) == 2


def test_strips_have_a_disc_a_value_and_their_mean() -> None:
    strips = [Strip("rollback", [0.8, 1.0]), Strip("random", [0.5, None])]
    root = parsed(drawn(*strips, unit="percent"))
    (a, y), (b, _), (c, below) = discs(root)
    assert c < a < b
    assert y < below
    assert lines(root, "mean")[0][0] == pytest.approx((a + b) / 2, abs=0.02)


EMPTY = [
    drawn(),
    scatter((math.nan, 0.5), (0.5, None)),
    boxes(math.nan, 0, 0, 0, 0, 0),
    drawn(Bar("g", "s", math.nan)),
    drawn(Curve("c", [(1, None)])),
    drawn(Strip("s", [math.inf])),
]


@pytest.mark.parametrize("svg", EMPTY)
def test_nothing_to_draw_is_said(svg: str) -> None:
    root = parsed(svg)
    assert words(root)[-1].startswith("There ")
    assert not discs(root)


ODD: list[Callable[[], str]] = [
    lambda: scatter((0.5, 0.5)),
    lambda: scatter((0.0, 0.0)),
    lambda: scatter((-2.0, -2.0), (-2.0, -2.0)),
    lambda: boxes(0, 0, 0, 0, 0, 0, count=0),
    lambda: boxes(-1, -1, -1, -1, -1, -1),
    lambda: drawn(Bar("g", "s", 0.0, (None, None)), unit="percent"),
    lambda: drawn(Bar("g", "s", 0.0)),
    lambda: drawn(Curve("c", [(1, 2.0)])),
    lambda: drawn(Strip("s", [0.3, 0.3]), unit="percent"),
]


@pytest.mark.parametrize("draw", ODD)
def test_one_value_and_equal_values_are_drawn(draw: Callable[[], str]) -> None:
    svg = draw()
    assert "nan" not in svg
    assert is_inside(parsed(svg))


def test_names_are_escaped_and_long_ones_cut() -> None:
    long = HOSTILE * 20
    marks: list[list[Mark]] = [
        [Points(long, [(0, 1)], long)],
        [Box(long, 0, 1, 2, 3, 4, 2)],
        [Bar(HOSTILE, long, 0.5)],
        [Curve(long, [(1, 2)])] * 2,
        [Strip(long, [1])],
    ]
    for each in marks:
        svg = drawn(*each, title=long, x=HOSTILE, y=HOSTILE)
        assert "<script" not in svg
        assert is_inside(parsed(svg))


def test_dark_pages_have_colours_of_their_own() -> None:
    assert "prefers-color-scheme: dark" in scatter((0.5, 0.5))


def test_a_long_label_keeps_to_its_axis() -> None:
    label = "probability without random facts less that without those of rollback, in words"
    for made in (
        drawn(Box("a", 0, 1, 2, 3, 4, 2), x=label),
        drawn(Curve("c", [(1, 2.0), (2, 3.0)]), y=label),
    ):
        (turned,) = re.findall(r"rotate\(-90 [^>]*>([^<]*)</text>", made)
        assert "…" in turned
        assert label in made  # for those who hear it


@pytest.mark.parametrize("values", [[0.7], [0.31, 0.99], [0.0, 1.0], [0.002, 0.004]])
def test_an_axis_of_shares_stays_between_0_and_100_percent(values: list[float]) -> None:
    ticks = axis_ticks(values, Column("mrr", "MRR", "percent"))
    assert len(ticks) > 1
    assert 0 <= ticks[0] <= min(values)
    assert max(values) <= ticks[-1] <= 1
    assert axis_ticks(values, Column("loss", "loss", "number")) == nice_ticks(values)
