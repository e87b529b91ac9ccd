"""In data of users and items, the user's own facts come first."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whereof
from explain.helpers import random_run
from whereof.explain.explanation import Explanation


def train_films(folder: Path, **settings: Any) -> whereof.Run:
    """Twelve users and nine items."""
    rng = np.random.default_rng(0)
    pairs = rng.permutation(12 * 9)[:60]
    films = {"user": [f"u{n}" for n in pairs // 9], "item": [f"m{n}" for n in pairs % 9]}
    films["rating"] = rng.integers(1, 6, 60).tolist()
    given = {"dim": 3, "epochs": 3, "rate": 0.05, "model": "mf", "precision": "float64", **settings}
    return whereof.train(films, out=folder / "run", **given)


@pytest.fixture(scope="module", params=["softmax", "squared"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train_films(tmp_path_factory.mktemp("films"), loss=request.param)


def split(found: Explanation) -> tuple[list[Any], list[Any]]:
    """The facts of the user, and the others."""
    assert found.n_history is not None
    own, others = found.facts[: found.n_history], found.facts[found.n_history :]
    assert all(fact.subject == found.prediction.subject for fact in own)
    assert all(fact.subject != found.prediction.subject for fact in others)
    assert [fact.rank for fact in found.facts] == [*range(1, len(found.facts) + 1)]
    return [*own], [*others]


@pytest.mark.parametrize("method", ["rollback", "gradient-dot", "unrolled", "retrain", "verified"])
@pytest.mark.parametrize("opposing", [False, True])
def test_the_strongest_of_the_user_then_the_strongest_others(
    run: whereof.Run, method: str, opposing: bool
) -> None:
    settings: dict[str, Any] = {"method": method, "opposing": opposing}
    own, others = split(run.explain("u1", "_", top=2, **settings))
    all_own, all_others = split(run.explain("u1", "_", top="all", **settings))
    assert (own, [f.fact_id for f in others]) == (all_own[:2], [f.fact_id for f in all_others[:2]])
    for facts in (all_own, all_others):
        sizes = [abs(fact.influence) for fact in facts]
        assert sizes == sorted(sizes, reverse=True)
    assert others


@pytest.mark.parametrize("method", ["rollback", "gradient-dot", "retrain", "verified"])
def test_both_signs_of_the_user_then_both_of_the_others(run: whereof.Run, method: str) -> None:
    settings: dict[str, Any] = {"method": method, "top": 2}
    both = split(run.explain("u1", "_", opposing="both", **settings))
    support, oppose = (
        split(run.explain("u1", "_", opposing=it, **settings)) for it in (False, True)
    )
    for listed, first, last in zip(both, support, oppose, strict=True):
        assert [f.fact_id for f in listed] == [f.fact_id for f in (*first, *last)]


def test_shares_are_of_the_influence_of_all_facts(run: whereof.Run) -> None:
    found = run.explain("u1", "_", method="rollback", top="all")
    assert sum(fact.share or 0.0 for fact in found.facts) == pytest.approx(1)


def test_many_and_json_are_in_the_same_order(run: whereof.Run) -> None:
    one = run.explain("u1", "m3", method="rollback", top=3)
    (many,) = run.explain_many([("u1", "m3")], method="rollback", top=3)
    assert isinstance(many, Explanation)
    assert (many.facts, many.n_history) == (one.facts, one.n_history)
    assert json.loads(json.dumps(one.to_dict()))["n_history"] == one.n_history


def test_a_role_leaves_one_of_the_two_groups(run: whereof.Run) -> None:
    own = run.explain("u1", "m3", method="rollback", role="subject")
    assert own.n_history == len(own.facts) > 0
    assert run.explain("u1", "m3", method="rollback", role="object", top=None).n_history in (0, 1)


def test_stability_is_without_the_users_own_facts(run: whereof.Run) -> None:
    found = run.explain("u1", "_", method="rollback", stability=True)
    own, _ = split(found)
    assert found.stability
    for joint in found.stability:
        assert joint.fact_ids == tuple(fact.fact_id for fact in own[: len(joint.fact_ids)])


def test_verify_removes_the_strongest_facts_of_all(run: whereof.Run) -> None:
    found = run.explain("u1", "_", method="rollback", top="all").facts
    strongest = sorted(found, key=lambda fact: -fact.influence)[:4]
    verdict = run.verify("u1", "_", method="rollback", top=4)
    assert verdict.removed == tuple(fact.fact_id for fact in strongest)


def test_named_facts_and_other_data_have_no_history(run: whereof.Run) -> None:
    assert run.explain("u1", "m3", method="rollback", without=[0, 1]).n_history is None
    assert random_run("mf").explain("e0", "e1", method="rollback").n_history is None
    assert random_run("distmult").explain("e0", "r0", "e1", method="rollback").n_history is None
