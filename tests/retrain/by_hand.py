"""Retraining without engines: train with the recipe and score its rows like a run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import whereof
from whereof.api.run import make_scorer
from whereof.predict.answers import predict
from whereof.predict.prediction import find_prediction
from whereof.training.results import Parameters

EGYPT = ("egypt", "embassy", "usa")
STAND = ("probability", "score", "rank", "top_answer")


def rows_without(run: whereof.Run, fact_ids: Sequence[int]) -> Parameters:
    return run._recipe.retrain(np.array(sorted(fact_ids), np.int64))


def stands_without(
    run: whereof.Run, fact_ids: Sequence[int], names: Sequence[str], asks: str = "object"
) -> dict[str, Any]:
    """Standing of a prediction after training without facts."""
    return stands(run, rows_without(run, fact_ids), names, asks)


def stands(
    run: whereof.Run,
    rows: Parameters,
    names: Sequence[str],
    asks: str = "object",
) -> dict[str, Any]:
    """Standing of a prediction under rows, computed with `predict`."""
    asked = 0 if asks == "subject" else -1
    query = list(names)
    query[asked] = "_"
    scorer = make_scorer(rows, run.dataset, run.config)
    found = find_prediction(run._trained, query)
    trained = replace(run._trained, scorer=scorer)
    scored = {a.entity: a for a in predict(trained, found, None).answers}
    mine = scored[names[asked]]
    known = _known(run, names, asked) - {mine.entity}
    others = [answer for name, answer in scored.items() if name not in known]
    return {
        "probability": None if run.config.loss == "squared" else mine.probability,
        "score": mine.score,
        "rank": 1 + sum(answer.score > mine.score for answer in others),
        "top_answer": max(others, key=lambda answer: answer.score).entity,
    }


def _known(run: whereof.Run, names: Sequence[str], asked: int) -> set[str | None]:
    """Answers of all training facts, and of validation."""
    data = run.dataset
    facts = (list(data.fact_names(fact)) for fact in [*data.train, *data.valid])
    rest = slice(1, None) if asked == 0 else slice(None, -1)
    return {fact[asked] for fact in facts if fact[rest] == list(names)[rest]}


def check_stand(found: Any, wanted: dict[str, Any]) -> None:
    """Check a standing against the result of `stands`."""
    assert (found.rank, found.top_answer) == (wanted["rank"], wanted["top_answer"])
    assert found.score == pytest.approx(wanted["score"], rel=1e-5)
    if wanted["probability"] is None:
        assert found.probability is None
    else:
        assert found.probability == pytest.approx(wanted["probability"], rel=1e-5)
