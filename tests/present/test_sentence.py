"""Sentences of an explanation."""

from typing import Any

from present.documents import estimated, explanation, fact, joint, made, ratings
from whereof.present import sentence
from whereof.present.explanation import first_fact_text

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


def said_of(document: dict[str, Any]) -> str:
    return sentence.plain_sentence(made(document))


def test_the_fewest_facts_that_change_the_answer() -> None:
    change = stable(0, probability=0.4), joint(0, 1, 2), joint(*range(10))
    said = (
        "Without the 3 strongest supporting facts, the model would say oslo, not paris (estimate)."
    )
    assert said_of(about_paris(*change)) == said
    assert sentence.plain_sentence(made(about_paris(*change)), mark=False) == said.replace(
        " (estimate)", ""
    )
    alone = "Without the fact a r x0, the model would say oslo, not paris (estimate)."
    assert said_of(about_paris(joint(0), joint(0, 1, 2))) == alone


def test_a_new_answer_is_not_named_where_such_claims_are_not_known_to_come_true() -> None:
    change = joint(0, probability=0.4), joint(0, 1, 2, probability=0.2)
    assert said_of(about_paris(*change) | UNKNOWN) == (
        "Without the 3 strongest supporting facts, the model would give paris 20.0% instead "
        "of 50.0% (estimate)."
    )
    stays = stable(0, probability=0.4), stable(0, 1, 2, probability=0.2)
    assert said_of(about_paris(*stays) | UNKNOWN) == (
        "Without the 3 strongest supporting facts, the model would give paris 20.0% instead "
        "of 50.0% (estimate)."
    )


def test_the_facts_against_an_answer_that_is_not_on_top_are_named() -> None:
    facts = [
        fact(0, ("a", "r", "x0"), 0.4, ("subject",)),
        fact(1, ("c", "r", "paris"), -0.1, ("relation",)),
        fact(2, ("a", "q", "paris"), -0.3, ("subject",)),
    ]
    against = sentence.against(made(explanation(("a", "r", "b"), facts)))
    assert against == "The facts that oppose b most are a q paris and c r paris."
    one = sentence.against(made(explanation(("a", "r", "b"), facts[:2])))
    assert one == "The fact that opposes b most is c r paris."
    assert sentence.against(made(explanation(("a", "r", "b"), facts[:1]))) == ""
    assert sentence.against(made(explanation(("a", "r", "paris"), facts))) == ""
    rival = {"answer": "oslo", "label": "oslo", "log_ratio": 0.5, "probability": 0.3, "rank": 3}
    rival |= {"score": 1.0, "top_answer": "paris", "labels": {"top_answer": "paris"}}
    compared = explanation(("a", "r", "paris"), facts[:2], contrast=rival)
    assert sentence.against(made(compared)) == (
        "The fact that supports oslo over paris most is c r paris."
    )


def test_ratings_have_the_highest_one_of_the_data() -> None:
    document = ratings()
    facts = [each | {"score_without": 3.0} for each in document["facts"]]
    found = made(document | {"facts": facts})
    said = sentence.plain_sentence(found, mark=False, scale=(1.0, 5.0))
    assert "a rating of 3.00 of 5 instead of 4.12" in said or "3.00 of 5 instead of 4.13" in said
    said = sentence.plain_sentence(found, mark=False, scale=(1.0, 2.0))
    assert "a rating of 3.00 instead of" in said  # not 3 of 2


def test_ratings_against_an_item_are_named_by_what_is_not_shared() -> None:
    facts = [
        fact(0, ("7", None, "9"), -0.3, ("subject",), rating=1.0),
        fact(1, ("8", None, "50"), -0.2, ("object",), rating=2.0),
        fact(2, ("8", None, "9"), -0.1, (), rating=5.0),
    ]
    said = sentence.against(made(explanation(("7", None, "50"), facts)))
    assert said.replace("\N{NO-BREAK SPACE}", " ") == (
        "The ratings that oppose item 50 most are item 9 (rated 1), user 8 (rated 2) and "
        "user 8, item 9 (rated 5)."
    )


