"""Negatives on a GPU have the same bits as on the CPU."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from training.helpers import ITEMS, USERS, make_facts, make_problem

from retrain.cuda.helpers import NOTHING
from whereof.retrain.cuda.card import Card
from whereof.retrain.cuda.fleet import Fleet
from whereof.training.problem import Problem
from whereof.training.sampling import OBJECT_STREAM, SUBJECT_STREAM, draw_negatives, key_of


def drawn_on_cpu(
    problem: Problem, fact: int, direction: int, epoch: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Subject, relation and object of a step, and its candidates, repeats and all."""
    draw, (s, r, o) = problem.draw, problem.facts[fact].astype(np.int64)
    if direction:
        s, r, o = o, r + problem.n_relation_rows // 2, s
    first, count, n_negatives = draw.subjects if direction else draw.objects
    stream = SUBJECT_STREAM if direction else OBJECT_STREAM
    numbers = (draw.seed, stream, np.uint64(fact), np.uint64(epoch if draw.redraw else 0))
    candidates = np.zeros(n_negatives + 1, np.int32)
    key = np.uint64(key_of(*numbers))
    draw_negatives(key, draw.distinct, o, first, count, candidates)
    return np.array([s, r, o]), candidates


def check_draws(card: Card, problem: Problem, epochs: int = 2) -> int:
    """Compare every step of some epochs; return the number of repeated draws."""
    fleet, n_again = Fleet(card, problem, [NOTHING]), 0
    for epoch in range(epochs):
        fleet.enter(epoch, 0)
        arrays = {name: fleet.to_host(fleet.arrays[name]) for name in ("steps", "candidates")}
        repeats = None if problem.draw.distinct else fleet.to_host(fleet.arrays["repeats"])
        order = np.repeat(fleet.timeline.order(epoch), problem.n_directions)
        assert arrays["steps"][:, 0].tolist() == order.tolist()
        for step, fact in enumerate(order):
            triple, wanted = drawn_on_cpu(problem, fact, step % problem.n_directions, epoch)
            n_candidates = arrays["steps"][step, 4]
            found = arrays["candidates"][step, :n_candidates]
            assert arrays["steps"][step, 1:4].tolist() == triple.tolist()
            # As they came: each once, with how often it was drawn.
            times = dict.fromkeys(wanted.tolist(), 0)
            for entity in wanted.tolist():
                times[entity] += 1
            assert found.tolist() == list(times)
            if repeats is not None:
                assert repeats[step, :n_candidates].tolist() == list(times.values())
            n_again += len(wanted) - len(times)
    return n_again


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(("redraw", "order"), [(False, "shuffle"), (True, "file")])
def test_distinct_negatives(card: Card, inverse: bool, redraw: bool, order: str) -> None:
    settings = {"inverse": inverse, "redraw": redraw, "order": order, "seed": 2**63 - 1}
    assert check_draws(card, make_problem(n_entities=300, negatives=40, **settings)) == 0


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("redraw", [False, True])
def test_repeats_are_listed_once_and_counted(card: Card, inverse: bool, redraw: bool) -> None:
    settings = {"inverse": inverse, "redraw": redraw, "sampling": "independent"}
    assert check_draws(card, make_problem(n_entities=60, negatives=40, **settings)) > 500
    assert check_draws(card, make_problem(n_entities=9, negatives=8, seed=5, **settings)) > 100


@pytest.mark.parametrize(
    "settings", [{"negatives": "all"}, {"negatives": 7}, {"negatives": 6}, {"negatives": 1}]
)
def test_as_many_as_there_are_or_fewer(card: Card, settings: dict[str, Any]) -> None:
    assert check_draws(card, make_problem(**settings)) == 0


@pytest.mark.parametrize("n_entities", [256, 257, 258, 5000])
def test_sizes_around_powers_of_two(card: Card, n_entities: int) -> None:
    assert check_draws(card, make_problem(n_entities=n_entities, negatives=100), 1) == 0


@pytest.mark.parametrize("sampling", ["distinct", "independent"])
@pytest.mark.parametrize("source", ["objects", "entities"])
def test_users_and_items_have_negatives_of_their_own(
    card: Card, source: str, sampling: str
) -> None:
    settings = {"inverse": True, "negatives_from": source, "sampling": sampling}
    problem = make_problem(model="mf", negatives=5, **settings)
    assert problem.draw.objects[:2] == ((6, 8) if source == "objects" else (0, 14))
    assert problem.draw.subjects[1] == (len(USERS) if source == "objects" else ITEMS.stop)
    check_draws(card, problem)


@pytest.mark.parametrize("sampling", ["distinct", "independent"])
def test_epochs_differ_only_where_negatives_are_drawn_again(card: Card, sampling: str) -> None:
    for redraw in (False, True):
        problem = make_problem(
            n_entities=50, negatives=6, redraw=redraw, order="file", sampling=sampling
        )
        fleet, found = Fleet(card, problem, [NOTHING]), []
        for epoch in range(2):
            fleet.enter(epoch, 0)
            found.append(fleet.to_host(fleet.arrays["candidates"]).tolist())
        assert (found[0] != found[1]) == redraw


def test_chunks_of_an_epoch_draw_what_the_whole_draws(
    card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = make_problem(make_facts(60), n_entities=40, negatives=9, inverse=True)
    whole = Fleet(card, problem, [NOTHING])
    whole.enter(1, 0)
    wanted = whole.to_host(whole.arrays["candidates"])
    monkeypatch.setattr("whereof.retrain.cuda.memory._CHUNK_BYTES", 4 * 10 * 2 * 7)
    parts, found = Fleet(card, problem, [NOTHING]), []
    for position in range(0, 60, 7):
        parts.enter(1, position)
        assert parts.chunk == range(position, min(position + 7, 60))
        found.append(parts.to_host(parts.arrays["candidates"])[: 2 * len(parts.chunk)])
    assert np.array_equal(np.concatenate(found), wanted)
    rates = whole.timeline.rates(np.arange(120) + 120)
    assert np.array_equal(whole.to_host(whole.arrays["rates"]), rates)
