"""Train fleets and compare them with the CPU kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from training.helpers import make_trainer

from whereof.retrain.cuda.card import Card
from whereof.retrain.cuda.fleet import Fleet
from whereof.retrain.cuda.memory import LEDGERS
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.trainer import Trainer

NOTHING = np.zeros(0, np.int64)


def n_facts_in_all(problem: Problem) -> int:
    return len(problem.facts) * problem.config.epochs


def run_fleet(fleet: Fleet, n_facts: int, stretch: int = 10**9) -> Fleet:
    """Train on `n_facts` facts in launches of `stretch` facts, and apply pending drift."""
    done = 0
    while done < n_facts:
        epoch, position = divmod(done, len(fleet.problem.facts))
        fleet.enter(epoch, position)
        stop = min(position + min(stretch, n_facts - done), fleet.chunk.stop)
        fleet.advance(position, stop)
        done += stop - position
    fleet.settle()
    return fleet


def trained_fleet(
    card: Card, problem: Problem, *removed: Any, stretch: int = 10**9, **options: Any
) -> Fleet:
    """A fleet at the end of its training: one model for every set of removed facts."""
    sets = [np.asarray(facts, np.int64) for facts in removed or (NOTHING,)]
    fleet = Fleet(card, problem, sets, **options)
    return run_fleet(fleet, n_facts_in_all(problem), stretch)


def run_trainer(problem: Problem, n_facts: int | None = None) -> Trainer:
    """A CPU trainer after a number of facts, with trace and ledgers."""
    trainer, left = make_trainer(problem), n_facts or n_facts_in_all(problem)
    while left:
        left -= trainer.advance(left)
    return trainer


def check_close(found: Any, wanted: Any, tolerance: float, what: str = "") -> None:
    """Equal up to a part of the largest number."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, what
    assert np.isfinite(wanted).all()
    largest = float(np.abs(wanted).max(initial=0)) or 1.0
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * largest, err_msg=what)


def check_rows(found: Parameters, wanted: Parameters, tolerance: float) -> None:
    for name in ("entity_rows", "relation_rows"):
        check_close(getattr(found, name), getattr(wanted, name), tolerance, name)


def check_tracked(fleet: Fleet, trainer: Trainer, tolerance: float) -> None:
    """Rows, count, meter, trace and ledgers of a fleet of one."""
    check_rows(fleet.rows(0), trainer.parameters(), tolerance)
    assert fleet.to_host(fleet.arrays["counts"]).tolist() == trainer.count.tolist()
    check_close(fleet.to_host(fleet.arrays["meter"]), trainer.meter, tolerance, "meter")
    if fleet.problem.config.trace:
        check_close(fleet.to_host(fleet.arrays["trace"]), trainer.trace, tolerance, "trace")
    for end, table in zip(("", "_relations"), trainer.read(), strict=True):
        for name in LEDGERS:
            wanted = getattr(table, name)
            if len(wanted):
                found = fleet.to_host(fleet.arrays[f"{name}{end}"])
                check_close(found, wanted, tolerance, f"{name}{end}")


def bits_of(fleet: Fleet, model: int = 0) -> bytes:
    rows = fleet.rows(model)
    return rows.entity_rows.tobytes() + rows.relation_rows.tobytes()


def state_of(fleet: Fleet) -> dict[str, NDArray[Any]]:
    """Everything that training changes, except working memory."""
    names = ("entities", "relations", "entity_counts", "relation_counts", "counts", "meter")
    names += ("trace", *(f"{name}{end}" for name in LEDGERS for end in ("", "_relations")))
    return {
        name: fleet.to_host(fleet.arrays[name]) for name in names if fleet.arrays[name] is not None
    }


def check_same_bits(found: Fleet, wanted: Fleet) -> None:
    mine, theirs = state_of(found), state_of(wanted)
    assert mine.keys() == theirs.keys()
    for name in mine:
        assert mine[name].tobytes() == theirs[name].tobytes(), name
