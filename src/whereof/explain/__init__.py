"""Which facts made the model predict what it predicts."""
