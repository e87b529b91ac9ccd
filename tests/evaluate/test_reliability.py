"""Reliability of estimates: linearity and claims against plain loops, and where they are kept."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli.helpers import whereof as command
from listening import Recorded

import whereof
from evaluate.small import names_of, probabilities, sampled, spearman, train
from whereof.api import runs
from whereof.errors import Interrupted
from whereof.evaluate import reliability
from whereof.events import Events
from whereof.retrain.engine import Job
from whereof.retrain.journal import open_journal
from whereof.run.reliability import Claims, Linearity, Reliability, sizes_agree
from whereof.training.config import MachineOptions
from whereof.training.trainer import Trainer


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("reliability"))


def test_linearity_is_that_of_a_plain_loop(run: whereof.Run) -> None:
    with sampled(run) as sample:
        found = reliability.measure_linearity([sample], 4, 7)
        jobs = reliability.linearity_jobs(sample, 4, 7)
        recipe = sample.case.retrainer.recipe

        def log_odds(fact: int, weight: float) -> np.ndarray:
            weights = np.ones(run.dataset.n_facts)
            weights[fact] = weight
            trainer, done = Trainer(recipe.problem, weights=weights), 0
            while done < recipe.n_facts:
                done += trainer.advance(recipe.n_facts - done)
            p = probabilities(sample, trainer.parameters())
            return np.log(p / (1 - p))

        facts = sorted({int(job.removed[0]) for job in jobs})
        removals, slopes = [], []
        for fact in facts:
            removals.append(log_odds(fact, 1) - log_odds(fact, 0))
            slopes.append((log_odds(fact, 1.1) - log_odds(fact, 0.9)) / 0.2)
    assert found is not None
    assert found.noise < 1e-4
    assert found.n_pairs <= len(facts) * len(sample)
    pairs = np.array([np.concatenate(removals), np.concatenate(slopes)])
    pairs = pairs[:, np.abs(pairs).max(axis=0) > 15 * found.noise]
    assert found.n_pairs == pairs.shape[1]
    assert found.spearman == pytest.approx(spearman(*pairs), abs=1e-3)
    assert found.pearson == pytest.approx(np.corrcoef(pairs)[0, 1], rel=1e-6)


def test_claims_are_what_explanations_say_and_verdicts_find(run: whereof.Run) -> None:
    with sampled(run) as sample:
        found = reliability.measure_claims([sample], "rollback", 6)
        falls, announced, true = [], 0, 0
        for number, prediction in enumerate(sample.predictions[:6]):
            names = names_of(run, prediction)
            listed = run.explain(*names, top=10).facts
            for fact in (listed[0], listed[1 + number % 9]):
                verdict = run.verify(*names, facts=[fact.fact_id])
                falls.append((fact.influence, verdict.before.value - verdict.actual.value))
                announced += bool(fact.top_answer_changes)
                came = verdict.actual.top_answer == fact.top_answer_without
                true += bool(fact.top_answer_changes) and came
    ratio = np.median([said / real if real > 0 else np.inf for said, real in falls])
    right = sum(2 / 3 <= real / said <= 1.5 for said, real in falls)
    assert found == Claims("rollback", 12, pytest.approx(ratio), right, announced, true)


def test_claims_of_unrolled_are_those_of_single_explanations(tmp_path: Path) -> None:
    """In bulk it follows rivals too, so that it announces the same changes of the top answer."""
    settings = {"optimizer": "adagrad", "rate": 0.1, "accumulator": 0.1, "trace": False}
    run = train(tmp_path, **settings)
    with sampled(run) as sample:
        found = reliability.measure_claims([sample], "unrolled", len(sample))
        asked = [names_of(run, prediction) for prediction in sample.predictions]
        screened = reliability.measure_claims([sample], "unrolled:sweep-epochs=1", 2)
    assert screened is not None
    assert (screened.method, screened.n_checks) == ("unrolled:sweep-epochs=1", 4)
    listed = [run.explain(*names, top=10, method="unrolled").facts for names in asked]
    checked = [it for n, facts in enumerate(listed) for it in (facts[0], facts[1 + n % 9])]
    assert found is not None
    assert found.n_announced == sum(bool(fact.top_answer_changes) for fact in checked)
    assert 0 < found.n_announced < len(checked)


def test_what_is_not_known_is_not_announced(run: whereof.Run) -> None:
    with sampled(run) as sample:
        for each in sample.listed("rollback", 6):
            assert each.standings is not None
            each.standings["top"] = -1
        found = reliability.measure_claims([sample], "rollback", 6)
    assert found is not None
    assert found.n_announced == found.n_true == 0


def test_an_engine_without_weights_has_no_linearity(run: whereof.Run) -> None:
    with sampled(run) as sample:
        engine = sample.case.retrainer.engine
        engine.weighs = False
        assert reliability.measure_linearity([sample], 4, 7) is None
        assert reliability.measure_claims([sample], "gradient-dot", 4) is None


def test_a_factor_is_another_retraining_than_removal(tmp_path: Path) -> None:
    run = train(tmp_path)
    with sampled(run) as sample:
        jobs = [Job.of([3], [0], factor) for factor in (0.0, 0.5, 1.0)]
        found = sample.case.retrainer.ask(sample.arrays, jobs)
        removed, half, same = (each["probability"][0] for each in found.jobs)
        assert len({removed, half, same}) == 3
        assert same == found.control["probability"][0]
        with open_journal(next(run.file("retrained").iterdir())) as journal:
            assert not journal.lacks(np.array([3]), sample.arrays.places[:1], 0.5)
            assert journal.lacks(np.array([3]), sample.arrays.places[:1], 0.7) == [0]


def test_an_evaluation_is_kept_in_the_run_and_shown(tmp_path: Path) -> None:
    run = train(tmp_path)
    unknown = f"not measured: run `whereof evaluate {run.path} --protocols steadiness`"
    assert unknown in command("info", str(run.path)).stdout
    assert run.reliability == Reliability()
    found = run.evaluate(protocols="steadiness", removals=2).steadiness
    assert found is not None
    (claims,) = found.claims
    assert run.reliability == Reliability(found.linearity, (claims,))
    words = command("info", str(run.path)).stdout
    assert str(claims) in " ".join(words.split())
    assert "not measured" not in words
    document = json.loads(command("info", str(run.path), "--json").stdout)
    assert document["reliability"]["claims"][0]["method"] == "rollback"
    run.evaluate(protocols="steadiness", removals=2, limit=1)  # says less
    assert run.reliability == Reliability(found.linearity, (claims,))
    asked = run.evaluate(protocols="steadiness", removals=2, methods="rollback-o,gradient-dot")
    assert [each.method for each in asked.steadiness.claims] == ["rollback", "rollback-o"]
    assert run.reliability.claims[0] == claims
    assert run.reliability.of("rollback-o") == asked.steadiness.claims[1]
    run.file("reliability.json").write_text("{")
    assert whereof.Run.open(run.file("")).reliability == Reliability()


def test_training_measures_what_fits_into_its_time(
    run: whereof.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = MachineOptions()
    runs.measure_reliability(run, machine, 0.4, Events())
    runs.measure_reliability(run, MachineOptions(device="cuda"), 600, Events())
    monkeypatch.setattr(type(run), "retraining_seconds", 100.0)
    runs.measure_reliability(run, machine, 1000, Events())
    assert run.reliability == Reliability()
    monkeypatch.undo()
    runs.measure_reliability(run, machine, 600, Events())
    assert run.reliability.linearity is not None
    assert not run.file("retrained/new").exists()


def test_the_sweep_must_fit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """27 retrainings, one at a time, take 27 s, and the sweep for 5 predictions 28 s."""
    run = train(tmp_path, optimizer="adagrad", rate=0.1, accumulator=0.1)
    assert run.default_method == "unrolled"
    machine = MachineOptions(threads=1)
    monkeypatch.setattr(type(run), "retraining_seconds", 1.0)
    runs.measure_reliability(run, machine, 54.5, Events())
    assert run.reliability == Reliability()
    runs.measure_reliability(run, machine, 55.5, Events())
    assert [each.method for each in run.reliability.claims] == ["unrolled"]


def test_a_sweep_stops_when_its_time_is_over(tmp_path: Path) -> None:
    run = train(tmp_path, optimizer="adagrad", rate=0.1, accumulator=0.1)
    with sampled(run, events=Recorded(stop_after=1)) as sample, pytest.raises(Interrupted):
        sample.listed("unrolled", 3)


@pytest.mark.parametrize(
    ("announced", "true", "believed"), [(4, 4, False), (5, 4, True), (10, 7, False), (0, 0, False)]
)
def test_changes_are_believed_if_four_of_five_came_true(
    announced: int, true: int, believed: bool
) -> None:
    assert Claims("rollback", 20, 1.0, 20, announced, true).believable is believed


@pytest.mark.parametrize(("right", "close"), [(40, True), (39, False), (0, False)])
def test_sizes_are_close_if_those_of_four_of_five_facts_are_right(right: int, close: bool) -> None:
    """A right median is not enough."""
    assert Claims("rollback", 50, 1.0, right, 9, 9).is_close is close


def test_a_right_size_is_one_within_a_factor() -> None:
    said = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.004])
    done = np.array([0.1, 0.15, 0.16, 0.06, -0.1, 0.004, 0.1, -0.004])
    right = [True, True, False, False, False, True, False, True]
    assert sizes_agree(said, done, np.ones(8)).tolist() == right


def test_words() -> None:
    close = Linearity(100, 0.98, 0.97, 1.02, 1e-6)
    assert str(close) == (
        "Training responds almost linearly to a fact. A small change of its weight predicts the "
        "effect of its removal: the rank correlation is 0.98, and the predicted size is 1.02 times "
        "the actual one (100 effects)."
    )
    far = Linearity(100, 0.5, 0.4, 0.3, 1e-6)
    assert str(far).startswith("Training does not respond linearly")
    assert "unknown" in str(Linearity(0, None, None, None, 0.0))
    said = str(Claims("rollback", 50, 3.5, 4, 40, 18))
    assert "3.50 times the actual change. After 18 of 40 announced changes, the named" in said
    said = str(Claims("rollback", 50, 1.01, 41))
    assert said == (
        "Whereof retrained without 50 of the facts that rollback lists, one at a time: 41 of 50 "
        "estimates have the right size (within a factor of 1.5); the median estimate is 1.01 times "
        "the actual change."
    )
    assert str(Claims("rollback", 50, None, 3)).endswith("(within a factor of 1.5).")


def test_checks_of_a_method_count_more_than_linearity() -> None:
    linear, claims = Linearity(100, 0.98, 0.97, 1.02, 1e-6), Claims("rollback", 50, 1.1, 41)
    known = Reliability(linear, (claims,))
    assert known.sentences(method="rollback") == [str(claims)]
    assert known.sentences(method="unrolled") == [str(linear)]
    assert known.sentences() == [str(linear), str(claims)]


def test_the_ratio_is_the_median_of_all_checks() -> None:
    before, said = np.ones(5), np.array([0.8, 0.8, 0.8, 0.8, 0.999])
    for reals, ratio in (
        ([0.1, 0.2, 0.4, 0.4, 0.0], 0.75),  # the last one is noise
        ([0.1, 0.2, -0.1, 0.2, 0.0], 1.5),  # a rise counts as the largest ratio
        ([0.1, -0.2, -0.1, -0.2, 0.0], None),
    ):
        found = Claims.compare("rollback", before, said, before - reals)
        assert found.size_ratio == (ratio if ratio is None else pytest.approx(ratio))


def test_checks_of_top_answers_replace_those_without() -> None:
    sizes, few = Claims("unrolled", 16, 1.0, 16), Claims("unrolled", 6, 1.0, 6, 5, 5)
    assert Reliability(claims=(sizes,)).updated(None, [few]).claims == (few,)
    assert Reliability(claims=(few,)).updated(None, [sizes]).claims == (few,)
