"""Standings: the same bits everywhere, and equal to a plain loop."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import trained

import whereof
from whereof.explain.explain import find_scored
from whereof.explain.options import ExplainOptions
from whereof.models import MODELS
from whereof.predict.prediction import Prediction
from whereof.predict.predictions import Predictions
from whereof.predict.scored import name_standings
from whereof.training.results import Parameters

THREE_WAY = [name for name, model in MODELS.items() if not model.two_way]
ASKED = [
    ("egypt", "embassy", "usa", "object"),
    ("india", "students", "cuba", "object"),
    ("uk", "embassy", "usa", "subject"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return trained.train(tmp_path_factory.mktemp("runs") / "run")


def rows_of(run: whereof.Run) -> Parameters:
    return Parameters(run.entity_rows, run.relation_rows)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("model", THREE_WAY)
def test_every_way_gives_the_same_bits(tmp_path: Path, model: str, precision: str) -> None:
    run = trained.train(tmp_path / "run", model=model, inverse=True, epochs=1, precision=precision)
    asked = [find_scored(run._trained, a[:3], ExplainOptions(asks=a[3])) for a in ASKED]
    many = Predictions.of(run._trained, [each.prediction for each in asked]).stand(rows_of(run))
    standings = name_standings(run._trained, many)
    for (subject, relation, object_, asks), each, found in zip(
        ASKED, asked, standings, strict=True
    ):
        explained = run.explain(subject, relation, object_, asks=asks, top=1).prediction
        query = (None, relation, object_) if asks == "subject" else (subject, relation)
        answers = run.predict(*query, top=None).answers
        name = subject if asks == "subject" else object_
        (answer,) = (each for each in answers if each.entity == name)
        for other in (each.standing, explained, answer):
            assert (other.probability, other.score) == (found.probability, found.score)
        assert explained.rank == found.rank == answer.rank
        assert explained.top_answer == found.top_answer
    (alone,) = run.predict(*ASKED[0][:3]).answers
    verdict = run.verify(*ASKED[0][:3], top=1, threads=1)
    assert alone.probability == standings[0].probability == verdict.prediction.probability
    if verdict.control_matches_run:
        assert verdict.before == standings[0]


def test_known_answers_do_not_compete_but_stay_in_the_softmax(run: whereof.Run) -> None:
    data = run.dataset
    subject, relation = (int(n) for n in data.train[0, :2])
    facts = np.array([(subject, relation, target) for target in data.objects], np.int32)
    scores = run.scorer.fact_scores(facts).astype(np.float64)
    shares = np.exp(scores) / np.exp(scores).sum()
    facts = np.concatenate([data.train, data.valid])
    known = {int(o) for s, r, o in facts if (s, r) == (subject, relation)}
    predictions = [Prediction(subject, relation, target) for target in data.objects]
    found = Predictions.of(run._trained, predictions).stand(rows_of(run))
    for target in data.objects:
        rivals = [e for e in data.objects if e == target or e not in known]
        assert found[target]["probability"] == pytest.approx(shares[target], rel=1e-5)
        assert found[target]["rank"] == 1 + sum(scores[e] > scores[target] for e in rivals)
        assert found[target]["top"] == max(rivals, key=lambda e: scores[e])


def test_some_positions_may_be_asked_in_any_order(
    run: whereof.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [Prediction(0, 1, target) for target in range(5)]
    predictions = Predictions.of(run._trained, asked)
    whole, some = predictions.stand(rows_of(run)), predictions.stand(rows_of(run), [3, 1])
    assert some.tolist() == [whole[3].item(), whole[1].item()]
    monkeypatch.setattr("whereof.predict.predictions._CELLS", 30)  # two at a time
    assert predictions.stand(rows_of(run)).tolist() == whole.tolist()


def test_ratings_are_scores_on_their_scale(tmp_path: Path) -> None:
    run = trained.train_ratings(tmp_path, 50)
    asked = find_scored(run._trained, ("u0", "m1"), ExplainOptions())
    found = Predictions.of(run._trained, [asked.prediction]).stand(rows_of(run))
    (answer,) = run.predict("u0", "m1").answers
    assert found["score"][0] == asked.standing.score == answer.score
    assert asked.standing.probability is answer.probability is None


def test_an_answer_that_only_a_removed_fact_had_may_count_as_new(run: whereof.Run) -> None:
    data = run.dataset
    subject, relation, object_ = (int(n) for n in data.train[0])
    asked = [Prediction(subject, relation, target) for target in data.objects]
    predictions = Predictions.of(run._trained, asked)
    whole = predictions.stand(rows_of(run))
    without = predictions.stand(rows_of(run), removed=np.array([0]))
    for name in ("probability", "rank", "top"):
        assert (without[name] == whole[name]).all()
    assert (whole["top_released"] == whole["top"]).all()
    scores = whole["score"]
    for target, stands in enumerate(without):
        beaten = scores[stands["top"]] < scores[object_] and target != object_
        assert stands["top_released"] == (object_ if beaten else stands["top"])


def test_what_validation_knows_too_stays_known(run: whereof.Run) -> None:
    fact = run.dataset.train[:1]
    data = dataclasses.replace(run.dataset, valid=np.concatenate([run.dataset.valid, fact]))
    target = int(next(e for e in data.objects if e != fact[0, 2]))
    known = dataclasses.replace(run._trained, dataset=data)
    predictions = Predictions.of(known, [Prediction(*map(int, fact[0, :2]), target)])
    whole = predictions.stand(rows_of(run))
    assert predictions.stand(rows_of(run), removed=np.array([0])).tolist() == whole.tolist()
