"""Training: the config, the step kernels and the training loop.

`whereof.training.fit` imports the compiler, so import it only where it is used.
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
