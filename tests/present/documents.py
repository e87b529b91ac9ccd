"""Made-up explanations, in the form of `Explanation.to_dict()`."""

from typing import Any

import msgspec

from whereof.explain.explanation import Explanation

BELIEVABLE = {
    "method": "rollback",
    "n_checks": 9,
    "size_ratio": 1.0,
    "n_right_size": 9,
    "n_announced": 9,
    "n_true": 9,
}
"""A method whose announced changes of the top answer come true."""
HOSTILE = "<b>&\"'</script>\x00"


def fact(
    fact_id: int,
    names: tuple[str, str | None, str],
    influence: float,
    parts: tuple[str, ...],
    **changes: Any,
) -> dict[str, Any]:
    """One explained fact whose labels are its names."""
    places = dict(zip(("subject", "relation", "object"), names, strict=True))
    return {
        "fact_id": fact_id,
        **places,
        "role": parts[0] if len(parts) == 1 else "several" if parts else "none",
        "influence": influence,
        "probability_without": 0.25,
        "top_answer_changes": influence > 0.3,
        "rank": fact_id + 1,
        "share": 0.5,
        "parts": parts,
        "labels": places | {"top_answer_without": "rome"},
        "top_answer_without": "rome",
        "score_without": 0.75,
        "source": None,
    } | changes


def made(document: dict[str, Any]) -> Explanation:
    """The explanation of a document."""
    return msgspec.convert(document, Explanation)


def estimated(document: dict[str, Any], method: str) -> dict[str, Any]:
    """The same by a method that does not score the prediction without a fact."""
    unknown = {"score_without": None, "probability_without": None}
    facts = [fact | unknown for fact in document["facts"]]
    return document | {"method": method, "facts": facts}


def explanation(
    names: tuple[str, str | None, str], facts: list[dict[str, Any]], **changes: Any
) -> dict[str, Any]:
    """An explanation of probability 0.5 at rank 2; `prediction` changes what is predicted."""
    places = dict(zip(("subject", "relation", "object"), names, strict=True))
    prediction = {
        **places,
        "probability": 0.5,
        "rank": 2,
        "score": 1.25,
        "top_answer": "paris",
        "asks": "object",
        "labels": places | {"top_answer": "paris"},
        "n_candidates": 1234,
        "n_new": 1200,
    } | changes.pop("prediction", {})
    return {
        "prediction": prediction,
        "method": "rollback",
        "of": "probability",
        "n_adjacent": 77,
        "seconds": 0.01,
        "facts": facts,
        "contrast": None,
        "without": None,
        "stability": None,
        "graph": None,
        "notes": [],
        "reliability": {"claims": [BELIEVABLE]},
    } | changes


def small() -> dict[str, Any]:
    """All ways in which a fact can be connected to a prediction, without a graph."""
    facts = [
        fact(0, ("ann", "likes", "bob"), 0.4, ("subject", "relation", "object")),
        fact(1, ("bob", "knows", "ann"), -0.2, ("subject", "object")),
        fact(2, ("ann", "knows", "cy"), 0.1, ("subject",)),
        fact(3, ("cy", "likes", "bob"), 0.05, ("relation", "object")),
        fact(4, ("di", "likes", "ed"), -0.02, ("relation",)),
        fact(5, ("ann", "knows", "ann"), 0.01, ("subject",)),
        fact(6, ("bob", "knows", "bob"), 0.0, ("object",)),
        fact(7, ("fay", "hates", "gus"), 0.002, ()),
    ]
    return explanation(("ann", "likes", "bob"), facts)


def joint(*fact_ids: int, **changes: Any) -> dict[str, Any]:
    """Facts rolled back together."""
    return {
        "fact_ids": fact_ids,
        "influence": 0.45,
        "sum_of_single": 0.55,
        "probability": 0.05,
        "score": -1.5,
        "rank": 31,
        "top_answer": "oslo",
        "top_answer_changes": True,
        "labels": {"top_answer": "oslo"},
    } | changes


def ratings() -> dict[str, Any]:
    """Two-way data of ratings, in which user and item 4 are not the same."""
    facts = [
        fact(0, ("4", None, "9"), 0.5, ("subject",), probability_without=None),
        fact(1, ("9", None, "4"), -0.25, ("object",), probability_without=None),
    ]
    stands = {"probability": None, "score": 4.125}
    return explanation(("4", None, "4"), facts, of="score", prediction=stands)
