"""What holds for every test."""

from hypothesis import settings

# Compiling takes seconds and machines differ: no deadline. The same examples in every run.
settings.register_profile("whence", deadline=None, derandomize=True)
settings.load_profile("whence")
