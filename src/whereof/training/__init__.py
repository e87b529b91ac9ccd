"""Training: the config, the step kernel and the loop around it.

`whereof.training.fit` is imported where it is used, since it brings the compiler along.
"""

from whereof.training.config import MachineOptions, TrainConfig
from whereof.training.defaults import (
    PRESETS,
    asks_for_objects,
    choose_config,
    preset_settings,
)

__all__ = [
    "PRESETS",
    "MachineOptions",
    "TrainConfig",
    "asks_for_objects",
    "choose_config",
    "preset_settings",
]
