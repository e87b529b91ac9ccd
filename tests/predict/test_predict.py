"""Predictions: order, probabilities, what is known, and ranks that skip it."""

from pathlib import Path

import numpy as np
import pytest
from trained import train

import whereof


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


def test_probabilities_are_a_softmax_over_every_candidate(run: whereof.Run) -> None:
    answers = run.predict("egypt", "embassy", top=None).answers
    scores = np.array([answer.score for answer in answers])
    assert len(answers) == 14
    assert sorted(scores, reverse=True) == list(scores)
    expected = np.exp(scores) / np.exp(scores).sum()
    assert [answer.probability for answer in answers] == pytest.approx(expected, rel=1e-6)


def test_scores_are_those_of_the_formula(run: whereof.Run) -> None:
    data = run.dataset
    s, r = data.entities.find("egypt"), data.relations.find("embassy")
    for answer in run.predict("egypt", "embassy", top=None).answers:
        o = data.entities.find(answer.entity)
        expected = (run.entity_rows[s] * run.relation_rows[r] * run.entity_rows[o]).sum()
        assert answer.score == pytest.approx(expected, abs=1e-5)


def test_known_answers_carry_their_split(run: whereof.Run) -> None:
    data = run.dataset
    for answer in run.predict("egypt", "embassy", top=None).answers:
        fact = [data.entities.find("egypt"), data.relations.find("embassy")]
        fact.append(data.entities.find(answer.entity))
        found = [
            split
            for split in ("train", "valid", "test")
            if (getattr(data, split) == fact).all(axis=1).any()
        ]
        assert answer.known == (found[0] if found else None)


def test_ranks_count_only_what_is_not_known(run: whereof.Run) -> None:
    answers = run.predict("egypt", "embassy", top=None).answers
    unknown = [answer for answer in answers if answer.known in (None, "test")]
    assert [answer.rank for answer in unknown] == list(range(1, len(unknown) + 1))
    for answer in answers:
        assert answer.rank == 1 + sum(other.score > answer.score for other in unknown)


def test_subjects_are_asked_for_through_inverse_relations(run: whereof.Run) -> None:
    data = run.dataset
    r, o = data.relations.find("embassy") + data.n_relations, data.entities.find("usa")
    prediction = run.predict("_", "embassy", "usa", top=3)
    assert prediction.query == {"subject": None, "relation": "embassy", "object": "usa"}
    for answer in prediction.answers:
        s = data.entities.find(answer.entity)
        expected = (run.entity_rows[o] * run.relation_rows[r] * run.entity_rows[s]).sum()
        assert answer.score == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("names", [(), ("egypt",), ("_", "embassy"), ("a", "b", "c", "d")])
def test_a_query_of_another_shape_is_refused(run: whereof.Run, names: tuple[str, ...]) -> None:
    with pytest.raises(
        whereof.WhereofError,
        match="a query is SUBJECT RELATION, _ RELATION OBJECT or",
    ):
        run.predict(*names)


def test_relations_are_not_asked_for(run: whereof.Run) -> None:
    for names in (("egypt", "_", "usa"), ("egypt", None)):
        with pytest.raises(whereof.WhereofError, match="relations cannot be predicted"):
            run.predict(*names)


def test_subjects_take_a_run_with_inverse_relations(tmp_path: Path) -> None:
    plain = train(tmp_path / "run", epochs=1)
    with pytest.raises(whereof.WhereofError, match="--inverse"):
        plain.predict("_", "embassy", "usa")


def test_a_whole_triple_is_one_answer_among_all(run: whereof.Run) -> None:
    everything = run.predict("egypt", "embassy", top=None).answers
    (answer,) = run.predict("egypt", "embassy", "cuba").answers
    assert answer == next(other for other in everything if other.entity == "cuba")


def test_new_answers_are_the_rest_in_the_same_order(run: whereof.Run) -> None:
    answers = run.predict("egypt", "embassy", top=None).answers
    new = tuple(answer for answer in answers if answer.known in (None, "test"))
    assert 0 < len(new) < len(answers)
    assert run.predict("egypt", "embassy", top=None, new=True).answers == new
    assert run.predict("egypt", "embassy", top=2, new=True).answers == new[:2]


def test_a_known_triple_is_not_new(run: whereof.Run) -> None:
    for answer in run.predict("egypt", "embassy", top=None).answers:
        found = run.predict("egypt", "embassy", answer.entity, new=True).answers
        assert found == (() if answer.known in ("train", "valid") else (answer,))


def test_where_all_is_known_nothing_is_new(tmp_path: Path) -> None:
    (tmp_path / "clicks.tsv").write_text("ann\tup\nann\tbig\nbob\tup\n")
    run = whereof.train(tmp_path / "clicks.tsv", out=tmp_path / "run", dim=2)
    assert run.predict("ann", new=True).answers == ()
    assert [answer.entity for answer in run.predict("bob", new=True).answers] == ["big"]


def test_the_name_of_an_open_place_is_escaped() -> None:
    run = whereof.Run.from_arrays(
        model="distmult",
        entities=["_", "b"],
        relations=["_"],
        facts=[[0, 0, 1]],
        entity_rows=np.eye(2),
        relation_rows=np.ones((1, 2)),
    )
    assert run.predict(r"\_", r"\_", "b").query == {"subject": "_", "relation": "_", "object": "b"}
    assert run.predict("b", r"\_", "_").query["object"] is None
