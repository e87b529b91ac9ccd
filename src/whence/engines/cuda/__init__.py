"""Retraining and training on a CUDA card: many models in one launch."""
