"""The one exception that stands for bad input."""


class WhereofError(Exception):
    """Bad input: one line that names the bad value, what is allowed and the remedy."""
