"""The size of estimates, measured once per run by retraining."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import trained
from hypothesis import given
from hypothesis import strategies as st

import whereof
from whereof.events import Events
from whereof.retrain.size import correct_falls, draw_sample, measure_sizes, probability_of
from whereof.run.reliability import Claims, Reliability


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
    curve, checks = measure_sizes(run._trained, sample, factor * falls, Events())
    ratio, at = curve
    assert ratio == pytest.approx(1 / factor, rel=1e-6)
    assert correct_falls(at, curve) == pytest.approx(ratio * at)
    strong = falls >= 0.5 * falls.max(axis=1, keepdims=True)
    assert factor * falls[strong].min() <= at <= factor * falls[strong].max()
    before, _, after = np.log(checks / (1 - checks)).T
    assert len(checks) == 2 * len(sample)
    assert (before - after)[::2] == pytest.approx(falls.max(axis=1))


def test_a_ratio_without_the_right_sign_is_not_used(run: whereof.Run) -> None:
    sample = draw_sample(run._trained)
    found = measure_sizes(run._trained, sample, -true_falls(run), Events())
    assert found.curve[0] == 1
    before, said, after = found.checks.T
    assert (said < before).all()
    assert (after > before).all()


def test_a_check_does_not_use_its_own_prediction(run: whereof.Run) -> None:
    """The first estimate is half of the truth, and the others, which correct it, are right."""
    sample, falls = draw_sample(run._trained), true_falls(run)
    falls[0] /= 2
    before, said, _ = measure_sizes(run._trained, sample, falls, Events()).checks[0]
    odds = np.log(before / (1 - before))
    assert said == pytest.approx(float(probability_of(odds - falls[0].max())), rel=1e-3)


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
    (stored,) = (run.path / "prepared").glob("unrolled-sizes-*.npz")
    written = stored.stat().st_mtime_ns
    run.explain("uk", "embassy", "china", method="unrolled")
    assert stored.stat().st_mtime_ns == written


def test_the_first_sweep_says_how_right_its_sizes_are(run: whereof.Run, tmp_path: Path) -> None:
    copy = whereof.Run.open(shutil.copytree(run.path, tmp_path / "run"))
    copy.file("reliability.json").unlink(missing_ok=True)
    shutil.rmtree(copy.file("prepared"), ignore_errors=True)
    found = copy.explain("uk", "embassy", "usa", method="unrolled")
    assert found.reliability is not None
    (claims,) = found.reliability.claims
    (stored,) = (copy.path / "prepared").glob("unrolled-sizes-*.npz")
    before, said, after = np.load(stored)["checks"].T
    assert claims == Claims.compare("unrolled", before, said, after)
    assert claims.n_checks == len(before) >= 5
    assert copy.reliability == whereof.Run.open(copy.path).reliability == found.reliability
    (unrolled,) = (each for each in found.costs if each.method == "unrolled")
    assert unrolled.trust == ("close" if claims.is_close else "rough")


def test_an_evaluation_knows_more_than_the_first_sweep(run: whereof.Run, tmp_path: Path) -> None:
    copy = whereof.Run.open(shutil.copytree(run.path, tmp_path / "run"))
    larger = Reliability(claims=(Claims("unrolled", 50, 1.0, 50, 9, 9),))
    larger.write(copy.path)
    assert copy.explain("uk", "embassy", "usa", method="unrolled").reliability == larger
