"""Arrays that take long to compute: one thread computes, others wait or are stopped."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whereof.errors import Interrupted
from whereof.events import Events
from whereof.run.files import Arrays, Store, like

FITS = like(a=((3,), "float64"))


def ones() -> Arrays:
    return {"a": np.ones(3)}


class Stopped(Events):
    """Notes that it was asked, and stops the work."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def should_stop(self) -> bool:
        self.asked.set()
        return True


def test_arrays_of_another_run_are_not_read(tmp_path: Path) -> None:
    Store(tmp_path, "this run").get("one", ones, FITS)
    assert Store(tmp_path, "this run").find("one", FITS) is not None
    assert Store(tmp_path, "another run").find("one", FITS) is None


def test_who_waits_for_another_thread_can_be_stopped() -> None:
    store, go, started = Store(), threading.Event(), threading.Event()

    def slow() -> Arrays:
        started.set()
        assert go.wait(60)
        return ones()

    first = threading.Thread(target=store.get, args=("one", slow, FITS))
    first.start()
    assert started.wait(60)
    with pytest.raises(Interrupted):
        store.get("two", ones, FITS, Stopped())
    go.set()
    first.join()
    assert store.get("two", ones, FITS)["a"].tolist() == [1, 1, 1]


def test_who_need_not_wait_is_not_asked_to_stop() -> None:
    listener = Stopped()
    assert Store().get("one", ones, FITS, listener)["a"].tolist() == [1, 1, 1]
    assert not listener.asked.is_set()


def test_what_another_has_stored_is_known(tmp_path: Path) -> None:
    Store(tmp_path).get("one", ones, FITS)
    other = Store(tmp_path)
    assert "one" in other
    assert other.find("one", FITS)
    assert "two" not in other
    file = tmp_path / "prepared" / "one.npz"
    file.write_bytes(file.read_bytes()[:-50])  # truncated
    assert "one" not in Store(tmp_path)
    assert "one" not in Store()


def test_only_the_table_of_contents_is_read_to_know_that(tmp_path: Path) -> None:
    Store(tmp_path).get("one", ones, FITS)
    file = tmp_path / "prepared" / "one.npz"
    content = file.read_bytes()
    file.write_bytes(content.replace(np.ones(3).tobytes(), bytes(24)))  # its checksum is wrong now
    store = Store(tmp_path)
    assert "one" in store
    assert store.get("one", ones, FITS)["a"].tolist() == [1, 1, 1]  # computed again


def test_no_damage_of_a_file_becomes_an_array(tmp_path: Path) -> None:
    Store(tmp_path).get("one", ones, FITS)
    file = tmp_path / "prepared" / "one.npz"
    content = file.read_bytes()
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        assert Store(tmp_path).find("one", FITS) is None
        assert isinstance("one" in Store(tmp_path), bool)
    for size in range(len(content)):
        file.write_bytes(content[:size])
        assert Store(tmp_path).find("one", FITS) is None


@pytest.mark.parametrize(
    "array",
    [np.ones(4), np.ones((3, 1)), np.ones(3, np.float32), np.full(3, np.nan), np.array(["a"] * 3)],
    ids=["length", "shape", "type", "NaN", "text"],
)
def test_arrays_that_do_not_fit_are_computed_again(tmp_path: Path, array: Any) -> None:
    for arrays in ({"a": array}, {"b": np.ones(3)}, {"a": np.ones(3), "b": array}):
        Store(tmp_path).put("one", arrays)
        assert Store(tmp_path).get("one", ones, FITS)["a"].tolist() == [1, 1, 1]
