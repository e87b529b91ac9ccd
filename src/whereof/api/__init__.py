"""The public functions: train a model, open a run, ask it."""
