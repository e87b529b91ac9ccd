"""GPUs as fixtures: a stand-in on the CPU and, if there is one, the real GPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retrain.cuda.cpu_card import CpuCard
from whereof.errors import WhereofError
from whereof.retrain.cuda.card import Card, open_card

MakeCard = Callable[..., CpuCard]


@pytest.fixture(scope="session")
def cpu_card(tmp_path_factory: pytest.TempPathFactory) -> MakeCard:
    """Makes stand-ins that share compiled code; see `CpuCard` for options."""
    folder: Path = tmp_path_factory.mktemp("kernels")

    def make(**choices: Any) -> CpuCard:
        return CpuCard(folder, **choices)

    return make


@pytest.fixture
def cuda_card() -> Card:
    """The GPU of this machine; tests that need it are skipped without one."""
    try:
        return open_card("this test")
    except WhereofError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def card(request: pytest.FixtureRequest) -> Card:
    """The device that runs kernels: first the stand-in, then the real GPU."""
    if request.param == "cpu":
        return request.getfixturevalue("cpu_card")()
    return request.getfixturevalue("cuda_card")
