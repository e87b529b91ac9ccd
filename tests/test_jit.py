"""Compiled kernels are cached on disk by their content."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whereof._jit import code_digest, is_compiled, row_function

HELPERS = '''
from whereof._jit import inlined, kernel
STEP = 2


@inlined
def twice(x):
    """Two times a number."""
    return STEP * x


@kernel
def once(x):
    return x
'''

KERNELS = '''
from whereof._jit import kernel
from made.helpers import once, twice


@kernel
def work(values):
    """Two times a vector."""
    for k in range(values.shape[0]):
        values[k] = once(twice(values[k])) + 1


def query(s, r, q):
    """A sum."""
    for k in range(q.shape[0]):
        q[k] = s[k] + r[k]
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with two files of kernels, on the path of imports."""
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "helpers.py").write_text(HELPERS)
    (folder / "kernels.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return folder


def loaded(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The kernels as the files have them now."""
    for name in ("made", "made.helpers", "made.kernels"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.invalidate_caches()
    return importlib.import_module("made.kernels")


def digests(monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    module = loaded(monkeypatch)
    return code_digest(module.work.py_func), code_digest(module.query)


def run(module: Any) -> tuple[list[float], bool]:
    """What the kernel makes of 1 and 2, and whether it was compiled."""
    values = np.array([1.0, 2.0])
    module.work(values)
    return values.tolist(), not sum(module.work.stats.cache_hits.values())


def test_comments_and_docstrings_compile_nothing(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_compiled(loaded(monkeypatch).work)
    assert run(loaded(monkeypatch)) == ([3, 5], True)
    assert is_compiled(loaded(monkeypatch).work)
    for name, text in (("helpers.py", HELPERS), ("kernels.py", KERNELS)):
        other = text.replace('"""Two', '"""Exactly two').replace("for k", "# Each.\n    for k")
        (package / name).write_text(f"# A first line.\n\n{other}")
    assert run(loaded(monkeypatch)) == ([3, 5], False)


def test_another_body_is_compiled_also_where_it_is_inlined_from_another_file(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(loaded(monkeypatch)) == ([3, 5], True)
    (package / "helpers.py").write_text(HELPERS.replace("STEP * x", "STEP * x * x"))
    assert run(loaded(monkeypatch)) == ([3, 9], True)


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("helpers.py", '"""Two times a number."""', "", (False, False)),
        ("kernels.py", '"""A sum."""', '"""s + r."""', (False, False)),
        ("helpers.py", "STEP = 2", "STEP = 3", (True, False)),
        ("helpers.py", "STEP = 2", "STEP = 2.0", (True, False)),
        ("helpers.py", "return x\n", "return x + 0.5\n", (True, False)),
        ("kernels.py", ")) + 1", ")) + 2", (True, False)),
        ("kernels.py", "s[k] + r[k]", "s[k] - r[k]", (False, True)),
    ],
)
def test_a_digest_changes_with_what_is_compiled(
    file: str,
    old: str,
    new: str,
    changed: tuple[bool, bool],
    package: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = digests(monkeypatch)
    text = (package / file).read_text()
    assert old in text
    (package / file).write_text(text.replace(old, new))
    after = digests(monkeypatch)
    assert tuple(a != b for a, b in zip(before, after, strict=True)) == changed


def test_a_pointer_to_a_models_function_is_kept_on_disk(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert row_function(loaded(monkeypatch).query, 3, "float64").cache_hits == 0
    text = (package / "kernels.py").read_text().replace('"""A sum."""', "")
    (package / "kernels.py").write_text(text)
    assert row_function(loaded(monkeypatch).query, 3, "float64").cache_hits == 1
    (package / "kernels.py").write_text(text.replace("s[k] + r[k]", "s[k] - r[k]"))
    assert row_function(loaded(monkeypatch).query, 3, "float64").cache_hits == 0


def test_copies_of_a_package_share_kernels_and_other_processes_load_them(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(loaded(monkeypatch)) == ([3, 5], True)
    copy = package.parent / "elsewhere"
    copy.mkdir()
    package.rename(copy / "made")
    code = (
        "import numpy, made.kernels as it; it.work(numpy.ones(2));"
        "print(sum(it.work.stats.cache_hits.values()))"
    )
    path = os.pathsep.join([str(copy), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"


def test_a_folder_that_cannot_be_written_is_not_used(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package.parent / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(package.parent / "file"))
    assert run(loaded(monkeypatch)) == ([3, 5], True)


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", b"damaged", None], ids=["empty", "other", "flipped"])
def test_a_damaged_kernel_is_compiled_again(
    package: Path, monkeypatch: pytest.MonkeyPatch, ending: str, content: bytes | None
) -> None:
    assert run(loaded(monkeypatch)) == ([3, 5], True)
    assert run(loaded(monkeypatch)) == ([3, 5], False)
    (file,) = (package.parent / "cache").glob(f"**/kernels.work-*.{ending}")
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 1
    file.write_bytes(bytes(whole) if content is None else content)
    assert run(loaded(monkeypatch)) == ([3, 5], True)
    assert run(loaded(monkeypatch)) == ([3, 5], False)


def test_other_versions_of_a_kernel_are_removed(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = package.parent / "own"
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr("whereof._jit._cache_folder", lambda chosen: folder)
    run(loaded(monkeypatch))
    before = {file.name for file in folder.glob("kernels.work-*")}
    (package / "helpers.py").write_text(HELPERS.replace("STEP = 2", "STEP = 3"))
    run(loaded(monkeypatch))
    after = {file.name for file in folder.glob("kernels.work-*")}
    assert len(before) == len(after) == 2  # an index and the machine code
    assert not before & after


COLORAMA = """
import sys
__version__ = "0.4.6"


class _Codes:
    def __getattr__(self, name):
        return ""


class _Wrapped:
    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        return getattr(self.stream, name)


def init():
    sys.stdout = _Wrapped(sys.stdout)


reinit = init
Fore = Back = Style = _Codes()


def deinit():
    pass
"""


def test_compiling_with_colorama_leaves_standard_output_alone(package: Path) -> None:
    (package.parent / "colorama.py").write_text(COLORAMA)
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy
before = sys.stdout
import made.kernels
from numba.core import errors

def work(number):
    made.kernels.work(numpy.ones(2, ("f4", "f8")[number % 2]))
    return errors.termcolor().errmsg("wrong")

with ThreadPoolExecutor(4) as pool:
    assert all("wrong" in text for text in pool.map(work, range(20)))
assert sys.stdout is before
assert "colorama" in sys.modules
print("fine")
"""
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "fine", done.stderr
