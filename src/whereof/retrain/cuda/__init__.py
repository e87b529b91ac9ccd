"""Retraining and training on a CUDA card: many models in one launch."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.retrain.cuda._card import open_card
    from whereof.retrain.cuda._checking import check_problem
    from whereof.retrain.cuda._engine import CudaEngine
    from whereof.retrain.cuda._rolling_back import open_backing
    from whereof.retrain.cuda._trainer import CudaTrainer

__all__ = ["CudaEngine", "CudaTrainer", "check_problem", "open_backing", "open_card"]

__getattr__ = lazily(
    __name__,
    {
        "open_card": "whereof.retrain.cuda._card",
        "CudaEngine": "whereof.retrain.cuda._engine",
        "check_problem": "whereof.retrain.cuda._checking",
        "open_backing": "whereof.retrain.cuda._rolling_back",
        "CudaTrainer": "whereof.retrain.cuda._trainer",
    },
)
