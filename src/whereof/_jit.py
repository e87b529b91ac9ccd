"""How kernels are compiled: by numba, without the GIL, kept on disk, and never silently."""

import ctypes
import hashlib
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import event
from numba.core.errors import NumbaExperimentalFeatureWarning
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_ROOMS = ("data", "models", "training", "predict", "explain")
_SOURCES = (*(f"{room}/*.py" for room in _ROOMS), "evaluate/ranking.py")
"""Where kernels are written."""

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    # Enough freedom to vectorise sums; NaN and infinity keep their meaning.
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
# Kernels allocate nothing, so they need not count references: counting doubles a step's time.
_BARE = _OPTIONS | {"_nrt": False}

# A model reaches a kernel as a pair of function pointers, which numba calls experimental.
warnings.filterwarnings("ignore", category=NumbaExperimentalFeatureWarning)


_PACKAGE = Path(__file__).parent


@lru_cache
def source_digest() -> str:
    """Tells this version of the kernels from others: a hash of the files that hold them."""
    digest = hashlib.sha256(numba.__version__.encode())
    files = chain.from_iterable(sorted(_PACKAGE.glob(pattern)) for pattern in _SOURCES)
    for file in (Path(__file__), *files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache
def _cache_folder() -> str | None:
    """Where this version of the package keeps its kernels; None leaves it to numba.

    Numba notices an edit in a kernel's own file, but not in a file that the kernel inlines: so the
    folder is named after the sources, and those of other versions are removed.
    """
    own = _PACKAGE / "__pycache__"
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or own) / f"kernels-{source_digest()}"
    try:
        for other in own.glob("kernels-*"):
            if other.name != folder.name:
                shutil.rmtree(other, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a module-level function on first use; later processes load it from disk."""
    # The folder is read when caching is switched on, for this function alone.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = _cache_folder() or before
    try:
        # Inlined into the kernels that call it: called by name, it would be the copy that was
        # compiled alone in the process that compiles and another one in those that load it, and
        # the two round differently.
        return numba.njit(cache=True, forceinline=True, **_BARE)(function)
    finally:
        settings.CACHE_DIR = before


def inlined(function: Callable[..., Any]) -> Any:
    """Compile into every caller: for helpers that take whole records, which are dear to pass."""
    return numba.njit(inline="always", **_BARE)(function)


@lru_cache
def row_function(function: Callable[..., None], n_rows: int, dtype: str) -> Any:
    """A function of `n_rows` vectors as a C pointer that every kernel can call.

    Its type says only its signature, so one compiled kernel serves every model.
    """
    signature = numba.void(*[getattr(numba, dtype)[::1]] * n_rows)
    # A function typed into a prompt has no file to keep its machine code beside.
    on_disk = Path(function.__code__.co_filename).exists()
    return numba.cfunc(signature, cache=on_disk, **_OPTIONS)(function)


@intrinsic
def prefetch(typing_context: Any, array: Any, offset: Any) -> Any:
    """Ask for the cache line `offset` bytes into an array, which will be read and written soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data  # type: ignore[no-untyped-call]
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.gep(builder.bitcast(data, byte), [arguments[1]])
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        )
        builder.call(fetch, [address, word(1), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@inlined
def prefetch_row(array, row, width):
    """Prefetch the first `width` numbers of a row of a C-contiguous (n, m) array."""
    start = row * array.strides[0]
    for offset in range(0, width * array.itemsize, 64):
        prefetch(array, start + offset)  # type: ignore[call-arg]


def release_memory() -> None:
    """Hand what compiling has freed back to the system, where its allocator keeps hold of it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's own
        if trim is not None:
            trim(0)


class _OnCompile(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        if self.tell is not None:
            self.tell()
            self.tell = None

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announced(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if anything inside has to be compiled rather than loaded."""
    with event.install_listener("numba:compile", _OnCompile(tell)):
        yield
