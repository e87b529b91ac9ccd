"""Runs that the tests of this room share, with their journals, so nothing is retrained twice."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import trained

import whereof
from evaluate import small


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., whereof.Run]:
    """Runs of `small.train` by their settings, each trained once."""
    folder = tmp_path_factory.mktemp("small")

    @cache
    def train(**settings: Any) -> whereof.Run:
        return small.train(folder, **settings)

    return train


@pytest.fixture(scope="session")
def nations(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    """A run on Nations whose journal the tests share."""
    return trained.train(tmp_path_factory.mktemp("nations") / "run")


@pytest.fixture(scope="session")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    """A rating model."""
    return trained.train_ratings(tmp_path_factory.mktemp("ratings"), epochs=20)
