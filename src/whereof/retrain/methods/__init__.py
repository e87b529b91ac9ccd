"""The methods that train the model again."""
