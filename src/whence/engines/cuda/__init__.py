"""Retraining and training on a CUDA card: many models in one launch."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.engines.cuda._card import open_card
    from whence.engines.cuda._checking import check_problem
    from whence.engines.cuda._engine import CudaEngine
    from whence.engines.cuda._rolling_back import open_backing
    from whence.engines.cuda._trainer import CudaTrainer

__all__ = ["CudaEngine", "CudaTrainer", "check_problem", "open_backing", "open_card"]

__getattr__ = lazily(
    __name__,
    {
        "open_card": "whence.engines.cuda._card",
        "CudaEngine": "whence.engines.cuda._engine",
        "check_problem": "whence.engines.cuda._checking",
        "open_backing": "whence.engines.cuda._rolling_back",
        "CudaTrainer": "whence.engines.cuda._trainer",
    },
)
