"""Retraining and training on a CUDA GPU: many models in one launch."""
