"""Runs that are served by a real server, and clients that read them."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra web")

import httpx
from fastapi import FastAPI
from trained import train, train_ratings

import whereof
from whereof.server.app import create_app
from whereof.server.serve import StoppableServer, listen


@contextmanager
def serving_app(app: FastAPI) -> Iterator[str]:
    """The address of a server in a thread of this process."""
    listening = listen("127.0.0.1", 0)
    server = StoppableServer(app)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.end()
        thread.join()


def serving(runs: dict[str, whereof.Run], **options: Any) -> AbstractContextManager[str]:
    """The address of a server for these runs."""
    return serving_app(create_app(runs, **options))


@pytest.fixture(scope="package")
def nations(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("served") / "nations", inverse=True)


@pytest.fixture(scope="package")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train_ratings(tmp_path_factory.mktemp("rated"), epochs=3)


@pytest.fixture(scope="package")
def address(nations: whereof.Run, ratings: whereof.Run) -> Iterator[str]:
    with serving({"nations": nations, "ratings": ratings}) as found:
        yield found


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60) as found:
        yield found
