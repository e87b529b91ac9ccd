"""Compile kernels with numba: they run without the GIL and are cached on disk."""

import dis
import io
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import errors, event
from numba.core.caching import IndexDataCacheFile, NullCache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.extending import intrinsic, typeof_impl
from numba.misc.appdirs import AppDirs
from numba.np.arrayobj import make_array

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    # These flags allow the compiler to vectorise sums. NaN and infinity keep their meaning.
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
# Kernels do not allocate memory, so they need no reference counting, which would double a step's
# time.
_BARE = _OPTIONS | {"_nrt": False}
_LIBRARY = re.compile(r"(math|numba|numpy)\b")
"""Modules whose code is not read: their version is part of the key."""
_VERSION = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"

# A kernel gets a model as a pair of function pointers, which numba calls experimental.
warnings.filterwarnings("ignore", category=errors.NumbaExperimentalFeatureWarning)

# With colorama installed, numba wraps standard output for every error message that it builds, and
# it builds many that nobody sees. From several threads the wrappers nest without end.
for _name in {"init", "reinit", "deinit"} & vars(errors).keys():
    setattr(errors, _name, lambda: None)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a module-level function on first use. Later processes load it from disk."""
    # A kernel is inlined into kernels that call it. Called by name, it would be compiled alone in
    # the process that compiles, but be another copy in processes that load it, and the two round
    # differently.
    compiled = numba.njit(forceinline=True, **_BARE)(function)
    compiled._cache = _KernelCache(function)
    return compiled


def is_compiled(compiled: Any) -> bool:
    """Whether a kernel was compiled for some types, by this process or by one before."""
    return bool(compiled.signatures) or compiled._cache.is_stored()


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a helper into every caller: for helpers that take records, which are slow to pass."""
    return numba.njit(inline="always", **_BARE)(function)


def called(function: Callable[..., Any]) -> Any:
    """Compile a helper once, however often kernels call it: a long kernel compiles faster."""
    return numba.njit(**_BARE)(function)


class _RowFunction(CFunc):
    """A C function that knows its type: numba would build the type again in every call."""

    _numba_type_: types.FunctionType


typeof_impl.register(_RowFunction, typeof_impl.dispatch(object))  # reads _numba_type_


@lru_cache
def row_function(function: Callable[..., None], n_rows: int, dtype: str) -> Any:
    """Compile a function of `n_rows` vectors to a C pointer that every kernel can call.

    Its type is its signature only, so one compiled kernel works for every model.
    """
    vectors = (getattr(numba, dtype)[::1],) * n_rows
    compiled: Any = _RowFunction(function, (vectors, types.void), locals={}, options=_OPTIONS)
    compiled._numba_type_ = types.FunctionType(compiled._sig)
    # A function typed into a prompt has no file, and the next session has another one.
    if Path(function.__code__.co_filename).exists():
        compiled._cache = _KernelCache(function)
    compiled.compile()
    return compiled


class _CheckedFile(IndexDataCacheFile):
    """Files of numba's cache with a checksum at their end: damaged machine code is never run."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        with super()._open_for_write(filepath) as file:
            yield (content := io.BytesIO())
            file.write(content.getvalue() + sha256(content.getvalue()).digest())

    def _load_index(self) -> Any:
        with suppress(FileNotFoundError):
            _check_end(self._index_path)
        return super()._load_index()  # type: ignore[no-untyped-call]

    def _load_data(self, name: str) -> Any:
        _check_end(self._data_path(name))  # type: ignore[no-untyped-call]
        return super()._load_data(name)  # type: ignore[no-untyped-call]


def _check_end(path: str) -> None:
    content = Path(path).read_bytes()
    if sha256(content[:-32]).digest() != content[-32:]:
        raise ValueError(f"{path} is damaged")


class _KernelCache(NullCache):
    """A kernel's machine code on disk, keyed by what it was compiled from.

    Numba's own cache is keyed by the text of the kernel's file: it recompiles when a comment
    changes, and misses a change in a file that the kernel inlines.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        file, rebuild = self._file(sig), CompileResult._rebuild
        # A damaged file may raise anything; the kernel is then compiled and stored again.
        with suppress(Exception):
            found = file and file.load((sig, target_context.codegen().magic_tuple()))
            return found and rebuild(target_context, *found)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        file = self._file(sig)
        # Code that contains an address is good for this process only.
        if file is None or data.lifted or data.library.has_dynamic_globals:
            return
        folder, (name, digest) = Path(file._cache_path), self._names
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):  # such as a full disk
            if not os.environ.get("NUMBA_CACHE_DIR"):  # which several versions may share
                for other in folder.glob(f"{name}-*.{_VERSION}*"):
                    if digest not in other.name:
                        other.unlink(missing_ok=True)
            try:
                file._load_index()
            except Exception:  # a damaged index may raise anything
                Path(file._index_path).unlink(missing_ok=True)
            file.save((sig, data.codegen.magic_tuple()), data._reduce())

    def is_stored(self) -> bool:
        """Whether a process has stored the kernel as it is now."""
        folder, (name, digest) = _cache_folder(os.environ.get("NUMBA_CACHE_DIR")), self._names
        return folder is not None and any(folder.glob(f"{name}-{digest}-*.{_VERSION}*"))

    @cached_property
    def _names(self) -> tuple[str, str]:
        """The name of the kernel, and the digest of what it is compiled from."""
        code, name = self._function.__code__, self._function.__qualname__
        options = [(key, sorted(it) if key == "fastmath" else it) for key, it in _BARE.items()]
        digest = _hash(code_digest(self._function), numba.__version__, options)
        plain = f"{Path(code.co_filename).stem}.{name.replace('<', '').replace('>', '')}"
        return f"{plain}-{_hash(self._function.__module__)}", digest

    def _file(self, signature: Any) -> Any:
        """The files for one signature; None if there is no folder for them."""
        folder, (name, digest) = _cache_folder(os.environ.get("NUMBA_CACHE_DIR")), self._names
        # The index contains the argument classes by name: it cannot be read after they move.
        classes = _hash([*map(_classes, getattr(signature, "args", signature))])
        stamp = f"{name.rpartition('-')[2]}-{digest}-{classes}"
        path = f"{name}-{digest}-{classes}.{_VERSION}"
        return folder and _CheckedFile(str(folder), path, stamp)  # type: ignore[no-untyped-call]


