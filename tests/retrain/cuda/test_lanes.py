"""Threads that exchange numbers: several groups per warp, each sharing a row."""

from dataclasses import replace
from typing import Any

import pytest
from training.helpers import make_problem

from retrain.cuda.conftest import MakeCard
from retrain.cuda.helpers import (
    check_rows,
    check_same_bits,
    check_tracked,
    run_trainer,
    trained_fleet,
)
from whereof.retrain.cuda.layout import Sizes, plan_layout, share_memory

SETTINGS: list[dict[str, Any]] = [
    {"optimizer": "adam", "constraint": "unit", "inverse": True},
    {"optimizer": "adam-lazy", "sampling": "independent", "model": "complex", "negatives": 6},
    {"optimizer": "adagrad", "model": "mf-biased", "constraint": "max:0.8", "n3": 0.1},
    {"optimizer": "sgd", "model": "transe-l2", "loss": "sigmoid", "dim": 9},
]
each_setting = pytest.mark.parametrize(
    "settings", SETTINGS, ids=lambda it: f"{it['optimizer']}-{it.get('model', 'distmult')}"
)


@each_setting
@pytest.mark.parametrize(("lanes", "threads", "tracked"), [(2, 2, False), (4, 8, True)])
def test_lanes_come_to_what_the_cores_come_to(
    cpu_card: MakeCard, settings: dict[str, Any], lanes: int, threads: int, tracked: bool
) -> None:
    problem = make_problem(**settings, epochs=2)
    card, trainer = cpu_card(lanes=lanes, threads=threads), run_trainer(problem)
    fleet = trained_fleet(card, problem, tracked=tracked)
    assert fleet.layout.group > 1
    assert fleet.layout.threads == threads
    if tracked:
        check_tracked(fleet, trainer, 1e-9)
    check_rows(fleet.rows(0), trainer.parameters(), 1e-9)


@each_setting
def test_groups_in_half_the_turns_add_up_alike(
    cpu_card: MakeCard, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two groups of two threads in every warp; four warps, or two."""
    monkeypatch.setattr("whereof.retrain.cuda.source.OWN_THREADS", 4)
    problem = make_problem(**settings | {"epochs": 1, "dim": 3, "negatives": 7})
    card, sizes = cpu_card(lanes=4, threads=16), Sizes.of(problem)
    plain = replace(plan_layout(sizes, card.limits), group=2, moved=2, scored=4)
    plain = replace(plain, packs=-(-sizes.row // (2 * sizes.pack)))
    shapes = (replace(plain, threads=16, turns=1), replace(plain, threads=8, turns=2))
    one, other = (
        trained_fleet(card, problem, [], [3, 5], layout=share_memory(shape, sizes, card.limits))
        for shape in shapes
    )
    check_same_bits(one, other)
