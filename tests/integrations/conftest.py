"""Small tensors: more threads only wait for each other."""

from contextlib import suppress

with suppress(ImportError):
    import torch

    torch.set_num_threads(1)
