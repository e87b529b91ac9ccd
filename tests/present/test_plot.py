"""Influences as bars."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pytest

from present.documents import estimated, explanation, fact, made, small
from whereof.errors import WhereofError
from whereof.present.explanation import plot_explanation
from whereof.present.svg import OPPOSES, SUPPORTS


@pytest.fixture(autouse=True)
def pyplot() -> Iterator[Any]:
    mpl.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_bars_are_the_influences_strongest_on_top() -> None:
    axes = plot_explanation(made(small()))
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == [pytest.approx(100 * fact["influence"]) for fact in small()["facts"]]
    heights = [axes.transData.transform((0, bar.get_y()))[1] for bar in axes.patches]
    assert heights == sorted(heights, reverse=True)
    colours = [mpl.colors.to_hex(bar.get_facecolor()) for bar in axes.patches]
    assert colours[:2] == [SUPPORTS.line, OPPOSES.line]
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == [
        "ann likes bob",
        "bob knows ann",
    ]
    assert axes.get_xlabel() == "estimated influence on probability, in percentage points"
    assert axes.get_title() == "ann likes bob\nprobability 50.0%, rank 2 among 1,200 new answers"


def test_scores_stay_as_they_are() -> None:
    axes = plot_explanation(made(small() | {"of": "score", "estimate": False}))
    assert axes.patches[0].get_width() == 0.4
    assert axes.get_xlabel() == "influence on score"


def test_other_methods_have_no_points() -> None:
    axes = plot_explanation(made(estimated(small(), "gradient-cos")))
    assert axes.patches[0].get_width() == 0.4
    assert axes.get_xlabel() == "influence, as gradient-cos estimates it"


def test_axes_of_ones_own(pyplot: Any) -> None:
    _, axes = pyplot.subplots()
    assert plot_explanation(made(small()), axes) is axes
    assert len(pyplot.get_fignums()) == 1
    assert len(axes.patches) == 8


@pytest.mark.parametrize("facts", [[], [fact(0, ("$a_b", "$r^", "c" * 99), 0.1, ("subject",))]])
def test_odd_names_and_none_are_drawn(facts: list[Any]) -> None:
    axes = plot_explanation(made(explanation(("$a_b$", "r", "$x^"), facts)))
    axes.figure.canvas.draw()
    assert len(axes.patches) == len(facts)


def test_matplotlib_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    expected = 'plotting requires matplotlib; install it with: pip install "whereof[plots]"'
    with pytest.raises(WhereofError, match=re.escape(expected)):
        plot_explanation(made(small()))
