"""Text for names and standings."""

import pytest

from present.documents import estimated, explanation, fact, made, ratings, small
from whereof import registry
from whereof.present.names import (
    Words,
    fact_text,
    file_name,
    influence_unit,
    measure_text,
    named,
    prediction_text,
    rating_text,
    scale_text,
)
from whereof.present.svg import fit, text_width, wrap
from whereof.units import show


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [("abcdeg", 4, "abcdeg"), ("abcdeg", 3.6, "ab…eg"), ("abcdeg", 3, "a…eg"), ("abcdeg", 1, "…")],
)
def test_long_texts_are_cut_in_the_middle(text: str, room: float, cut: str) -> None:
    assert fit(text, room, 1) == cut


@pytest.mark.parametrize(
    ("value", "of", "text"),
    [
        (0.1059, "probability", "+10.6 points"),
        (-0.00012, "probability", "-0.012 points"),
        (0.0, "probability", "0.0 points"),
        (-1.25, "score", "-1.25"),
        (0.22, "log_ratio", "+0.220"),
        (1234.0, "loss", "+1,234"),
        (float("nan"), "probability", "-"),
    ],
)
def test_influences_have_a_sign_and_a_unit(value: float, of: str, text: str) -> None:
    assert show(value, influence_unit(made(small() | {"of": of}))) == text


@pytest.mark.parametrize("of", ["probability", "score", "loss", "log_ratio"])
def test_only_methods_that_score_without_a_fact_have_differences(of: str) -> None:
    document = small() | {"of": of}
    assert "minus" in measure_text(made(document))
    for method in ("random", "gradient-cos", "influence-function"):
        other = made(estimated(document, method))
        assert influence_unit(other) == "signed"
        assert f"on the scale of {method}" in measure_text(other)
        assert "minus" not in measure_text(other)


def test_a_prediction_in_one_line() -> None:
    stands = {"probability": 0.2, "rank": 1000, "score": 1.0, "top_answer": "cy"}
    other = {"answer": "cy", "label": "cy", "log_ratio": 0.9, "labels": {}} | stands
    said = prediction_text(made(small()))
    assert said == "ann likes bob: probability 50.0%, rank 2 among 1,200 new answers"
    rated = "user 4, item 4: rating 4.12, rank 2 among 1,200 new items"
    assert prediction_text(made(ratings())) == rated
    assert prediction_text(made(small() | {"contrast": other})).endswith(
        "; compared with cy: probability 20.0%, rank 1,000"
    )


def test_labels_stand_for_names() -> None:
    labels = {"subject": "Zürich", "relation": "month", "object": "May"}
    facts = [fact(0, ("/m/1", "month", "/m/2"), 0.1, ("subject",), labels=labels)]
    (only,) = made(explanation(("a", "r", "b"), facts)).facts
    assert fact_text(only) == "Zürich month May"
    assert fact_text(only, full=True) == "Zürich (/m/1) month May (/m/2)"
    assert named("a", "a") == "a"


@pytest.mark.parametrize("text", ["short", "W" * 80, "北京" * 40, "a b " * 50, "x" * 5000])
def test_texts_fit_their_room(text: str) -> None:
    assert text_width(fit(text, 100, 11), 11) <= 100
    lines = wrap(text, 100, 11, 3)
    assert 1 <= len(lines) <= 3
    assert all(text_width(line, 11) <= 100 for line in lines)


def test_words_are_kept_whole_where_they_can_be() -> None:
    assert wrap("one two three", 60, 11, 2) == ("one two", "three")


@pytest.mark.parametrize("name", registry.names(registry.RENDERERS))
def test_every_renderer_is_there(name: str) -> None:
    assert callable(registry.load(registry.RENDERERS, name, object))


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("ann", "likes/x", 'b"\n/../é'), "verify-ann-likes-x-b.csv"),
        (("7", None, "50"), "verify-user-7-item-50.csv"),
        (("a" * 200, "r", "b"), f"verify-{'a' * 93}.csv"),
        (("日本", "→", "é"), "verify.csv"),
    ],
)
def test_a_file_is_named_after_its_prediction(
    names: tuple[str, str | None, str], wanted: str
) -> None:
    assert file_name("verify", made(explanation(names, [])).prediction, "csv") == wanted


@pytest.mark.parametrize(
    ("rating", "text"),
    [(4.214, "4.21 of 5"), (5.0, "5.00 of 5"), (5.65, "above 5"), (0.3, "below 1")],
)
def test_no_predicted_rating_is_more_than_the_highest(rating: float, text: str) -> None:
    assert rating_text(rating, (1.0, 5.0), "rating") == text


def test_ratings_beyond_the_scale_are_explained() -> None:
    assert scale_text([1.0, 4.2, 5.0], 1, 5) == ""
    said = "Ratings in the data go from 1 to 5; the model's can go beyond."
    assert scale_text([4.2, 5.01], 1, 5) == scale_text([0.99], 1, 5) == said


def test_a_name_that_starts_with_its_noun_is_not_given_it_again() -> None:
    words = Words.of(two_way=True)
    assert [words.label(name, name, "subject") for name in ("196", "user1", "User 2")] == [
        *("user 196", "user1", "User 2")
    ]
    assert words.label("user1", "user1", "object") == "item user1"
