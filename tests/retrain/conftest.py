"""Engines as fixtures."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from whereof.retrain.engine import Engine, LocalEngine


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Ray on this machine, small; it keeps its token under HOME."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=80 << 20,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        yield ray
        ray.shutdown()


@pytest.fixture(params=["local", "ray"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "local":
        return LocalEngine(2)
    request.getfixturevalue("cluster")
    from whereof.retrain.ray import RayEngine

    return RayEngine()
