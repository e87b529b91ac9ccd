"""The config of a run: default settings chosen from the data, and presets.

docs/defaults.md says how the defaults were found.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from whereof.errors import WhereofError
from whereof.models import Model, find_model
from whereof.registry import unknown
from whereof.settings import plain
from whereof.training.config import NEGATIVES_UNSET, TrainConfig

if TYPE_CHECKING:  # the table of settings is shown in help texts, which do not wait for NumPy
    from whereof.data.dataset import Dataset

CHOSEN = (
    "model",
    "dim",
    "inverse",
    "init",
    "loss",
    "negatives",
    "l2",
    "n3",
    "optimizer",
    "rate",
    "epochs",
    "validate_every",
    "patience",
    "credit",
)
"""The settings that are chosen from the data."""

_RATES = {"sgd": 0.01, "adagrad": 0.1, "adam": 1e-3, "adam-lazy": 1e-3}
_TRACE_BYTES = 4e9
_LEAST_DIM, _MOST_EPOCHS = 16, 100
_FACTS = 4_000_000
"""Facts to train on, over all epochs."""
_WAITING = 100_000
"""Ratings to wait for an improvement, at least."""
_THIN = 5
"""A graph is thin if it has fewer facts than this for each of its entities."""
_RANKING_COST = 0.4
"""Five times the cost of ranking a candidate, relative to training on a negative."""

_PAPER = {
    "batch_size": 1,
    "constraint": "none",
    "credit": "step",
    "epsilon": 1e-7,
    "init": 0.05,
    "inverse": False,
    "loss": "softmax",
    "negatives_from": "entities",
    "optimizer": "adam",
    "order": "file",
    "rate": 3e-3,
    "redraw": False,
    "sampling": "independent",
    "schedule": "constant",
    "seed": 42,
}

_PAPER_BY_DATASET: dict[str, dict[str, Any]] = {
    "nations": {"dim": 10, "negatives": 13, "epochs": 10, "precision": "float64"},
    "fb15k-237": {"dim": 100, "negatives": 500, "epochs": 1},
    "movielens-100k": {"dim": 200, "negatives": 500, "epochs": 1, "loss": "sigmoid"},
}

PRESETS = ("paper",)


def default_settings(dataset: "Dataset", given: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults for settings that are not given; they depend on the data and the given ones."""
    loss = given.get("loss", "squared" if dataset.two_way and dataset.ratings else "softmax")
    two_way = "mf-biased" if loss == "squared" else "mf"
    model = find_model(given.get("model", two_way if dataset.two_way else "complex"))
    optimizer = given.get("optimizer", "sgd" if loss == "squared" else "adagrad")
    # Enough epochs for some millions of steps; those without negatives are cheap.
    enough = _MOST_EPOCHS if loss == "squared" else max(_FACTS // dataset.n_facts, 1)
    epochs = given.get("epochs", min(enough, _MOST_EPOCHS))
    products = model.match == "dot" and not model.two_way
    validates = len(dataset.valid) and given.get("validate_every", 1)
    chosen = {
        "model": model.name,
        "dim": _dim(dataset, model, given),
        "inverse": not dataset.two_way
        and dataset.subjects == dataset.objects
        and loss != "squared",
        # Steady training starts from rows that are large enough to tell objects apart.
        "init": 0.2 if optimizer == "adagrad" and products else 0.05,
        "loss": loss,
        "negatives": None,
        **_penalties(dataset, model, loss, given.get("negatives")),
        "optimizer": optimizer,
        "rate": _RATES[optimizer],
        "epochs": epochs,
        "validate_every": _validate_every(dataset, epochs),
        "patience": _patience(dataset, loss) if validates else 0,
        "credit": "forget",
    }
    assert tuple(chosen) == CHOSEN
    return {name: value for name, value in chosen.items() if name not in given}


def _patience(dataset: "Dataset", loss: str) -> int:
    """Validations without an improvement after which training stops."""
    if loss == "squared":  # the error of few ratings can rise for long before it falls
        return max(_WAITING // dataset.n_facts, 3)
    # The metrics of recommenders rise slowly, and go up and down on the way.
    return 8 if dataset.two_way else 3


def _dim(dataset: "Dataset", model: Model, given: Mapping[str, Any]) -> int:
    """100, or 64 in two-way data; less if the trace would be too large."""
    most = 64 if dataset.two_way else 100
    for dim in range(most, _LEAST_DIM, -1):
        trace_bytes = 4 * dataset.n_facts * model.widths(dim).slots(2)[-1].stop
        if trace_bytes <= _TRACE_BYTES or not given.get("trace", True):
            return dim
    return _LEAST_DIM


def _penalties(
    dataset: "Dataset", model: Model, loss: str, negatives: int | str | None
) -> dict[str, float]:
    """Weights of the penalties: less for small graphs, more for entities with few facts."""
    l2 = 0.1 if dataset.two_way else 0.0
    thin = dataset.n_facts < _THIN * dataset.n_entities
    n3 = (0.15 if thin else 0.1) if dataset.n_entities > 1000 else 0.03
    if dataset.two_way or model.match != "dot":
        n3 = 0.0
    if loss == "sigmoid":  # a mean over the candidates, so much smaller than the softmax's
        others = len(dataset.objects) - 1
        few = negatives if isinstance(negatives, int) else NEGATIVES_UNSET
        n_candidates = 1 + (others if negatives == "all" else min(few, others))
        l2, n3 = l2 / n_candidates, n3 / n_candidates
    return {"l2": l2, "n3": n3}


def _validate_every(dataset: "Dataset", epochs: int) -> int:
    """So that training between two validations takes about five times as long as one."""
    ranked = len(dataset.valid) * len(dataset.objects)
    scored = dataset.n_facts * min(NEGATIVES_UNSET, len(dataset.objects))
    return max(min(math.ceil(_RANKING_COST * ranked / scored), epochs), 1)


def choose_config(
    dataset: "Dataset", preset: str | None, settings: Mapping[str, Any]
) -> TrainConfig:
    """The config: a preset or the defaults for the data, overridden by explicit settings."""
    settings = {name: plain(value) for name, value in settings.items()}
    for item in fields(TrainConfig):
        if item.name in settings:
            TrainConfig.check(item, settings[item.name])
    if preset:
        chosen = preset_settings(preset, dataset.name)
        if dataset.two_way:
            chosen["model"] = "mf"
    else:
        chosen = default_settings(dataset, settings)
    config = TrainConfig.from_dict(chosen | dict(settings))
    _check_company(config, settings)
    if config.patience and not len(dataset.valid):
        raise WhereofError("patience needs validation facts, and the data has none: leave it out")
    return config


def asks_for_objects(preset: str | None, settings: Mapping[str, Any]) -> bool:
    """Whether ratings become objects, as a model of three columns needs."""
    model = settings.get("model")
    return not find_model(model).two_way if isinstance(model, str) else preset == "paper"


def _check_company(config: TrainConfig, settings: Mapping[str, Any]) -> None:
    """Refuse settings that would have no effect."""
    for name, needs, fits in (
        ("decay", "schedule exponential", config.schedule == "exponential"),
        ("decay_steps", "schedule exponential", config.schedule == "exponential"),
        ("beta1", "optimizer adam or adam-lazy", config.optimizer.startswith("adam")),
        ("beta2", "optimizer adam or adam-lazy", config.optimizer.startswith("adam")),
        ("accumulator", "optimizer adagrad", config.optimizer == "adagrad"),
        ("credit", "a trace", config.trace),
    ):
        if name in settings and not fits:
            raise WhereofError(f"{name} requires {needs}: leave it out, or choose that too")


def preset_settings(preset: str, dataset: str) -> dict[str, Any]:
    """The settings of a preset for a dataset; common ones if the paper does not use it."""
    if preset not in PRESETS:
        raise unknown("preset", preset, PRESETS)
    return _PAPER | _PAPER_BY_DATASET.get(dataset, {})
