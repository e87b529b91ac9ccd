"""Small training problems."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.oracle import Oracle
from whereof.models import MODELS, Model
from whereof.training.config import TrainConfig
from whereof.training.problem import Problem
from whereof.training.trainer import Trainer

N_ENTITIES, N_RELATIONS, N_FACTS = 8, 3, 30
LOSSES = ("softmax", "sigmoid")
OPTIMIZERS = ("sgd", "adagrad", "adam", "adam-lazy")
TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
USERS, ITEMS = range(6), range(6, 14)


def make_facts(n_facts: int = N_FACTS, *, two_way: bool = False, seed: int = 0) -> NDArray:
    """Distinct facts in random order, three of them self-loops; (user, item) pairs if two-way."""
    if two_way:
        pairs = [(user, 0, item) for user in USERS for item in ITEMS]
        return np.random.default_rng(seed).permutation(np.array(pairs, np.int32))[:n_facts]
    loops = [(0, 0, 0), (3, 1, 3), (5, 2, 5)]
    others = np.indices((N_ENTITIES, N_RELATIONS, N_ENTITIES), np.int32).reshape(3, -1).T
    others = others[others[:, 0] != others[:, 2]]
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(others)[: n_facts - len(loops)]
    return rng.permutation(np.concatenate([np.array(loops, np.int32), chosen]))


def make_problem(
    facts: NDArray | None = None,
    *,
    model: str | Model = "distmult",
    n_entities: int = 0,
    **settings: Any,
) -> Problem:
    """A problem with few entities, in float64, with large rows."""
    kind = MODELS[model] if isinstance(model, str) else model
    defaults = {
        "dim": 3,
        "epochs": 3,
        "init": 0.5,
        "negatives": 4,
        "precision": "float64",
        "rate": 0.05,
    }
    config = TrainConfig(model=kind.name, **defaults | settings)
    facts = make_facts(two_way=kind.two_way) if facts is None else facts
    facts = np.ascontiguousarray(facts, np.int32)
    if kind.two_way:
        targets = (7 * facts[:, 0] + 3 * facts[:, 2]) % 5 - 2.0
        return Problem(kind, config, facts, ITEMS.stop, 0, USERS, ITEMS, targets)
    n_entities = n_entities or N_ENTITIES
    everyone = range(n_entities)
    return Problem(kind, config, facts, n_entities, N_RELATIONS, everyone, everyone)


def make_trainer(problem: Problem, weights: NDArray | None = None, **options: Any) -> Trainer:
    """A new trainer with a trace."""
    config = problem.config
    trace = np.zeros(
        (len(problem.facts), problem.trace_width), config.trace_precision or config.precision
    )
    given = None if weights is None else np.asarray(weights, np.float64)
    return Trainer(problem, trace, given, **options)


def finish(trainer: Trainer, chunk: int = 1000) -> Trainer:
    """Train to the end."""
    while not ended(trainer):
        trainer.advance(chunk)
    return trainer


def ended(trainer: Trainer) -> bool:
    return trainer.epoch_ended and trainer.epoch == trainer.problem.config.epochs - 1


def train(problem: Problem, weights: NDArray | None = None, **options: Any) -> Trainer:
    """A finished trainer with a trace."""
    return finish(make_trainer(problem, weights, **options))


def check_by_oracle(problem: Problem, trainer: Trainer, **options: Any) -> None:
    """Compare a finished trainer with the oracle."""
    wanted = Oracle(problem, **options).train()
    atol = TOLERANCE[problem.config.precision]
    if problem.config.optimizer == "adam":
        atol *= 100  # the drift is a series cut short: off by up to 4e-8 in double precision
    found = trainer.parameters()
    close = {"rtol": atol, "atol": atol}
    np.testing.assert_allclose(found.entity_rows, wanted.entity_rows, **close)
    np.testing.assert_allclose(found.relation_rows, wanted.relation_rows, **close)
    np.testing.assert_allclose(trainer.trace, wanted.trace, **close)
    np.testing.assert_allclose(trainer.meter, wanted.meter, **close)
    assert trainer.count[0] == wanted.count


def scatter_trace(problem: Problem, trace: NDArray) -> tuple[NDArray, NDArray]:
    """The trace summed by row, in the shape of both tables."""
    width, r_width = problem.widths.entity, problem.widths.relation
    slots = np.split(
        trace.astype(np.float64), [width, width + r_width, 2 * width + r_width], axis=1
    )
    s, r, o = problem.facts.T
    entities = np.zeros((problem.n_entities, width))
    relations = np.zeros((problem.n_relation_rows, r_width))
    np.add.at(entities, s, slots[0])
    np.add.at(entities, o, slots[2])
    np.add.at(relations, r, slots[1])
    if problem.config.inverse:
        np.add.at(relations, r + problem.n_relation_rows // 2, slots[3])
    return entities, relations
