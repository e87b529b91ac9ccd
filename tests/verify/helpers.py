"""Retraining by hand: the recipe alone, and its rows asked as any run is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import whence
from whence.api._cases import _recipe
from whence.api._run import make_scorer
from whence.predict import find_query, predict
from whence.training.results import Parameters

EGYPT = ("egypt", "embassy", "usa")


def rows_without(run: whence.Run, fact_ids: Sequence[int]) -> Parameters:
    return _recipe(run).retrain(np.array(sorted(fact_ids), np.int64))


def stands(
    run: whence.Run, rows: Parameters, names: Sequence[str], asks: str = "object"
) -> dict[str, Any]:
    """How a prediction stands under rows, by the way that predictions are made."""
    query = list(names)
    target = query[0] if asks == "subject" else query[-1]
    query[0 if asks == "subject" else -1] = "_"
    scorer = make_scorer(run.model, rows, run.dataset, run.config)
    found = find_query(run.dataset, query, inverse=run.config.inverse)
    answers = predict(scorer, run.dataset, found, None).answers
    mine = next(answer for answer in answers if answer.entity == target)
    open_to = [a for a in answers if a.known not in ("train", "valid") or a is mine]
    rated = run.config.loss == "squared"
    return {
        "probability": None if rated else mine.probability,
        "score": mine.score,
        "rank": mine.rank,
        "top_answer": max(open_to, key=lambda answer: answer.score).entity,
    }


def check_stand(found: Any, wanted: dict[str, Any]) -> None:
    """Of a prediction in the terms of `stands`."""
    assert (found.rank, found.top_answer) == (wanted["rank"], wanted["top_answer"])
    assert found.score == pytest.approx(wanted["score"], rel=1e-5)
    if wanted["probability"] is None:
        assert found.probability is None
    else:
        assert found.probability == pytest.approx(wanted["probability"], rel=1e-5)
