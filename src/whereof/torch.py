"""Your own PyTorch loop, tracked: `whereof.torch.Tracker`."""

from whereof.integrations.torch import Tracker, open_run

__all__ = ["Tracker", "open_run"]
