"""A scoring function of one's own: everything is as with the kernels of the same formula."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import whereof
from explain.helpers import random_run
from whereof import registry
from whereof.models import own_model, register
from whereof.types import Numbers


@pytest.fixture(autouse=True)
def _forget_the_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_ADDED", {})
    yield
    registry.names.cache_clear()
    registry.load.cache_clear()


def distmult(given: Numbers, relations: Numbers, candidates: Numbers) -> Numbers:
    queries = given * relations if relations.shape[1] else given
    if candidates.ndim == 2:
        return queries @ candidates.T
    return np.einsum("nd,nmd->nm", queries, candidates)


def twins(loss: str = "softmax", model: str = "distmult") -> tuple[whereof.Run, whereof.Run]:
    """A random run, and the same with a scoring function in Python."""
    native = random_run(model, dim=3)
    data, width = native.dataset, native.relation_rows.shape[1]
    register(own_model("distmult", 3, width, distmult))
    arrays: dict[str, Any] = {
        "entities": data.entities.names,
        "relations": data.relations.names or None,
        "facts": data.train if not data.two_way else data.train[:, [0, 2]],
        "test": data.train[:5] if not data.two_way else data.train[:5, [0, 2]],
        "entity_rows": native.entity_rows,
        "relation_rows": native.relation_rows,
        "trace": native.trace,
        "loss": loss,
    }
    made = (whereof.Run.from_arrays(model=each, **arrays) for each in (model, "own-distmult"))
    return next(made), next(made)


@pytest.mark.parametrize("model", ["distmult", "mf"])
@pytest.mark.parametrize("of", ["probability", "score", "loss"])
@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
def test_explanations_are_those_of_the_kernels(model: str, of: str, loss: str) -> None:
    native, own = twins(loss, model)
    names = native.dataset.fact_names(native.dataset.train[0])
    wanted, found = (run.explain(*names, of=of, top=None) for run in (native, own))
    assert [it.fact_id for it in found.facts] == [it.fact_id for it in wanted.facts]
    for mine, other in zip(found.facts, wanted.facts, strict=True):
        assert mine.influence == pytest.approx(other.influence, abs=1e-12)
        assert mine.probability_without == pytest.approx(other.probability_without, abs=1e-12)
        assert mine.top_answer_without == other.top_answer_without


def test_contrasts_sets_answers_and_metrics_too() -> None:
    native, own = twins()
    subject, relation, answer = native.dataset.fact_names(native.dataset.train[0])
    other = next(name for name in native.dataset.entities.names if name != answer)
    for options in ({"instead_of": other}, {"without": [0, 1, 2]}, {"stability": True}):
        wanted, found = (
            run.explain(subject, relation, answer, **options).to_dict() for run in (native, own)
        )
        for key in ("facts", "contrast", "without", "stability"):
            numbers = [_numbers(each[key]) for each in (wanted, found)]
            assert numbers[1] == pytest.approx(numbers[0], abs=1e-12)
    wanted, found = (run.predict(subject, relation, top=None).answers for run in (native, own))
    assert [it.entity for it in found] == [it.entity for it in wanted]
    assert own.metrics["test"] == native.metrics["test"]
    wanted, found = (run.impact(0, predictions="true", split="test") for run in (native, own))
    assert _numbers(found.to_dict()["predictions"]) == pytest.approx(
        _numbers(wanted.to_dict()["predictions"]), abs=1e-12
    )


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [number for each in value for number in _numbers(each)]
    return [float(value)] if isinstance(value, int | float) else []


@pytest.mark.parametrize("method", ["gradient-dot", "criage", "influence-function", "unrolled"])
def test_methods_that_need_the_formula_say_so(method: str) -> None:
    _, own = twins()
    with pytest.raises(whereof.WhereofError, match="needs the formula of the score"):
        own.explain(*own.dataset.fact_names(own.dataset.train[0]), method=method)
