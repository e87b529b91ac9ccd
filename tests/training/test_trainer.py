"""The result does not depend on how many facts each `advance` takes."""

from typing import Any

import numpy as np
import pytest

from training.helpers import N_FACTS, OPTIMIZERS, ended, finish, make_problem, make_trainer, train
from whereof.training.tables import Ledgers
from whereof.training.trainer import Trainer


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of seven facts, so that an epoch has several."""
    monkeypatch.setattr("whereof.training.timeline._BLOCK", 7)


def assert_same_bits(found: Trainer, wanted: Trainer) -> None:
    assert np.array_equal(found.parameters().entity_rows, wanted.parameters().entity_rows)
    assert np.array_equal(found.parameters().relation_rows, wanted.parameters().relation_rows)
    assert np.array_equal(found.trace, wanted.trace)
    assert np.array_equal(found.meter, wanted.meter)
    assert found.count[0] == wanted.count[0]
    for mine, others in zip(found.read(), wanted.read(), strict=True):
        for name, a, b in zip(mine._fields, mine, others, strict=True):
            assert np.array_equal(a, b), name


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("chunk", [1, 5, 1000])
@pytest.mark.usefixtures("small_blocks")
def test_stretches_of_any_length_give_the_same_bits(
    optimizer: str, batch_size: int, chunk: int
) -> None:
    problem = make_problem(
        optimizer=optimizer, batch_size=batch_size, constraint="max:0.5", inverse=True
    )
    assert_same_bits(finish(make_trainer(problem), chunk), finish(make_trainer(problem), 3))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_blocks_of_any_size_give_the_same_outcome(
    optimizer: str, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = make_problem(
        optimizer=optimizer, batch_size=batch_size, schedule="exponential", decay_steps=10
    )
    removed = np.arange(N_FACTS) % 7 < 2
    whole = train(problem, removed)
    monkeypatch.setattr("whereof.training.timeline._BLOCK", 5)
    parts = train(problem, removed)
    close = {"rtol": 0, "atol": 1e-12 if optimizer == "adam" else 0}
    np.testing.assert_allclose(
        parts.parameters().entity_rows, whole.parameters().entity_rows, **close
    )
    np.testing.assert_allclose(parts.trace, whole.trace, **close)


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "adam-lazy"])
@pytest.mark.parametrize("stop", [0, 3, 7, 10, 28, 30, 45, 60])
@pytest.mark.usefixtures("small_blocks")
def test_a_restored_snapshot_goes_on_to_the_same_bits(optimizer: str, stop: int) -> None:
    problem = make_problem(
        optimizer=optimizer, constraint="max:0.5", schedule="exponential", decay_steps=10
    )
    weights = np.minimum(np.arange(N_FACTS) % 11, 1.0)
    first = make_trainer(problem, weights, ledgers=Ledgers.ALL)
    done = 0
    while done < stop:
        done += first.advance(stop - done)
    snapshot = {name: array.copy() for name, array in first.snapshot().items()}
    trace = first.trace.copy()
    wanted = finish(first)

    second = Trainer(problem, trace, weights, ledgers=Ledgers.ALL)
    second.restore(snapshot)
    middle = second.parameters().entity_rows
    assert_same_bits(finish(second), wanted)
    assert not np.array_equal(middle, wanted.parameters().entity_rows)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.usefixtures("small_blocks")
def test_looking_on_the_way_changes_nothing(optimizer: str) -> None:
    problem = make_problem(optimizer=optimizer, constraint="max:0.5")
    looking = make_trainer(problem)
    seen = [looking.parameters().entity_rows]
    while not ended(looking):
        looking.advance(4)
        seen.append(looking.parameters().entity_rows)
        looking.read()
        looking.snapshot()
    assert_same_bits(looking, train(problem))
    assert not np.array_equal(seen[0], seen[-1])
    assert np.array_equal(seen[0], problem.initial_rows()[0])


def test_parameters_are_copies() -> None:
    trainer = make_trainer(make_problem())
    rows = trainer.parameters().entity_rows
    before = rows.copy()
    trainer.advance(10)
    assert np.array_equal(rows, before)
    assert rows.flags.c_contiguous


def test_advance_takes_whole_batches_and_says_how_many_facts() -> None:
    trainer = make_trainer(make_problem(batch_size=4))
    taken = [trainer.advance(6), trainer.advance(1), trainer.advance(8), trainer.advance(1000)]
    assert taken == [4, 4, 8, N_FACTS - 16]
    assert trainer.epoch_ended


def test_the_meter_counts_facts_and_loss_falls() -> None:
    trainer = make_trainer(make_problem(epochs=20, negatives="all"))
    losses: list[Any] = []
    while not ended(trainer):
        before = trainer.meter.copy()
        trainer.advance(N_FACTS)
        assert trainer.meter[1] - before[1] == N_FACTS
        losses.append(trainer.meter[0] - before[0])
    assert losses[-1] < 0.8 * losses[0]
