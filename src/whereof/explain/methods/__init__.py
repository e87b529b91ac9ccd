"""The methods that estimate influence from the run as it is, without retraining."""
