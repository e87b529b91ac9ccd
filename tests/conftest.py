"""What holds for every test."""

from importlib.util import find_spec

# A machine with a card may have no hypothesis: `make test-cuda` takes it as it is.
if find_spec("hypothesis"):
    from hypothesis import settings

    # Compiling takes seconds and machines differ: no deadline. The same examples in every run.
    settings.register_profile("whence", deadline=None, derandomize=True)
    settings.load_profile("whence")
