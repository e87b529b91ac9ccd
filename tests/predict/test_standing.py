"""How predictions stand under rows, against explaining and against a plain loop."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trained

import whereof
from whereof.explain import ExplainOptions
from whereof.explain._naming import find_situation
from whereof.predict import Place, Predictions
from whereof.training.results import Parameters

MODELS = ("distmult", "complex", "transe", "rotate", "rescal", "simple")


def rows_of(run: whereof.Run) -> Parameters:
    return Parameters(run.entity_rows, run.relation_rows)


def place_of(run: whereof.Run, *names: str, **options: Any) -> tuple[Any, Place]:
    situation = find_situation(run._trained, names, ExplainOptions(**options))
    contest = situation.contest
    asks_subject = contest.asks == "subject"
    return situation, Place(contest.given, contest.relation, situation.target, asks_subject)


@pytest.mark.parametrize("model", MODELS)
def test_predictions_stand_as_explaining_says(tmp_path: Path, model: str) -> None:
    run = trained.train(tmp_path / "run", model=model, inverse=True)
    asked = [
        place_of(run, "egypt", "embassy", "usa"),
        place_of(run, "india", "students", "cuba"),
        place_of(run, "uk", "embassy", "usa", asks="subject"),
    ]
    predictions = Predictions.of(run.scorer, run.dataset, [place for _, place in asked])
    found = predictions.stand(rows_of(run))
    for (situation, _), stands in zip(asked, found, strict=True):
        wanted = situation.standing
        assert stands["probability"] == pytest.approx(wanted.probability, rel=1e-12)
        assert stands["score"] == pytest.approx(wanted.score, rel=1e-12)
        assert stands["rank"] == wanted.rank
        assert run.dataset.entities.name(stands["top"]) == wanted.top_answer


def test_known_answers_are_out_of_the_contest_but_not_out_of_the_softmax(tmp_path: Path) -> None:
    run = trained.train(tmp_path / "run")
    data = run.dataset
    subject, relation = (int(n) for n in data.train[0, :2])
    scores = np.array([run.scorer.scores(subject, relation, data.objects)], np.float64)[0]
    facts = np.concatenate([data.train, data.valid])
    known = set(facts[(facts[:, 0] == subject) & (facts[:, 1] == relation), 2].tolist())
    places = [Place(subject, relation, target) for target in data.objects]
    found = Predictions.of(run.scorer, data, places).stand(rows_of(run))
    shares = np.exp(scores) / np.exp(scores).sum()
    for target in data.objects:
        rivals = [e for e in data.objects if e == target or e not in known]
        assert found[target]["probability"] == pytest.approx(shares[target], rel=1e-5)
        assert found[target]["rank"] == 1 + sum(scores[e] > scores[target] for e in rivals)
        assert found[target]["top"] == max(rivals, key=lambda e: scores[e])


def test_some_positions_may_be_asked_in_any_order(tmp_path: Path) -> None:
    run = trained.train(tmp_path / "run")
    places = [Place(0, 1, target) for target in range(5)]
    predictions = Predictions.of(run.scorer, run.dataset, places)
    whole, some = predictions.stand(rows_of(run)), predictions.stand(rows_of(run), [3, 1])
    assert some.tolist() == [whole[3].item(), whole[1].item()]


def test_ratings_are_scores_on_their_scale(tmp_path: Path) -> None:
    run = trained.train_ratings(tmp_path, 50)
    situation, place = place_of(run, "u0", "m1")
    found = Predictions.of(run.scorer, run.dataset, [place]).stand(rows_of(run))
    assert found["score"][0] == pytest.approx(situation.standing.score, rel=1e-9)


def test_an_answer_that_only_a_removed_fact_had_may_count_as_new(tmp_path: Path) -> None:
    run = trained.train(tmp_path / "run")
    data = run.dataset
    subject, relation, object_ = (int(n) for n in data.train[0])
    places = [Place(subject, relation, target) for target in data.objects]
    predictions = Predictions.of(run.scorer, data, places)
    whole = predictions.stand(rows_of(run))
    without = predictions.stand(rows_of(run), removed=np.array([0]))
    for name in ("probability", "rank", "top"):
        assert (without[name] == whole[name]).all()
    assert (whole["top_released"] == whole["top"]).all()
    scores = whole["score"]
    for target, stands in enumerate(without):
        beaten = scores[stands["top"]] < scores[object_] and target != object_
        assert stands["top_released"] == (object_ if beaten else stands["top"])


def test_what_validation_knows_too_stays_known(tmp_path: Path) -> None:
    run = trained.train(tmp_path / "run")
    fact = run.dataset.train[:1]
    data = dataclasses.replace(run.dataset, valid=np.concatenate([run.dataset.valid, fact]))
    target = int(next(e for e in data.objects if e != fact[0, 2]))
    predictions = Predictions.of(run.scorer, data, [Place(*map(int, fact[0, :2]), target)])
    whole = predictions.stand(rows_of(run))
    assert predictions.stand(rows_of(run), removed=np.array([0])).tolist() == whole.tolist()
