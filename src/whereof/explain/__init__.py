"""Explanations: which training facts a prediction is made of."""
