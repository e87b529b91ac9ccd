"""Settings for all tests."""

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from whereof import registry

# A machine with a card may have no hypothesis: `make test-cuda` takes it as it is.
if find_spec("hypothesis"):
    from hypothesis import settings

    # Compiling takes seconds and machines differ: no deadline. The same examples in every run.
    settings.register_profile("whereof", deadline=None, derandomize=True)
    settings.load_profile("whereof")


@pytest.fixture(autouse=True)
def forget_names(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Names that a test adds to the registry are unknown to the next one."""

    def forget() -> None:
        for function in (registry.names, registry.load, registry._installed):
            getattr(function, "cache_clear", lambda: None)()  # a test may replace it

    monkeypatch.setattr(registry, "_ADDED", {**registry._ADDED})
    forget()
    return forget


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name parameters without bytes: gzip data contains the time, and processes must agree on
    names."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Distribute tests over processes by file, or by folder if they share a server or a cluster."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        if item.path.stem == "test_console":
            continue  # a page takes up to a minute, and shares nothing with others
        shared = item.path.parent.name in ("browser", "retrain")
        together = item.path.parent if shared else item.path
        item.add_marker(pytest.mark.xdist_group(str(together)))
