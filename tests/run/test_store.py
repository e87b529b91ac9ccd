"""Arrays that take long to compute: one thread computes, others wait or are stopped."""

import threading
from pathlib import Path

import numpy as np
import pytest

from whereof.errors import Interrupted
from whereof.events import Events
from whereof.run.files import Arrays, Store


def ones() -> Arrays:
    return {"a": np.ones(3)}


class Stopped(Events):
    """Notes that it was asked, and stops the work."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def should_stop(self) -> bool:
        self.asked.set()
        return True


def test_who_waits_for_another_thread_can_be_stopped() -> None:
    store, go, started = Store(), threading.Event(), threading.Event()

    def slow() -> Arrays:
        started.set()
        assert go.wait(60)
        return ones()

    first = threading.Thread(target=store.get, args=("one", slow))
    first.start()
    assert started.wait(60)
    with pytest.raises(Interrupted):
        store.get("two", ones, Stopped())
    go.set()
    first.join()
    assert store.get("two", ones)["a"].tolist() == [1, 1, 1]


def test_who_need_not_wait_is_not_asked_to_stop() -> None:
    listener = Stopped()
    assert Store().get("one", ones, listener)["a"].tolist() == [1, 1, 1]
    assert not listener.asked.is_set()


def test_what_another_has_stored_is_known(tmp_path: Path) -> None:
    Store(tmp_path).get("one", ones)
    other = Store(tmp_path)
    assert "one" in other
    assert "two" not in other
    file = tmp_path / "prepared" / "one.npz"
    file.write_bytes(file.read_bytes()[:-10])  # truncated
    assert "one" not in Store(tmp_path)
    assert "one" not in Store()


def test_only_the_table_of_contents_is_read_to_know_that(tmp_path: Path) -> None:
    Store(tmp_path).get("one", ones)
    file = tmp_path / "prepared" / "one.npz"
    content = file.read_bytes()
    file.write_bytes(content.replace(np.ones(3).tobytes(), bytes(24)))  # its checksum is wrong now
    store = Store(tmp_path)
    assert "one" in store
    assert store.get("one", ones)["a"].tolist() == [1, 1, 1]  # computed again
