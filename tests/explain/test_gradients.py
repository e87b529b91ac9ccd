"""Influence by gradients, compared with finite differences in all parameters."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trained import train

import whereof
from explain.gradients import Oracle, make_rated_run, make_run, scored_of
from whereof.errors import WhereofError
from whereof.explain.losses import Losses
from whereof.explain.method import Aim, Context, get_method
from whereof.models import MODELS

CASES = [
    pytest.param(model, loss, inverse, id=f"{model}-{loss}{'-inverse' * inverse}")
    for model in MODELS
    for loss, inverse in (("softmax", False), ("softmax", True), ("sigmoid", True))
]


def check(run: whereof.Run, names: tuple[str, ...], of: str, **options: Any) -> None:
    """Both similarities of all facts against the oracle's gradients."""
    oracle, aim = Oracle(run), Aim(of)
    scored = scored_of(run, *names, **options)
    wanted = oracle.gradient(lambda x: oracle.value(x, scored, of))
    losses = np.array(
        [
            oracle.gradient(lambda x, fact=fact: oracle.loss(x, fact))
            for fact in range(run.dataset.n_facts)
        ]
    )
    fact_ids = np.arange(len(losses))
    products = -losses @ wanted
    lengths = np.linalg.norm(losses, axis=1) * np.linalg.norm(wanted)
    dots = get_method("gradient-dot").estimate(scored, fact_ids, Context(aim))
    np.testing.assert_allclose(dots, products, rtol=1e-6, atol=1e-8)
    cosines = get_method("gradient-cos").estimate(scored, fact_ids, Context(aim))
    np.testing.assert_allclose(cosines, products / lengths, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("model", "loss", "inverse"), CASES)
def test_products_and_cosines_are_those_of_the_gradients(
    model: str, loss: str, inverse: bool
) -> None:
    run = make_run(model, loss=loss, inverse=inverse)
    names = ("e0", "e3") if MODELS[model].two_way else ("e0", "r0", "e3")
    check(run, names, "probability", asks="subject" if inverse else "object")


@pytest.mark.parametrize("of", ["score", "loss"])
def test_a_self_loop_among_some_candidates(of: str) -> None:
    check(make_run("complex"), ("e0", "r0", "e0"), of, candidates="e0,e2,e5")


def test_ratings_are_explained_in_their_own_units(tmp_path: Path) -> None:
    run = make_rated_run(tmp_path)
    assert run.scorer.scale != 1
    assert run.dataset.objects.start > 0
    check(run, ("u0", "i1"), "score")


def test_ratings_that_are_not_there_are_asked_for() -> None:
    with pytest.raises(WhereofError, match="the run has no ratings"):
        Losses(make_run("mf", loss="squared")._trained)


def test_cosine_is_zero_where_a_gradient_vanishes() -> None:
    """A query of nothing has no slopes, whatever those of the facts are."""
    run = make_run("distmult")
    run.entity_rows[0] = run.relation_rows[0] = 0
    scored, fact_ids = scored_of(run, "e0", "r0", "e3"), np.arange(run.dataset.n_facts)
    assert Losses(run._trained).norms(fact_ids).max() > 0
    aim = Aim("probability")
    found = get_method("gradient-cos").estimate(scored, fact_ids, Context(aim))
    np.testing.assert_array_equal(found, 0)


def test_cosines_stay_within_one() -> None:
    """Facts that are explained themselves, of which rounding takes some quotients past 1."""
    for seed in range(20):
        rows = np.random.default_rng(seed).normal(size=(8, 4))
        run = whereof.Run.from_arrays(
            model="distmult",
            entities=list("abcdefg"),
            relations=["r"],
            facts=[(0, 0, 1)],
            entity_rows=rows[:7],
            relation_rows=rows[7:],
        )
        (fact,) = run.explain("a", "r", "b", method="gradient-cos", top=None).facts
        assert fact.influence == pytest.approx(1)
        assert fact.influence <= 1


def test_the_gradient_of_a_small_probability_keeps_its_digits() -> None:
    """In single precision a product of such slopes would be nothing."""
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=shape) for shape in ((5, 3), (1, 3))]
    query = rows[0][0] * rows[1][0]
    rows[0][2] = -140 * query / (query @ query)
    found = []
    for dtype in (np.float32, np.float64):
        run = whereof.Run.from_arrays(
            model="distmult",
            entities=list("abcde"),
            relations=["r"],
            facts=[(0, 0, 1), (1, 0, 2), (3, 0, 4)],
            entity_rows=rows[0].astype(dtype),
            relation_rows=rows[1].astype(dtype),
        )
        scored = scored_of(run, "a", "r", "c")
        assert 0 < scored.probability < 1e-60
        dot, aim = get_method("gradient-dot"), Aim("probability")
        found.append(dot.estimate(scored, np.arange(3), Context(aim)))
    assert np.abs(found[1]).min() > 0
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_facts_are_the_same_alone_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run("transe", inverse=True)
    scored = scored_of(run, "e0", "r0", "e3")
    aim, fact_ids = Aim("probability"), np.arange(run.dataset.n_facts)

    def both() -> list[Any]:
        names = ("gradient-dot", "gradient-cos")
        return [get_method(name).estimate(scored, fact_ids, Context(aim)) for name in names]

    together = both()
    monkeypatch.setattr("whereof.explain.losses._CELLS", 3 * run.dataset.n_entities)
    np.testing.assert_allclose(both(), together, rtol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"of": "score"}, {"instead_of": "uk"}, {"asks": "subject"}]
)
def test_tracin_adds_up_what_its_checkpoints_say(tmp_path: Path, options: dict[str, Any]) -> None:
    run = train(
        tmp_path / "run",
        keep_checkpoints=3,
        schedule="exponential",
        decay=0.5,
        decay_steps=2000,
        inverse=True,
        precision="float64",
    )
    names = ("egypt", "embassy", "usa")
    found = run.explain(*names, method="tracin", top=None, **options)
    checkpoints = run._trained.read_checkpoints()
    assert [checkpoint.facts for checkpoint in checkpoints] != []
    total: dict[int, float] = {}
    for checkpoint in checkpoints:
        rows = checkpoint.parameters
        then = whereof.Run.from_arrays(
            model="distmult",
            entities=run.dataset.entities.names,
            relations=run.dataset.relations.names,
            facts=run.dataset.train,
            entity_rows=rows.entity_rows,
            relation_rows=rows.relation_rows,
        )
        rate = 0.003 * 0.5 ** (checkpoint.updates / 2000)
        for fact in then.explain(*names, method="gradient-dot", top=None, **options).facts:
            total[fact.fact_id] = total.get(fact.fact_id, 0.0) + rate * fact.influence
    assert {fact.fact_id for fact in found.facts} == set(total)
    for fact in found.facts:
        assert fact.influence == pytest.approx(total[fact.fact_id], rel=1e-9, abs=1e-12)


def test_tracin_without_checkpoints_says_how_to_get_some(tmp_path: Path) -> None:
    with pytest.raises(WhereofError, match="train it with --keep-checkpoints N"):
        train(tmp_path / "run").explain("egypt", "embassy", "usa", method="tracin")
    with pytest.raises(WhereofError, match="runs of other software have none; train a run with"):
        make_run("distmult").explain("e0", "r0", "e3", method="tracin")
