"""Training: the config, the step kernel and the loop around it.

`whence.training.fit` is imported where it is used, since it brings the compiler along.
"""

from whence.training.choosing import asks_for_objects, choose_config
from whence.training.config import TrainConfig
from whence.training.machine import MachineOptions
from whence.training.presets import PRESETS, preset_settings

__all__ = [
    "PRESETS",
    "MachineOptions",
    "TrainConfig",
    "asks_for_objects",
    "choose_config",
    "preset_settings",
]
