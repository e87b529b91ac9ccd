"""Adjacent facts: which they are, what they share, and filters."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from trained import train

import whereof
from explain.helpers import names_of, random_asks, random_run
from explain.oracle import Oracle
from whereof.explain.explanation import ExplainedFact


@pytest.fixture(scope="module")
def nations(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


def test_roles_say_what_is_shared(nations: whereof.Run) -> None:
    for ask in random_asks(nations, 10):
        names = nations.dataset.fact_names((ask.subject, ask.relation, ask.object))
        for fact in nations.explain(*names, asks=ask.asks, top=None).facts:
            ends = (fact.subject, fact.object)
            shares = [names[0] in ends, names[1] == fact.relation, names[2] in ends]
            parts = [
                part
                for part, has in zip(("subject", "relation", "object"), shares, strict=True)
                if has
            ]
            assert list(fact.parts) == parts
            assert fact.role == (parts[0] if len(parts) == 1 else "several")


def test_facts_are_named_as_they_are(nations: whereof.Run) -> None:
    data = nations.dataset
    for fact in nations.explain("egypt", "embassy", "usa", top=None).facts:
        names = (fact.subject, fact.relation, fact.object)
        assert names == data.fact_names(data.train[fact.fact_id])
        assert (fact.labels["subject"], fact.labels["relation"], fact.labels["object"]) == names


@pytest.mark.parametrize("role", ["subject", "relation", "object", "several"])
def test_a_role_keeps_the_facts_that_share_it(nations: whereof.Run, role: str) -> None:
    everything = nations.explain("egypt", "embassy", "usa", top=None)
    found = nations.explain("egypt", "embassy", "usa", top=None, role=role)
    wanted = [
        fact.fact_id
        for fact in everything.facts
        if (role in fact.parts if role != "several" else len(fact.parts) > 1)
    ]
    assert [fact.fact_id for fact in found.facts] == wanted
    assert 0 < len(wanted) < len(everything.facts)
    assert found.n_adjacent == everything.n_adjacent


def test_relations_and_entities_narrow_the_list(nations: whereof.Run) -> None:
    names = ("egypt", "embassy", "usa")
    everything = nations.explain(*names, top=None).facts
    by_relation = nations.explain(*names, top=None, relation=["treaties", "embassy"]).facts
    assert by_relation == _renumbered(
        by_relation, [f for f in everything if f.relation in ("treaties", "embassy")]
    )
    by_entity = nations.explain(*names, top=None, entity="china").facts
    assert by_entity == _renumbered(
        by_entity, [f for f in everything if "china" in (f.subject, f.object)]
    )
    both = nations.explain(*names, top=None, entity="china", relation="embassy").facts
    assert {f.fact_id for f in both} == {f.fact_id for f in by_entity if f.relation == "embassy"}


def _renumbered(
    found: Sequence[ExplainedFact], wanted: Sequence[ExplainedFact]
) -> tuple[ExplainedFact, ...]:
    """The wanted facts with rank and share of the found list, which count among those listed."""
    return tuple(
        replace(fact, rank=other.rank, share=other.share)
        for fact, other in zip(wanted, found, strict=True)
    )


def test_rollback_o_looks_at_facts_with_the_same_answer(nations: whereof.Run) -> None:
    everything = nations.explain("egypt", "embassy", "usa", top=None).facts
    found = nations.explain("egypt", "embassy", "usa", top=None, method="rollback-o").facts
    wanted = [(f.fact_id, f.influence) for f in everything if f.object == "usa"]
    assert [(f.fact_id, f.influence) for f in found] == wanted
    asked = nations.explain(
        "egypt", "embassy", "usa", top=None, method="rollback-o", asks="subject"
    ).facts
    assert {f.subject for f in asked} == {"egypt"}


def test_shares_are_of_all_facts_of_the_same_sign(nations: whereof.Run) -> None:
    everything = [f.influence for f in nations.explain("egypt", "embassy", "usa", top=None).facts]
    support, opposition = (sum(filter(sign, everything)) for sign in (_positive, _negative))
    for options in ({"top": 5}, {"top": "all"}, {"top": 7, "opposing": True}, {"top": None}):
        facts = nations.explain("egypt", "embassy", "usa", **options).facts
        totals = [support if fact.influence > 0 else opposition for fact in facts]
        shares = [fact.influence / total for fact, total in zip(facts, totals, strict=True)]
        assert [fact.share for fact in facts] == pytest.approx(shares, rel=1e-9)
    of_role = nations.explain("egypt", "embassy", "usa", role="subject").facts
    assert {fact.share for fact in of_role} == {None}, "other facts support it too"


def _positive(influence: float) -> bool:
    return influence > 0


def _negative(influence: float) -> bool:
    return influence < 0


def test_nothing_left_and_nothing_adjacent_are_said(nations: whereof.Run) -> None:
    with pytest.raises(whereof.WhereofError, match=r"none of the \d+ adjacent facts passes"):
        nations.explain("egypt", "embassy", "usa", relation="treaties", role="relation")
    alone = whereof.Run.from_arrays(
        model="distmult",
        entities=["a", "b", "c", "d"],
        relations=["r", "q"],
        facts=[[0, 0, 1]],
        entity_rows=np.ones((4, 2)),
        relation_rows=np.ones((2, 2)),
        trace=np.zeros((1, 3, 2)),
    )
    with pytest.raises(whereof.WhereofError, match="no training fact shares"):
        alone.explain("c", "q", "d")


def test_two_way_facts_share_users_or_items() -> None:
    run = random_run("mf", n_entities=12)
    for ask in random_asks(run, 6):
        found = run.explain(*names_of(run, ask), asks=ask.asks, top=None)
        assert sorted(f.fact_id for f in found.facts) == Oracle(run).adjacent(ask)
        assert {f.role for f in found.facts} <= {"subject", "object", "several"}
    with pytest.raises(whereof.WhereofError, match="no relations to choose from"):
        run.explain("e0", "e1", relation="r0")


def test_the_explained_predictions_of_nations_in_the_papers_setting(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The protocol: 143 top answers of test queries, with 508 +- 101 adjacent facts each."""
    path = tmp_path_factory.mktemp("paper") / "run"
    run = whereof.train("nations", preset="paper", out=path)
    data = run.dataset
    sizes = {}
    for subject, relation, object_ in data.test.tolist():
        names = data.fact_names((subject, relation, object_))
        top = run.explain(*names[:2], "_", top=1)
        prediction = top.prediction
        assert prediction.rank == 1
        assert prediction.object == prediction.top_answer
        sizes[prediction.subject, prediction.relation, prediction.object] = top.n_adjacent
    assert len(sizes) == 143
    assert np.mean([*sizes.values()]) == pytest.approx(508, abs=15)
    assert np.std([*sizes.values()]) == pytest.approx(101, abs=15)
