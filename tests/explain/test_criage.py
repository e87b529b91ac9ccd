"""CRIAGE against a direct computation, and what it refuses."""

import numpy as np
import pytest
from models.formulas import FORMULAS

import whereof
from explain.gradients import make_run, scored_of
from whereof.errors import WhereofError
from whereof.explain.method import Aim
from whereof.explain.methods.criage import DAMPING
from whereof.models import MODELS

DOTS = [name for name, model in MODELS.items() if model.match == "dot"]


def falls_by_hand(run: whereof.Run, given: int, relation: int, target: int) -> dict[int, float]:
    """The loss of the answer's score without each of its facts, by fact id."""
    data, formula = run.dataset, FORMULAS[run.config.model]
    inverse = run.config.inverse
    e, misses, queries = run.entity_rows[target], {}, {}
    for fact_id, (s, r, o) in enumerate(data.train):
        answer, other, row = (s, o, r + data.inverse_offset) if inverse else (o, s, r)
        if answer == target:
            score, slopes = formula(run.entity_rows[other], run.relation_rows[row], e)
            queries[fact_id] = slopes[2]  # a dot product's slope by the row is the query
            misses[fact_id] = 1 / (1 + np.exp(score))
    H = sum(misses[i] * (1 - misses[i]) * np.outer(z, z) for i, z in queries.items())
    H = H + DAMPING * np.trace(H) / len(e) * np.eye(len(e))
    z = formula(run.entity_rows[given], run.relation_rows[relation], e)[1][2]
    return {i: float(misses[i] * z @ np.linalg.inv(H) @ queries[i]) for i in queries}


@pytest.mark.parametrize("asks", ["object", "subject"])
@pytest.mark.parametrize("model", DOTS)
def test_influence_is_what_the_formula_says(model: str, asks: str) -> None:
    inverse = asks == "subject"
    run = make_run(model, loss="sigmoid", inverse=inverse)
    names = ("e0", "e3") if MODELS[model].two_way else ("e0", "r0", "e3")
    found = run.explain(*names, method="criage", asks=asks, of="probability", top=None)
    scored = scored_of(run, *names, asks=asks)
    slope = Aim("probability").slopes(scored)[scored.place]
    given, target = scored.prediction.given, scored.target
    wanted = falls_by_hand(run, given, scored.relation_row, target)
    assert {fact.fact_id for fact in found.facts} == set(wanted)
    assert len(wanted) > 1
    for fact in found.facts:
        assert fact.influence == pytest.approx(slope * wanted[fact.fact_id], rel=1e-9)


def test_the_fact_itself_supports_its_score() -> None:
    found = make_run("distmult", loss="sigmoid").explain(
        "e0", "r0", "e3", method="criage", of="score", top=None
    )
    assert not found.notes
    assert next(fact.influence for fact in found.facts if fact.fact_id == 0) > 0


def test_another_loss_is_noted() -> None:
    found = make_run("distmult").explain("e0", "r0", "e3", method="criage")
    assert "is made for the sigmoid loss" in found.notes[0]


@pytest.mark.parametrize("model", sorted(set(MODELS) - set(DOTS)))
def test_distances_are_refused(model: str) -> None:
    with pytest.raises(WhereofError, match=f"{model} is a distance model"):
        make_run(model).explain("e0", "r0", "e3", method="criage")
