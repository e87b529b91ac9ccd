"""The config of a run: a preset or what suits the data, and what is asked for."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from whereof.errors import WhereofError
from whereof.models import find_model
from whereof.settings import plain
from whereof.training.config import TrainConfig
from whereof.training.defaults import default_settings
from whereof.training.presets import preset_settings

if TYPE_CHECKING:
    from whereof.data import Dataset


def choose_config(
    dataset: "Dataset", preset: str | None, settings: Mapping[str, Any]
) -> TrainConfig:
    """A preset, or what suits the data; explicit settings override both."""
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
    """Whether ratings, where there are any, are to be objects: for a model of three columns."""
    model = settings.get("model")
    return not find_model(model).two_way if isinstance(model, str) else preset == "paper"


def _check_company(config: TrainConfig, settings: Mapping[str, Any]) -> None:
    """Refuse settings that cannot take effect."""
    for name, needs, fits in (
        ("decay", "schedule exponential", config.schedule == "exponential"),
        ("decay_steps", "schedule exponential", config.schedule == "exponential"),
        ("beta1", "optimizer adam or adam-lazy", config.optimizer.startswith("adam")),
        ("beta2", "optimizer adam or adam-lazy", config.optimizer.startswith("adam")),
        ("credit", "a trace", config.trace),
    ):
        if name in settings and not fits:
            raise WhereofError(f"{name} goes with {needs}: leave it out, or choose that too")
