"""Names and numbers as people read them."""

import pytest

from tests.drawing.documents import explanation, fact, ratings, small
from whereof.drawing import (
    explanation_html,
    explanation_page,
    explanation_svg,
    named,
    plot_explanation,
)
from whereof.drawing._fitting import fit, text_width, wrap
from whereof.drawing._text import (
    fact_text,
    fall_text,
    influence_text,
    measure_text,
    percent,
    prediction_text,
)
from whereof.errors import WhereofError


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [("abcdeg", 4, "abcdeg"), ("abcdeg", 3.6, "ab…eg"), ("abcdeg", 3, "a…eg"), ("abcdeg", 1, "…")],
)
def test_long_texts_are_cut_in_the_middle(text: str, room: float, cut: str) -> None:
    assert fit(text, room, 1) == cut


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0%"),
        (0.13796, "13.8%"),
        (0.004573, "0.46%"),
        (0.0000452, "0.0045%"),
        (4.5e-9, "4.5e-07%"),
        (0.99994, ">99.9%"),
        (1.0, "100.0%"),
    ],
)
def test_small_probabilities_keep_their_digits(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("value", "of", "text"),
    [
        (0.1059, "probability", "+10.6 points"),
        (-0.00012, "probability", "−0.012 points"),
        (0.0, "probability", "0.0 points"),
        (-1.25, "score", "−1.25"),
        (0.22, "log_ratio", "+0.220"),
        (1234.0, "loss", "+1.23e+03"),
        (float("nan"), "probability", "nan points"),
    ],
)
def test_influences_have_a_sign_and_a_unit(value: float, of: str, text: str) -> None:
    assert influence_text(value, {"method": "rollback", "of": of}) == text
    assert fall_text(value, of) == text


@pytest.mark.parametrize("of", ["probability", "score", "loss", "log_ratio"])
def test_only_rolling_back_makes_influences_falls(of: str) -> None:
    falls = {"method": "rollback-o", "of": of}
    assert measure_text(falls) == measure_text(falls | {"method": "rollback"})
    assert "less the" in measure_text(falls) or "less without" in measure_text(falls)
    for method in ("random", "gradient-cos", "influence-function"):
        other = {"method": method, "of": of}
        assert influence_text(0.4359, other) == "+0.436"
        assert f"as {method} estimates it" in measure_text(other)
        assert "less" not in measure_text(other)


def test_a_prediction_in_one_line() -> None:
    other = {"label": "cy", "probability": 0.2, "rank": 1000, "score": 1.0}
    assert prediction_text(small()) == "ann likes bob: probability 50.0%, rank 2 of 1,234"
    assert prediction_text(ratings()) == "4 4: score 4.12, rank 2 of 1,234"
    assert prediction_text(small() | {"contrast": other}).endswith(
        "; rather than cy: probability 20.0%, rank 1,000"
    )


def test_labels_stand_for_names() -> None:
    labels = {"subject": "Zürich", "relation": "month", "object": "May"}
    made = fact(0, ("/m/1", "month", "/m/2"), 0.1, ("subject",), labels=labels)
    assert fact_text(made) == "Zürich month May"
    assert fact_text(made, full=True) == "Zürich (/m/1) month May (/m/2)"
    assert named("a", "a") == "a"


@pytest.mark.parametrize("text", ["short", "W" * 80, "北京" * 40, "a b " * 50, "x" * 5000])
def test_texts_fit_their_room(text: str) -> None:
    assert text_width(fit(text, 100, 11), 11) <= 100
    lines = wrap(text, 100, 11, 3)
    assert 1 <= len(lines) <= 3
    assert all(text_width(line, 11) <= 100 for line in lines)


def test_words_are_kept_whole_where_they_can_be() -> None:
    assert wrap("one two three", 60, 11, 2) == ("one two", "three")


@pytest.mark.parametrize(
    "draw", [explanation_html, explanation_page, explanation_svg, plot_explanation]
)
def test_what_is_no_explanation_is_said(draw: object) -> None:
    document = explanation(("a", "r", "b"), [])
    del document["of"]
    with pytest.raises(WhereofError, match="no explanation: of missing; give what"):
        draw(document)  # type: ignore[operator]
