"""The methods that retrain the model, or repeat its training."""
