"""The card of this machine, through CuPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from whereof._extras import need
from whereof.errors import WhereofError

# Divisions and roots are off by a bit or two, for a third of the work. What is multiplied and added
# in one is spelled out, so that kernels for one model and for many round alike.
_OPTIONS = ("--std=c++17", "--prec-div=false", "--prec-sqrt=false", "--fmad=false")


@dataclass(frozen=True)
class Limits:
    """What a card has for the blocks of threads that run on it."""

    n_processors: int
    threads: int
    """Of one block."""
    lanes: int
    """Threads that can pass numbers to each other."""
    shared_bytes: int
    """Shared memory of a processor."""
    block_bytes: int
    """Shared memory that one block can have."""
    cache_bytes: int
    """Of the cache that all processors share."""


class Card(Protocol):
    """Somewhere to run kernels: memory, a compiler and a way to launch."""

    xp: Any
    """NumPy's functions over its memory."""
    limits: Limits
    name: str
    identity: str
    """What rounding depends on."""
    memory_error: type[Exception]
    """What is raised where memory is short."""

    def compile(self, source: str) -> Any:
        """Kernels out of their source."""

    def launch(
        self,
        kernels: Any,
        name: str,
        blocks: int,
        threads: int,
        shared: int,
        arguments: Sequence[Any],
    ) -> None:
        """Start a kernel; what is launched later waits for it."""

    def wait(self) -> None:
        """Until all that was launched is done."""

    def address(self, array: Any) -> int:
        """Where an array of `xp` begins."""

    def free_bytes(self) -> int:
        """Memory that can be had."""


class CudaCard:
    """A CUDA card."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        device = cupy.cuda.Device()
        about = cupy.cuda.runtime.getDeviceProperties(device.id)
        self.name: str = about["name"].decode()
        compiler = ".".join(map(str, cupy.cuda.nvrtc.getVersion()))
        self.identity = f"{self.name} {device.compute_capability} nvrtc {compiler}"
        self.memory_error: type[Exception] = cupy.cuda.memory.OutOfMemoryError
        self.limits = Limits(
            n_processors=about["multiProcessorCount"],
            threads=1024,
            lanes=32,
            shared_bytes=about["sharedMemPerMultiprocessor"],
            block_bytes=device.attributes["MaxSharedMemoryPerBlockOptin"],
            cache_bytes=about["l2CacheSize"],
        )

    def compile(self, source: str) -> Any:
        return _compiled(self.xp, source)

    def launch(
        self,
        kernels: Any,
        name: str,
        blocks: int,
        threads: int,
        shared: int,
        arguments: Sequence[Any],
    ) -> None:
        function = kernels.get_function(name)
        if shared > function.max_dynamic_shared_size_bytes:
            function.max_dynamic_shared_size_bytes = shared
        function((blocks,), (threads,), tuple(arguments), shared_mem=shared)

    def wait(self) -> None:
        self.xp.cuda.Device().synchronize()

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def free_bytes(self) -> int:
        self.xp.get_default_memory_pool().free_all_blocks()
        return int(self.xp.cuda.runtime.memGetInfo()[0])


@lru_cache(maxsize=8)
def _compiled(cupy: Any, source: str) -> Any:
    module = cupy.RawModule(code=source, options=_OPTIONS, backend="nvrtc")
    try:
        module.compile()
    except cupy.cuda.compiler.CompileException as error:
        raise WhereofError(f"the card's kernels do not compile: {_first_line(error)}") from None
    return module


@lru_cache
def open_card(task: str = "engine cuda") -> CudaCard:
    """The card, once it is sure that there is one; `task` is named where there is none."""
    cupy = need("cupy", "cuda", task, install='"cupy-cuda12x[ctk]"')
    try:
        if cupy.cuda.runtime.getDeviceCount():
            return CudaCard(cupy)
        why = "none is there"
    except Exception as error:  # a driver or a compiler that is missing says so in many ways
        why = _first_line(error)
    raise WhereofError(f"{task} finds no CUDA card that works ({why}); leave out cuda")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
