"""The explanation graph: facts between entities, with the same relation, and pairs through a third
entity."""

from pathlib import Path

import numpy as np
import pytest
from trained import train

import whereof
from explain.helpers import check_close, names_of, random_asks, random_run
from explain.oracle import Ask, Oracle, quantity
from whereof.explain.explanation import Graph

SHOWN = 5
"""Facts or pairs of each kind."""


@pytest.fixture(scope="module")
def nations(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    path = tmp_path_factory.mktemp("runs") / "run"
    return train(path, precision="float64", inverse=True, rate=0.02)


def _graph(run: whereof.Run, ask: Ask) -> Graph:
    found = run.explain(*names_of(run, ask), asks=ask.asks, graph=True).graph
    assert found is not None
    return found


def _pairs(run: whereof.Run, ask: Ask) -> list[tuple[int, int, int]]:
    """Every fact of the subject and fact of the object that meet in a third entity, with it."""
    facts, ends = run.dataset.train.tolist(), {ask.subject, ask.object}
    if len(ends) == 1:
        return []
    return [
        (first, second, middle)
        for first, (s, _, o) in enumerate(facts)
        for second, (t, _, p) in enumerate(facts)
        if ask.subject in (s, o) and ask.object in (t, p)
        for middle in ({s, o} - {ask.subject}) & ({t, p} - {ask.object})
        if middle not in ends
    ]


def _strongest(run: whereof.Run, ask: Ask, sets: list[list[int]]) -> list[tuple[float, list[int]]]:
    """The sets of facts that support most, by the definition."""
    if not sets:
        return []
    oracle = Oracle(run)
    before = quantity("probability", oracle.before(ask), ask.place)
    influences = before - quantity("probability", oracle.scores(ask, sets), ask.place)
    order = np.argsort(-influences, kind="stable")
    return [(float(influences[i]), sets[i]) for i in order if influences[i] > 0][:SHOWN]


@pytest.mark.parametrize("model", ["distmult", "rotate", "simple"])
def test_pairs_are_those_of_a_double_loop_ranked_by_what_both_do(model: str) -> None:
    run = random_run(model, n_entities=9, n_facts=40)
    seen = 0
    for ask in random_asks(run, 12):
        pairs = _pairs(run, ask)
        wanted = _strongest(run, ask, [[first, second] for first, second, _ in pairs])
        found = _graph(run, ask).paths
        assert [[fact.fact_id for fact in path.facts] for path in found] == [
            ids for _, ids in wanted
        ]
        check_close([path.influence for path in found], [value for value, _ in wanted], 1e-12)
        for path in found:
            ids = tuple(fact.fact_id for fact in path.facts)
            assert (*ids, run.dataset.entities.find(path.entity)) in pairs
        seen += len(found)
    assert seen > 20


def test_facts_of_a_path_stand_with_what_each_does_alone(nations: whereof.Run) -> None:
    (ask,) = random_asks(nations, 1)
    everything = nations.explain(*names_of(nations, ask), top=None).facts
    alone = {fact.fact_id: fact for fact in everything}
    paths = _graph(nations, ask).paths
    assert len(paths) == SHOWN
    for path in paths:
        for fact in path.facts:
            assert fact.influence == alone[fact.fact_id].influence
            assert fact.probability_without == alone[fact.fact_id].probability_without
        assert path.probability_without is not None
        pair = [fact.fact_id for fact in path.facts]
        joint = nations.explain(*names_of(nations, ask), without=pair).without
        assert joint is not None
        assert (path.influence, path.probability_without) == (joint.influence, joint.probability)


def test_facts_between_join_the_two_entities_and_no_others(nations: whereof.Run) -> None:
    for ask in random_asks(nations, 10):
        facts = nations.dataset.train.tolist()
        ends = {ask.subject, ask.object}
        between = [[i] for i, (s, _, o) in enumerate(facts) if {s, o} == ends]
        wanted = _strongest(nations, ask, between)
        found = _graph(nations, ask).between
        assert [[fact.fact_id] for fact in found] == [ids for _, ids in wanted]


def test_facts_of_the_same_relation(nations: whereof.Run) -> None:
    for ask in random_asks(nations, 6):
        facts = nations.dataset.train.tolist()
        same = [[i] for i, (_, relation, _) in enumerate(facts) if relation == ask.relation]
        wanted = _strongest(nations, ask, same)
        found = _graph(nations, ask).same_relation
        assert [[fact.fact_id] for fact in found] == [ids for _, ids in wanted]


def test_an_entity_is_joined_to_itself_by_its_self_loops_alone() -> None:
    run = random_run("distmult", n_entities=5, n_facts=80)
    ask = Ask(2, 0, 2, range(5))
    graph = _graph(run, ask)
    assert graph.paths == ()
    facts = run.dataset.train.tolist()
    loops = [[i] for i, (s, _, o) in enumerate(facts) if s == o == 2]
    assert loops
    assert [[fact.fact_id] for fact in graph.between] == [
        ids for _, ids in _strongest(run, ask, loops)
    ]


def test_a_graph_of_a_contrast_is_on_the_ratio(nations: whereof.Run) -> None:
    found = nations.explain("egypt", "embassy", "usa", instead_of="china", graph=True)
    assert found.graph is not None
    (path, *_) = found.graph.paths
    pair = [fact.fact_id for fact in path.facts]
    joint = nations.explain("egypt", "embassy", "usa", instead_of="china", without=pair).without
    assert joint is not None
    assert path.influence == joint.influence


def test_two_way_data_has_no_facts_of_the_same_relation(tmp_path: Path) -> None:
    films = {"user": [0, 0, 1, 1, 2, 2], "item": [0, 1, 0, 2, 1, 2]}
    run = whereof.train(films, out=tmp_path / "run", model="mf", dim=2, epochs=3, rate=0.1)
    found = run.explain("0", "2", graph=True).graph
    assert found is not None
    assert found.same_relation == ()
    # Users and items only meet at each other: no third entity touches a user and an item.
    assert found.paths == ()