@lru_cache
def _cache_folder(chosen: str | None) -> Path | None:
    """The first writable folder: the chosen one, next to the package, or the user's cache."""
    beside = Path(__file__).parent / "__pycache__" / "kernels"
    users = Path(AppDirs(appname="whereof", appauthor=False).user_cache_dir) / "kernels"  # type: ignore[no-untyped-call]
    for folder in (Path(chosen) / "whereof",) if chosen else (beside, users):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            return folder
    return None


def _classes(kind: Any) -> Any:
    """Where the classes of a named tuple's type are defined, including nested ones."""
    found = getattr(kind, "instance_class", None)
    inside = [_classes(it) for it in getattr(kind, "types", ())]
    return (found and f"{found.__module__}.{found.__qualname__}", inside)


@cache
def code_digest(function: Callable[..., Any]) -> str:
    """A hash of all that is compiled into a function, without docstrings, comments and layout.

    It covers bytecode and constants of the function, and of every function and global it uses, in
    any file.
    """
    return _hash(*_parts(function, set()))


def _hash(*parts: Any) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:12]


def _parts(thing: Any, seen: set[Any]) -> Iterator[str]:
    """What a global of a kernel contributes to its digest."""
    thing = getattr(thing, "py_func", getattr(thing, "_defn", thing))  # kernels, intrinsics
    yield f"{type(thing).__name__} "
    if isinstance(thing, FunctionType):
        yield f"{thing.__module__}.{thing.__qualname__} "
        if thing not in seen and not _LIBRARY.match(thing.__module__):
            seen.add(thing)
            cells = [cell.cell_contents for cell in thing.__closure__ or ()]
            yield from _parts((thing.__defaults__, cells), seen)
            yield from _code_parts(thing.__code__, thing.__globals__, seen)
    elif isinstance(thing, tuple | list):
        for item in thing:
            yield from _parts(item, seen)
    elif isinstance(thing, type):
        yield f"{thing.__module__}.{thing.__qualname__} {getattr(thing, '_fields', '')}"
    elif isinstance(thing, np.ndarray):
        yield f"{thing.dtype} {thing.shape} {thing.tobytes()!r}"
    elif isinstance(thing, int | float | complex | str | bytes | np.generic | np.dtype):
        yield repr(thing)
    else:  # such as a module
        yield str(getattr(thing, "__name__", ""))


def _code_parts(code: CodeType, names: dict[str, Any], seen: set[Any]) -> Iterator[str]:
    """Bytecode of a function with its constants, and the globals it names."""
    yield _bytecode(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant, names, seen)
    for name in code.co_names:
        if name in names:
            yield from _parts(names[name], seen)
            if isinstance(names[name], ModuleType) and not _LIBRARY.match(names[name].__name__):
                for attribute in code.co_names:
                    yield from _parts(getattr(names[name], attribute, None), seen)


@cache
def _bytecode(code: CodeType) -> str:
    """Instructions with the constants they load. No instruction loads the docstring."""
    parts = [f"{code.co_names} {code.co_varnames} {code.co_argcount}"]
    number = 0
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        number = number << 8 | low
        constant = code.co_consts[number] if operation in dis.hasconst else number
        if isinstance(constant, frozenset):  # in another order in every process
            constant = sorted(map(repr, constant))
        parts.append(f"{operation} {'' if isinstance(constant, CodeType) else repr(constant)}")
        number = number if operation == dis.EXTENDED_ARG else 0
    return " ".join(parts)


@intrinsic
def prefetch(typing_context: Any, array: Any, offset: Any) -> Any:
    """Prefetch the cache line `offset` bytes into an array, which will be read and written soon."""

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


class _OnCompile(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell_once = cache(tell)

    def on_start(self, event: Any) -> None:
        self._tell_once()

    def on_end(self, event: Any) -> None:
        pass


def announced(tell: Callable[[], None]) -> AbstractContextManager[Any]:
    """Call `tell` once if something inside is compiled and not loaded from disk."""
    return event.install_listener("numba:compile", _OnCompile(tell))