def test_an_answer_that_few_facts_do_not_decide() -> None:
    joints = [stable(0, probability=0.49), stable(*range(10), probability=0.46)]
    start = "This answer does not depend on a few facts: without the 10 strongest supporting "
    start += "facts, the model"
    end = "46.0% instead of 50.0% (estimate)."
    assert said_of(about_paris(*joints)) == f"{start} would still say paris, with {end}"
    assert said_of(about_paris(*joints) | UNKNOWN) == f"{start} would give paris {end}"
    falls = about_paris(stable(*range(10), probability=0.3))
    assert said_of(falls) == (
        "Without the 10 strongest supporting facts, the model would still say paris, with 30.0% "
        "instead of 50.0% (estimate)."
    )


def test_an_answer_that_is_not_on_top() -> None:
    document = explanation(("a", "r", "b"), [], stability=[joint(0, 1, 2)])
    assert said_of(document) == (
        "The model ranks paris above b; without the 3 strongest supporting facts, the model would "
        "give b 5.0% instead of 50.0% (estimate)."
    )


def test_without_joint_estimates_the_first_fact_speaks() -> None:
    document = about_paris() | {"stability": None}
    said = "Without the fact a r x0, the model would say rome, not paris"
    assert said_of(document) == f"{said} (estimate)."
    assert said_of(document | {"estimate": False}) == f"{said} (retrained)."
    assert said_of(about_paris()) == ""
    assert said_of(explanation(("a", "r", "b"), [])) == ""
    assert said_of(estimated(document, "gradient-cos")) == ""


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
    assert said_of(recommended(change, rating=5.0)) == (
        "Without the user's ratings of item 1, item 2 and item 3, the model would recommend oslo "
        "first, not Heat (estimate)."
    )
    assert said_of(recommended(change, rating=None)).startswith(
        "Without item 1, item 2 and item 3 in the user's history, the model would recommend oslo"
    )
    assert "Without the user's 10 strongest supporting ratings, " in said_of(
        recommended(joint(1, 2, 3, *range(5, 12)), rating=5.0)
    )
    assert "Without the strongest supporting rating of other users, " in said_of(
        recommended(joint(4), rating=5.0)
    )


def test_predicted_ratings_are_compared() -> None:
    falls = stable(1, probability=0.0, score=4.1) | {"probability": None}
    stands = {"probability": None, "score": 4.5}
    document = recommended(falls, rating=5.0, **stands) | UNKNOWN
    assert said_of(document) == (
        "Without the user's rating of item 1, the model would give Heat a rating of 4.10 instead "
        "of 4.50 (estimate)."
    )


def test_a_recommendation_has_a_reason_that_its_user_understands() -> None:
    because = sentence.because
    assert because(made(recommended(rating=5.0))) == (
        "Because user 4 rated item 1 with 5, item 2 with 5 and item 3 with 5."
    )
    assert (
        because(made(recommended(rating=None))) == "Because user 4 has item 1, item 2 and item 3."
    )
    others = recommended(rating=5.0)
    others["facts"][-1]["influence"] = 0.5
    assert because(made(others)).endswith("with 5. Ratings of other users matter more.")
    others["facts"] = others["facts"][-1:]
    assert because(made(others)) == "No listed rating of user 4 supports it."
    assert because(made(about_paris())) == ""


def test_measured_influences_start_from_what_was_retrained() -> None:
    """The stored run may have another probability, for example after `unlearn`."""
    stays = {"probability_without": 0.3, "top_answer_changes": False}
    first = fact(0, ("a", "r", "x0"), 0.1, ("subject",)) | stays
    document = explanation(("a", "r", "paris"), [first], stability=None, estimate=False)
    assert said_of(document) == (
        "Without the fact a r x0, the model would still say paris, with 30.0% instead of 40.0% "
        "(retrained)."
    )
    assert first_fact_text(made(document)) == (
        "Without the fact a r x0, the probability falls from 40.0% to 30.0%."
    )
    estimate = made(document | {"estimate": True})
    assert "from 50.0% to 30.0%" in first_fact_text(estimate)
