"""A fact of weight 2 is a fact that is there twice, in every method that computes gradients."""

from dataclasses import replace

import numpy as np
import pytest

import whereof
from explain.gradients import FACTS, make_run, scored_of
from whereof.explain.losses import Losses
from whereof.explain.method import Aim, Context, get_method
from whereof.types import Numbers

WEIGHTS = np.array([2.0, 1, 3, 1, 0, 1, 1, 1])
TIMES = np.repeat(np.arange(len(FACTS)), WEIGHTS.astype(int))


def weighted() -> whereof.Run:
    run = make_run("distmult", loss="sigmoid")
    run.dataset = replace(run.dataset, weights=WEIGHTS)
    return run


def repeated() -> whereof.Run:
    run = make_run("distmult", loss="sigmoid")
    train = run.dataset.train[TIMES]
    run.dataset = replace(run.dataset, train=train)
    return run


def influences(run: whereof.Run, method: str) -> Numbers:
    scored = scored_of(run, "e0", "r0", "e3")
    context = Context(Aim("probability"))
    return get_method(method).estimate(scored, np.arange(run.dataset.n_facts), context)


@pytest.mark.parametrize("method", ["gradient-dot", "influence-function", "criage"])
def test_the_influence_of_a_weighted_fact_is_that_of_all_its_copies(method: str) -> None:
    copies = np.bincount(TIMES, influences(repeated(), method), minlength=len(FACTS))
    found = influences(weighted(), method)
    np.testing.assert_allclose(found, copies, rtol=1e-6, atol=1e-9)
    assert np.count_nonzero(found) >= 3


def test_a_weight_changes_no_angle_and_weight_zero_has_none() -> None:
    plain, found = (influences(run, "gradient-cos") for run in (repeated(), weighted()))
    np.testing.assert_allclose(found[TIMES], plain)
    assert found[4] == 0


def test_curvature_is_that_of_all_copies() -> None:
    one, many = weighted(), repeated()
    direction = np.random.default_rng(0).normal(size=one.entity_rows.size + one.relation_rows.size)
    curves = [
        Losses(run._trained).curve(np.arange(run.dataset.n_facts), direction) for run in (one, many)
    ]
    np.testing.assert_allclose(*curves)
