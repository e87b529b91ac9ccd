"""What training takes where nothing is asked for: settings chosen from the data and its size.

How they were found is in docs/defaults.md.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whereof.models import Model, find_model
from whereof.training.config import NEGATIVES_UNSET

if TYPE_CHECKING:  # the table of settings is shown in help texts, which do not wait for NumPy
    from whereof.data import Dataset

CHOSEN = (
    "model",
    "dim",
    "inverse",
    "loss",
    "negatives",
    "l2",
    "n3",
    "optimizer",
    "rate",
    "epochs",
    "validate_every",
    "patience",
)
"""The settings that are chosen from the data."""

_RATES = {"sgd": 0.01, "adagrad": 0.1, "adam": 1e-3, "adam-lazy": 1e-3}
_TRACE_BYTES = 4e9
_LEAST_DIM, _MOST_EPOCHS = 16, 100
_FACTS = 4_000_000
"""Facts to train on, over all epochs."""
_RANKING_COST = 0.4
"""Five times the cost of ranking a candidate beside that of training on a negative."""


def default_settings(dataset: "Dataset", given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that suit a dataset and go with those that are given, which are left out."""
    loss = given.get("loss", "squared" if dataset.two_way and dataset.ratings else "softmax")
    model = find_model(given.get("model", _model_name(dataset, loss)))
    optimizer = given.get("optimizer", "sgd" if loss == "squared" else "adagrad")
    epochs = given.get("epochs", _epochs(dataset, loss))
    validates = len(dataset.valid) and given.get("validate_every", 1)
    chosen = {
        "model": model.name,
        "dim": _dim(dataset, model, given),
        "inverse": not dataset.two_way
        and dataset.subjects == dataset.objects
        and loss != "squared",
        "loss": loss,
        "negatives": None,
        **_penalties(dataset, model, loss, given.get("negatives")),
        "optimizer": optimizer,
        "rate": _RATES[optimizer],
        "epochs": epochs,
        "validate_every": _validate_every(dataset, epochs),
        "patience": 3 if validates else 0,
    }
    assert tuple(chosen) == CHOSEN
    return {name: value for name, value in chosen.items() if name not in given}


def _model_name(dataset: "Dataset", loss: str) -> str:
    if dataset.two_way:
        return "mf-biased" if loss == "squared" else "mf"
    return "complex"


def _dim(dataset: "Dataset", model: Model, given: Mapping[str, Any]) -> int:
    """100, or 64 in two-way data; less where the trace would take too much room."""
    most = 64 if dataset.two_way else 100
    if not given.get("trace", True):
        return most

    def trace_bytes(dim: int) -> int:
        return int(4 * dataset.n_facts * model.widths(dim).slots(2)[-1].stop)

    fitting = (dim for dim in range(most, _LEAST_DIM, -1) if trace_bytes(dim) <= _TRACE_BYTES)
    return next(fitting, _LEAST_DIM)


def _penalties(
    dataset: "Dataset", model: Model, loss: str, negatives: int | str | None
) -> dict[str, float]:
    """Weights of the norms: small graphs, where an entity has many facts, need less."""
    l2 = 0.1 if dataset.two_way else 0.0
    n3 = 0.1 if dataset.n_entities > 1000 else 0.03
    if dataset.two_way or model.match != "dot":
        n3 = 0.0
    if loss == "sigmoid":  # a mean over the candidates, so much smaller than the softmax's
        others = len(dataset.objects) - 1
        few = negatives if isinstance(negatives, int) else NEGATIVES_UNSET
        n_candidates = 1 + (others if negatives == "all" else min(few, others))
        l2, n3 = l2 / n_candidates, n3 / n_candidates
    return {"l2": l2, "n3": n3}


def _epochs(dataset: "Dataset", loss: str) -> int:
    """As many as make some millions of steps, within reason; without negatives steps are cheap."""
    return (
        _MOST_EPOCHS if loss == "squared" else max(min(_FACTS // dataset.n_facts, _MOST_EPOCHS), 1)
    )


def _validate_every(dataset: "Dataset", epochs: int) -> int:
    """Epochs that take about five times as long as to rank the validation facts among all."""
    ranked = len(dataset.valid) * len(dataset.objects)
    scored = dataset.n_facts * min(NEGATIVES_UNSET, len(dataset.objects))
    return max(min(math.ceil(_RANKING_COST * ranked / scored), epochs), 1)
