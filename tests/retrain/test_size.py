"""The size of estimates, measured once per run by retraining."""

from pathlib import Path

import numpy as np
import pytest
import trained
from hypothesis import given
from hypothesis import strategies as st

import whereof
from whereof.events import Events
from whereof.retrain.size import correct_falls, draw_sample, measure_curve


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return trained.train(tmp_path_factory.mktemp("size") / "run", epochs=2)


def true_falls(run: whereof.Run) -> np.ndarray:
    """(n_predictions, n_facts) falls of the log-odds without the first 40 facts."""
    sample = draw_sample(run._trained)
    names, entities = [], run.dataset.entities
    for each in sample:
        s, r, o = each.prediction.subject, each.prediction.relation, each.prediction.object
        names.append((entities.names[s], run.dataset.relations.names[r], entities.names[o]))
    found = run.retrain([[fact] for fact in range(40)], names)
    odds = np.array([[np.log(p / (1 - p)) for p in probabilities(each)] for each in found])
    falls = np.zeros((len(sample), run.dataset.n_facts))
    falls[:, :40] = (odds[0] - odds[1:]).T
    return falls


def probabilities(retrained: whereof.Retrained) -> list[float]:
    return [standing.probability for standing in retrained.standings]


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.2])
def test_strong_estimates_that_are_too_large_or_small(run: whereof.Run, factor: float) -> None:
    sample, falls = draw_sample(run._trained), true_falls(run)
    ratio, at = curve = measure_curve(run._trained, sample, factor * falls, Events())
    assert ratio == pytest.approx(1 / factor, rel=1e-6)
    assert correct_falls(at, curve) == pytest.approx(ratio * at)
    strong = falls >= 0.5 * falls.max(axis=1, keepdims=True)
    assert factor * falls[strong].min() <= at <= factor * falls[strong].max()


def test_a_ratio_without_the_right_sign_is_not_used(run: whereof.Run) -> None:
    sample = draw_sample(run._trained)
    assert measure_curve(run._trained, sample, -true_falls(run), Events())[0] == 1


@given(st.floats(0.75, 10), st.floats(1e-3, 10), st.lists(st.floats(-20, 20), min_size=2))
def test_corrected_falls_keep_their_order_and_small_ones_their_size(
    ratio: float, at: float, falls: list[float]
) -> None:
    given_falls = np.sort(falls)
    corrected = correct_falls(given_falls, np.array([ratio, at]))
    assert (np.diff(corrected) >= -1e-9 * np.abs(given_falls).max()).all()
    assert np.array_equal(corrected[given_falls <= 0], given_falls[given_falls <= 0])
    small = 1e-6 * at
    assert correct_falls(small, np.array([ratio, at])) == pytest.approx(small, rel=1e-4)


def test_the_sample_is_of_held_out_facts_if_there_are_any(run: whereof.Run, tmp_path: Path) -> None:
    test = {tuple(fact) for fact in run.dataset.test.tolist()}
    drawn = [each.prediction for each in draw_sample(run._trained)]
    assert len(drawn) == 8
    assert {(it.subject, it.relation, it.object) for it in drawn} <= test
    (tmp_path / "train.txt").write_text("a\tr\tb\nb\tr\tc\nc\tr\ta\n")
    small = whereof.train(tmp_path / "train.txt", out=tmp_path / "run", dim=2, epochs=1)
    assert len(draw_sample(small._trained)) == 3


def test_the_curve_is_measured_once(run: whereof.Run) -> None:
    run.explain("uk", "embassy", "usa", method="unrolled")
    (stored,) = (run.path / "prepared").glob("unrolled-curve-*.npz")
    written = stored.stat().st_mtime_ns
    run.explain("uk", "embassy", "china", method="unrolled")
    assert stored.stat().st_mtime_ns == written
