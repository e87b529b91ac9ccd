"""Predictions, their scores and their standings."""
