"""Retraining without facts: engines, the journal of retrainings, and verdicts."""
