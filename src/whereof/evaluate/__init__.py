"""Evaluation: metrics of models, and protocols for explanations."""
