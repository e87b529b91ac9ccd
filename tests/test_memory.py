"""The memory that there is, and arrays that are larger."""

import mmap
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof import memory
from whereof.memory import expect_random_access, group_limits, in_order, prefetch


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_limits_of_all_control_groups_count(tmp_path: Path) -> None:
    write(tmp_path / "memory.max", "9000\n")
    write(tmp_path / "jobs" / "memory.max", "max\n")
    write(tmp_path / "jobs" / "one" / "memory.max", "5000\n")
    assert group_limits("0::/jobs/one\n", tmp_path) == [5000, 9000]
    assert group_limits("0::/jobs\n", tmp_path) == [9000]


def test_a_container_sees_its_own_limit_at_the_top(tmp_path: Path) -> None:
    write(tmp_path / "memory" / "memory.limit_in_bytes", "7000\n")
    write(tmp_path / "cpu" / "memory.limit_in_bytes", "1\n")
    listed = "5:cpu:/docker/3f\n4:memory:/docker/3f\n0::/\n"
    assert group_limits(listed, tmp_path) == [7000]
    assert group_limits("", tmp_path) == []


@given(
    rows=st.lists(st.integers(0, 10_000), min_size=1).map(sorted),
    size=st.sampled_from([4, 240, 3200, 100_000]),
    first=st.sampled_from([0, 128]),
)
def test_every_row_is_in_one_read(rows: list[int], size: int, first: int) -> None:
    places = first + np.array(rows, np.int64) * size
    starts, stops = memory._spans(places, size)
    assert (starts % mmap.PAGESIZE == 0).all()
    assert (np.diff(places[np.searchsorted(places, starts)]) > size + memory._GAP).all()
    for place in places:
        (reads,) = np.nonzero((starts <= place) & (place + size <= stops))
        assert len(reads) == 1


@pytest.mark.parametrize("rows", [[], [0], [3, 1, 999]])
def test_random_access_changes_no_number(tmp_path: Path, rows: list[int]) -> None:
    path, numbers = tmp_path / "array.npy", np.arange(50_000.0).reshape(1000, 50)
    np.save(path, numbers)
    mapped = np.load(path, mmap_mode="r")
    expect_random_access(mapped)
    prefetch(mapped, np.array(rows, np.int64))
    with in_order(mapped):
        assert np.array_equal(mapped, numbers)
    prefetch(numbers, np.array(rows, np.int64))  # an array in memory has nothing to read


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
def test_reading_gives_the_memory_of_texts_back(tmp_path: Path) -> None:
    n, path = 600_000, tmp_path / "facts.tsv"
    with path.open("w") as file:
        file.writelines(
            f"/entity/{i % 9973:07}\tr{i % 7}\t/entity/{i % 9967:07}\n" for i in range(n)
        )
    (tmp_path / "few.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    code = """if True:
        import re, sys, whereof
        def size():
            return int(re.search(r"RssAnon:\\s*(\\d+)", open("/proc/self/status").read())[1]) << 10
        whereof.read(sys.argv[1])
        before = size()
        data = whereof.read(sys.argv[2])
        print((size() - before) / data.n_facts)
    """
    command = [sys.executable, "-c", code, str(tmp_path / "few.tsv"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 75  # bytes per fact; the texts alone take twice as many
