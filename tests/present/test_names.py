"""Text for names and standings."""

from typing import Any

import pytest

from present.documents import estimated, explanation, fact, joint, made, ratings, small
from whereof import registry
from whereof.present.names import (
    fact_text,
    influence_unit,
    measure_text,
    named,
    plain_sentence,
    prediction_text,
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
    assert said == "ann likes bob: probability 50.0%, rank 2 of 1,234"
    assert prediction_text(made(ratings())) == "user 4, item 4: rating 4.12, rank 2 of 1,234"
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


UNKNOWN = {"reliability": {"claims": []}}
"""A run in which it is not measured whether announced changes come true."""


def stable(*fact_ids: int, probability: float, **changes: Any) -> dict[str, Any]:
    """The prediction without some facts, with the same top answer."""
    stays = {"top_answer": "paris", "top_answer_changes": False, "labels": {"top_answer": "paris"}}
    return joint(*fact_ids, probability=probability, **stays | changes)


def about_paris(*joints: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An explanation of the top answer, paris, with these estimates."""
    facts = [fact(n, ("a", "r", f"x{n}"), 0.4, ("subject",)) for n in range(4)]
    return explanation(("a", "r", "paris"), facts, stability=list(joints), **changes)


def sentence(document: dict[str, Any]) -> str:
    return plain_sentence(made(document))


def test_the_fewest_facts_that_change_the_answer() -> None:
    change = stable(0, probability=0.4), joint(0, 1, 2), joint(*range(10))
    said = (
        "Without the 3 strongest supporting facts, the model would say oslo, not paris (estimate)."
    )
    assert sentence(about_paris(*change)) == said
    assert plain_sentence(made(about_paris(*change)), mark=False) == said.replace(" (estimate)", "")
    alone = "Without the fact a r x0, the model would say oslo, not paris (estimate)."
    assert sentence(about_paris(joint(0), joint(0, 1, 2))) == alone


def test_a_new_answer_is_not_named_where_such_claims_are_not_known_to_come_true() -> None:
    change = joint(0, probability=0.4), joint(0, 1, 2, probability=0.2)
    assert sentence(about_paris(*change) | UNKNOWN) == (
        "Without the 3 strongest supporting facts, the model would give paris 20.0% instead "
        "of 50.0% (estimate)."
    )


def test_an_answer_that_few_facts_do_not_decide() -> None:
    joints = [stable(0, probability=0.49), stable(*range(10), probability=0.4)]
    start = "This answer does not depend on a few facts: without the 10 strongest supporting "
    start += "facts, the model"
    end = "40.0% instead of 50.0% (estimate)."
    assert sentence(about_paris(*joints)) == f"{start} would still say paris, with {end}"
    assert sentence(about_paris(*joints) | UNKNOWN) == f"{start} would give paris {end}"


def test_an_answer_that_is_not_on_top() -> None:
    document = explanation(("a", "r", "b"), [], stability=[joint(0, 1, 2)])
    assert sentence(document) == (
        "The model ranks paris above b; without the 3 strongest supporting facts, the model would "
        "give b 5.0% instead of 50.0% (estimate)."
    )


def test_without_joint_estimates_the_first_fact_speaks() -> None:
    document = about_paris() | {"stability": None}
    said = "Without the fact a r x0, the model would say rome, not paris"
    assert sentence(document) == f"{said} (estimate)."
    assert sentence(document | {"estimate": False}) == f"{said} (retrained)."
    assert sentence(about_paris()) == ""
    assert sentence(explanation(("a", "r", "b"), [])) == ""
    assert sentence(estimated(document, "gradient-cos")) == ""


def recommended(*joints: dict[str, Any], rating: float | None, **stands: Any) -> dict[str, Any]:
    """The recommendation of item 4 to user 4, because of items 1, 2 and 3, and of user 9."""
    facts = [fact(n, ("4", None, f"{n}"), 0.4, ("subject",), rating=rating) for n in (1, 2, 3)]
    facts.append(fact(4, ("9", None, "4"), 0.4, ("object",), rating=rating))
    prediction = {"top_answer": "4", "labels": {"subject": "4", "relation": None, "object": "Heat"}}
    prediction["labels"] |= {"top_answer": "Heat"}
    more = {"prediction": prediction | stands, "n_history": 3, "stability": list(joints)}
    return explanation(("4", None, "4"), facts, **more)


def test_recommendations_speak_of_ratings_and_of_the_users_history() -> None:
    change = joint(1, 2, 3)
    assert sentence(recommended(change, rating=5.0)) == (
        "Without the user's ratings of item 1, item 2 and item 3, the model would recommend oslo "
        "first, not Heat (estimate)."
    )
    assert sentence(recommended(change, rating=None)).startswith(
        "Without item 1, item 2 and item 3 in the user's history, the model would recommend oslo"
    )
    assert "Without the user's 10 strongest supporting ratings, " in sentence(
        recommended(joint(1, 2, 3, *range(5, 12)), rating=5.0)
    )
    assert "Without the strongest supporting rating of other users, " in sentence(
        recommended(joint(4), rating=5.0)
    )


def test_predicted_ratings_are_compared() -> None:
    falls = stable(1, probability=0.0, score=4.1) | {"probability": None}
    stands = {"probability": None, "score": 4.5}
    document = recommended(falls, rating=5.0, **stands) | UNKNOWN
    assert sentence(document) == (
        "Without the user's rating of item 1, the model would give Heat a rating of 4.10 instead "
        "of 4.50 (estimate)."
    )
