"""Bits do not depend on launches, on shared memory or on other models."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from training.helpers import N_FACTS, make_problem

from retrain.cuda.conftest import MakeCard
from retrain.cuda.helpers import (
    NOTHING,
    bits_of,
    check_rows,
    check_same_bits,
    n_facts_in_all,
    run_trainer,
    trained_fleet,
)
from whereof.retrain.cuda.card import Card
from whereof.retrain.cuda.fleet import Fleet
from whereof.retrain.cuda.layout import Sizes, plan_layout, share_memory
from whereof.retrain.engine import Recipe

SETTINGS: list[dict[str, Any]] = [
    {"optimizer": "adam", "inverse": True, "constraint": "unit"},
    {"optimizer": "adam-lazy", "sampling": "independent", "model": "complex"},
    {
        "optimizer": "adagrad",
        "accumulator": 0.1,
        "loss": "sigmoid",
        "model": "transe-l2",
        "schedule": "inverse",
    },
    {"optimizer": "sgd", "model": "mf-biased", "loss": "squared", "negatives": None},
]
REMOVED = [[], [0], [29, 3, 17], list(range(0, 30, 2)), [4], list(range(29))]
each_setting = pytest.mark.parametrize("settings", SETTINGS, ids=lambda it: it["optimizer"])


@each_setting
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_many_models_are_each_what_retraining_makes_of_it(
    card: Card, settings: dict[str, Any], precision: str
) -> None:
    problem = make_problem(**settings, precision=precision)
    fleet = trained_fleet(card, problem, *REMOVED)
    recipe = Recipe(problem, n_facts_in_all(problem))
    for model, removed in enumerate(REMOVED):
        wanted = recipe.retrain(np.array(removed, np.int64))
        check_rows(fleet.rows(model), wanted, 1e-9 if precision == "float64" else 1e-4)
    n_left = [(N_FACTS - len(removed)) * problem.n_directions * 3 for removed in REMOVED]
    assert fleet.to_host(fleet.arrays["counts"]).tolist() == n_left
    assert fleet.finite().all()


@each_setting
def test_one_model_alone_is_the_one_among_many(card: Card, settings: dict[str, Any]) -> None:
    problem = make_problem(**settings, precision="float32")
    n_models = 300 if isinstance(card, Card) else 7
    rng = np.random.default_rng(0)
    sets = [rng.permutation(N_FACTS)[: model % 5] for model in range(n_models)]
    many = trained_fleet(card, problem, *sets)
    assert len({bits_of(many, model) for model in range(n_models)}) > n_models // 2
    for model in range(0, n_models, 60 if n_models > 60 else 1):
        assert bits_of(trained_fleet(card, problem, sets[model])) == bits_of(many, model)


@each_setting
def test_two_equal_launches_give_the_same_bits(card: Card, settings: dict[str, Any]) -> None:
    problem = make_problem(**settings, precision="float32")
    one, two = (trained_fleet(card, problem, *REMOVED) for _ in range(2))
    check_same_bits(one, two)
    one, two = (trained_fleet(card, problem, tracked=True) for _ in range(2))
    check_same_bits(one, two)


@each_setting
def test_a_trace_costs_no_bit(card: Card, settings: dict[str, Any]) -> None:
    """A run trained on a GPU equals its control there."""
    problem = make_problem(**settings, precision="float32", l2=0.01, n3=0.01, epochs=5)
    traced, control = (trained_fleet(card, problem, tracked=tracked) for tracked in (True, False))
    assert bits_of(traced) == bits_of(control)


@each_setting
@pytest.mark.parametrize("tracked", [False, True])
def test_stretches_may_be_cut_anywhere(
    card: Card, settings: dict[str, Any], tracked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = make_problem(**settings)
    whole = trained_fleet(card, problem, tracked=tracked)
    for stretch in (1, 7, 30, 31):
        check_same_bits(trained_fleet(card, problem, stretch=stretch, tracked=tracked), whole)
    monkeypatch.setattr("whereof.retrain.cuda.memory._CHUNK_BYTES", 4 * 5 * 2 * 11)
    check_same_bits(trained_fleet(card, problem, stretch=4, tracked=tracked), whole)


def test_training_on_a_clock_gives_the_same_bits_too(card: Card) -> None:
    problem = make_problem(epochs=6, inverse=True)
    whole, timed = trained_fleet(card, problem), Fleet(card, problem, [NOTHING])
    stretches = list(timed.train(n_facts_in_all(problem), 1e-5))
    timed.settle()
    check_same_bits(timed, whole)
    assert sum(n for n, _ in stretches) == 6 * N_FACTS
    assert all(seconds > 0 for _, seconds in stretches)


@pytest.mark.parametrize("settings", SETTINGS[:2], ids=lambda it: it["optimizer"])
@pytest.mark.parametrize("threads", [3])
def test_memory_changes_no_bit(cpu_card: MakeCard, settings: dict[str, Any], threads: int) -> None:
    """Rows may be held in shared memory or read twice, and data of candidates may be there or
    not."""
    problem = make_problem(**settings, epochs=2)
    card, sizes = cpu_card(threads=threads), Sizes.of(problem)
    plain = plan_layout(sizes, card.limits)
    layouts = [plain, plan_layout(sizes, card.limits, holds=False)]
    layouts.append(replace(plain, scored=6, moved=3, ahead=True))
    least = layouts[1].shared_bytes - sizes.room
    small = cpu_card(threads=threads, shared_bytes=least + 1024)  # a block takes those for itself
    layouts.append(plan_layout(sizes, small.limits))
    assert [layout.held > 0 for layout in layouts[:2]] == [True, False]
    assert [layout.room_shared for layout in layouts] == [True] * 3 + [False]
    fleets = [trained_fleet(card, problem, [], [3], layout=layout) for layout in layouts]
    for fleet in fleets[1:]:
        check_same_bits(fleet, fleets[0])


@each_setting
def test_twice_the_threads_add_up_alike_in_half_the_turns(
    cpu_card: MakeCard, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whereof.retrain.cuda.source.OWN_THREADS", 1)
    problem, card = make_problem(**settings, epochs=2), cpu_card(threads=2)
    wide = replace(plan_layout(Sizes.of(problem), card.limits), threads=2, turns=1)
    narrow = replace(wide, threads=1, turns=2, moved=4)
    one, other = (
        trained_fleet(
            card, problem, [], [3, 5], layout=share_memory(shape, Sizes.of(problem), card.limits)
        )
        for shape in (wide, narrow)
    )
    assert (one.layout.threads, other.layout.turns) == (2, 2)
    check_same_bits(one, other)


def test_a_fleet_at_an_earlier_moment(card: Card) -> None:
    problem = make_problem(optimizer="adam", epochs=4)
    fleet = trained_fleet(card, replace(problem, config=problem.config.replace(epochs=2)))
    check_rows(fleet.rows(0), run_trainer(problem, 2 * N_FACTS).parameters(), 1e-9)
