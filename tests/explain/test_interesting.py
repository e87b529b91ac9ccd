"""Interesting predictions: each kind is what it says."""

import json

import numpy as np
import pytest
from trained import train, train_ratings

import whereof
from explain.helpers import random_run
from whereof.errors import WhereofError
from whereof.explain.interesting import KINDS, InterestingPrediction


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("interesting") / "run", epochs=15)


def query(found: InterestingPrediction) -> tuple[str, str | None]:
    return found.subject, found.relation


def test_the_test_set_in_order_with_ranks(run: whereof.Run) -> None:
    found, data = run.interesting("test", limit=30), run.dataset
    names = [data.fact_names(fact) for fact in data.test[:30]]
    assert [(it.subject, it.relation, it.object) for it in found] == names
    for each in found[:5]:
        (answer,) = run.predict(each.subject, each.relation, each.object).answers
        assert (each.true_rank, each.probability) == (answer.rank, answer.probability)
        assert (each.known, each.true_answer) == ("test", each.object)


def test_top_new_answers_are_the_best_new_ones_most_probable_first(run: whereof.Run) -> None:
    found = run.interesting("top-new", limit=1000)
    values = [it.value for it in found]
    assert values == sorted(values, reverse=True)
    assert len({query(it) for it in found}) == len(found)
    for each in found[:5]:
        answer = run.predict(*query(each), top=1, new=True).answers[0]
        assert (each.object, each.probability, each.known) == (
            answer.entity,
            answer.probability,
            answer.known,
        )


def test_confident_and_wrong_answers_are_in_no_split_and_above_the_true_one(
    run: whereof.Run,
) -> None:
    found = run.interesting("confident-and-wrong", limit=1000)
    top = run.interesting("top-new", limit=1000)
    assert found
    sure = float(np.quantile([it.probability for it in top], 0.75))
    assert [query(it) for it in found] == [
        query(it) for it in top if it.known is None and (it.probability or 0) >= sure
    ]
    assert all(it.rank == 1 < it.true_rank and it.object != it.true_answer for it in found)


def test_unstable_answers_change_without_their_strongest_fact(run: whereof.Run) -> None:
    found = run.interesting("unstable", limit=1000)
    assert found
    for each in found[:5]:
        why = run.explain(*query(each), each.object, method="rollback", top=1)
        assert each.fact == why.facts[0]
        assert each.fact.top_answer_changes
    stable = {query(it) for it in run.interesting("top-new", 1000)} - {query(it) for it in found}
    for names in sorted(stable)[:5]:
        assert not run.explain(*names, "_", method="rollback", top=1).facts[0].top_answer_changes


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_question_has_the_same_answer_as_json(run: whereof.Run, kind: str) -> None:
    found = run.interesting(kind, limit=3)
    again = whereof.Run.open(str(run.path)).interesting(kind, limit=3)
    assert found == again
    assert {it.reason for it in found} == {kind}
    documents = [it.to_dict() for it in found]
    assert json.loads(json.dumps(documents)) == documents


def test_with_ratings_the_largest_errors_are_wrong(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    run = train_ratings(tmp_path_factory.mktemp("ratings"), epochs=3)
    found = run.interesting("confident-and-wrong", limit=50)
    errors = [abs(it.value - it.true_rating) for it in found if it.true_rating is not None]
    assert len(errors) == len(found) > 0
    assert errors == sorted(errors, reverse=True)


def test_without_held_out_facts_those_of_training_ask() -> None:
    found = random_run("distmult", n_entities=20).interesting("top-new", limit=50)
    assert found
    assert all(it.known is None for it in found)


def test_bad_input(run: whereof.Run) -> None:
    with pytest.raises(WhereofError, match="choose from confident-and-wrong, unstable"):
        run.interesting("odd")
    with pytest.raises(WhereofError, match="from 1 on"):
        run.interesting("test", limit=0)
