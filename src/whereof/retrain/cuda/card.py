"""Access to the GPU of this machine through CuPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from whereof.errors import WhereofError, need

# Divisions and roots may be wrong in the last bit or two, which saves two thirds of their work.
# Fused multiply-adds are written explicitly, so that kernels for one model and for many round in
# the same way.
_OPTIONS = ("--std=c++17", "--prec-div=false", "--prec-sqrt=false", "--fmad=false")

Grid = tuple[int, int, int]
"""Of a launch: number of blocks, threads of a block, bytes of shared memory of a block."""


@dataclass(frozen=True)
class Limits:
    """Resources of a GPU for thread blocks."""

    n_processors: int
    threads: int  # the most of a block
    lanes: int  # threads in a warp
    shared_bytes: int  # shared memory per multiprocessor
    block_bytes: int  # shared memory that one block can use
    cache_bytes: int  # cache that all multiprocessors share


class Card:
    """The GPU of this machine: memory, a compiler and a launcher. Tests put a CPU in its place."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy  # the array module for its memory, with NumPy's functions
        device = cupy.cuda.Device()
        about = cupy.cuda.runtime.getDeviceProperties(device.id)
        self.name: str = about["name"].decode()
        compiler = ".".join(map(str, cupy.cuda.nvrtc.getVersion()))
        # What rounding depends on.
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
        """Compile kernels from source."""
        return _compiled(self.xp, source)

    def launch(self, kernels: Any, name: str, grid: Grid, arguments: Sequence[Any]) -> None:
        """Start a kernel; later launches wait for it."""
        blocks, threads, shared = grid
        function = kernels.get_function(name)
        if shared > function.max_dynamic_shared_size_bytes:
            function.max_dynamic_shared_size_bytes = shared
        function((blocks,), (threads,), tuple(arguments), shared_mem=shared)

    def wait(self) -> None:
        """Wait until all kernels that this thread launched are finished."""
        self.xp.cuda.get_current_stream().synchronize()

    def address(self, array: Any) -> int:
        """The address of an array of `xp`."""
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
        raise WhereofError(f"the CUDA kernels do not compile: {_first_line(error)}") from None
    return module


@lru_cache
def open_card(task: str = "engine cuda") -> Card:
    """The GPU of this machine; the error for a missing one names the `task`."""
    cupy = need("cupy", "cuda", task)
    try:
        if cupy.cuda.runtime.getDeviceCount():
            return Card(cupy)
        why = "none is there"
    except Exception as error:  # a missing driver or compiler raises many kinds of errors
        why = _first_line(error)
    raise WhereofError(
        f"{task} finds no CUDA GPU that works ({why}); use the CPU: leave out --{task}"
    )


def unfit(why: str) -> WhereofError:
    """The error for what the GPU cannot do; `why` ends with another choice."""
    return WhereofError(f"{why}, or leave out --engine/--device cuda")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
