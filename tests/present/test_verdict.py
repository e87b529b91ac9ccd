"""A verdict as one reads it."""

from typing import Any

import pytest

from whereof.explain.explanation import NamedPrediction
from whereof.predict.standing import Standing
from whereof.retrain import Verdict
from whereof.retrain.verdict import OfSeed, Summary


def stand(probability: float | None, top: str, score: float = 1.0) -> Standing:
    return Standing(probability, score, 1, top, {"top_answer": top.upper()})


def verdict(
    before: Standing, predicted: Standing | None, actual: Standing, **changes: Any
) -> Verdict:
    names = {"subject": "a", "relation": "r", "object": "b"}
    prediction = NamedPrediction(
        **names,
        probability=before.probability,
        rank=1,
        score=1.0,
        top_answer="b",
        asks="object",
        labels={**names, "top_answer": "b"},
        n_candidates=9,
    )
    seeds = changes.pop("seeds", ())
    return Verdict(
        prediction=prediction,
        removed=changes.pop("removed", (1, 2)),
        before=before,
        predicted=predicted,
        actual=actual,
        control_matches_run=True,
        facts=(),
        each=(),
        seeds=seeds,
        summary=Summary.of(seeds) if seeds else None,
        n_retrainings=2,
        n_known=0,
        method="rollback",
        engine="local",
        seconds=0.1,
    )


@pytest.mark.parametrize(
    ("before", "predicted", "actual", "words"),
    [
        (
            stand(0.312, "usa"),
            stand(0.029, "uk"),
            stand(0.04, "uk"),
            "Without these 2 facts the probability really falls from 31.2% to 4.0%; "
            "rollback predicted 2.9%. The top answer changes from USA to UK, as predicted.",
        ),
        (
            stand(0.312, "usa"),
            stand(0.3, "usa"),
            stand(0.5, "uk"),
            "Without these 2 facts the probability really rises from 31.2% to 50.0%; "
            "rollback predicted 30.0%. The top answer changes from USA to UK; "
            "rollback predicted USA.",
        ),
        (
            stand(0.25, "usa"),
            None,
            stand(0.25, "usa"),
            "Without these 2 facts the probability stays at 25.0%. The top answer stays USA.",
        ),
        (
            stand(0.25, "usa"),
            None,
            stand(0.2500001, "usa"),
            "Without these 2 facts the probability hardly rises, at 25.0%. "
            "The top answer stays USA.",
        ),
        (
            stand(None, "usa", 3.5),
            stand(None, "uk", 3.25),
            stand(None, "usa", 3.0),
            "Without these 2 facts the rating really falls from 3.500 to 3.000; "
            "rollback predicted 3.250. The top answer stays USA; rollback predicted UK.",
        ),
    ],
)
def test_a_verdict_in_words(
    before: Standing, predicted: Standing | None, actual: Standing, words: str
) -> None:
    assert str(verdict(before, predicted, actual)) == words


def test_one_fact_is_not_several_and_seeds_are_summed_up() -> None:
    before, actual = stand(0.5, "usa"), stand(0.25, "uk")
    seeds = (
        OfSeed(1, before, actual, True),
        OfSeed(2, stand(0.25, "usa"), stand(0.5, "usa"), True),
        OfSeed(3, stand(0.75, "usa"), stand(0.3, "usa"), True),
    )
    words = str(verdict(before, None, actual, removed=(1,), seeds=seeds))
    assert words.startswith("Without this fact the probability really falls from 50.0% to 25.0%.")
    assert words.endswith(
        "In 2 of 3 seeds it falls, on average from 50.0% to 35.0%; the top answer changes in 1."
    )
