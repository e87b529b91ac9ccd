"""Training: the config, the step kernel and the loop around it.

`whence.training.fit` is imported where it is used, since it brings the compiler along.
"""

from whence.training.config import TrainConfig
from whence.training.defaults import default_settings
from whence.training.presets import PRESETS, preset_settings

__all__ = ["PRESETS", "TrainConfig", "default_settings", "preset_settings"]
