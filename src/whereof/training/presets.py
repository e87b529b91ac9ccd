"""Named bundles of settings; an explicit setting overrides a preset's."""

from typing import Any

from whereof.errors import WhereofError

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


def preset_settings(preset: str, dataset: str) -> dict[str, Any]:
    """The settings of a preset for a dataset; of one the paper has not, those common to all."""
    if preset not in PRESETS:
        raise WhereofError(f"unknown preset {preset!r}; choose from {', '.join(PRESETS)}")
    return _PAPER | _PAPER_BY_DATASET.get(dataset, {})
