"""The CUDA kernels compiled for the CPU, to test them without a GPU.

Blocks run one after the other; the threads of a block are threads, or one alone. So many lanes of
them pass numbers to each other, through memory.
"""

import ctypes
import shutil
import subprocess
import weakref
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from whereof.retrain.cuda.card import Card, Grid, Limits

_KERNELS = ("draw", "train", "settle", "prepare", "sweep")
MARKERS = """
#define ON_CPU
#include <pthread.h>
#include <stdlib.h>
#include <tgmath.h>  // cos and others return floats for floats, as in CUDA

#define ALIGNED(n) __attribute__((aligned(n)))
#define DEVICE static inline
#define KERNEL static
#define BOUNDED
#define UNROLL
#define WARP LANES
#define SHUFFLE(x, gap) passed(x, gap, warp_barrier)
#define GROUP_SHUFFLE(x, gap) passed(x, gap, group_barrier)
#define FETCH(address) __builtin_prefetch(address)

static _Thread_local int THREAD, N_THREADS, BLOCK, N_BLOCKS;
static _Thread_local char *block_memory;
static _Thread_local double *block_passed;  // one number per thread
static _Thread_local pthread_barrier_t *block_barrier, *warp_barrier, *group_barrier;
#define BARRIER() pthread_barrier_wait(block_barrier)
#define SHARED_MEMORY(type, name) type *name = (type *)block_memory

// The number of the thread at distance `gap`; all threads of the barrier call this.
static inline double passed(double x, int gap, pthread_barrier_t *barrier) {
  block_passed[THREAD] = x;
  pthread_barrier_wait(barrier);
  double found = block_passed[THREAD ^ gap];
  pthread_barrier_wait(barrier);
  return found;
}
"""
_LAUNCH = """
#include <string.h>

typedef struct {
  int kernel, block, n_blocks, thread, n_threads;
  long long *a;
  char *memory;
  double *passed;
  pthread_barrier_t *of_block, *of_warps, *of_groups;
} Work;

static void *work(void *given) {
  Work w = *(Work *)given;
  THREAD = w.thread, N_THREADS = w.n_threads, BLOCK = w.block, N_BLOCKS = w.n_blocks;
  block_memory = w.memory, block_passed = w.passed, block_barrier = w.of_block;
  warp_barrier = w.of_warps + THREAD / WARP, group_barrier = w.of_groups + THREAD / GROUP;
  const Fleet *fleet = (const Fleet *)w.a[0];
  if (w.kernel == 0) draw(fleet, (int)w.a[1]);
  if (w.kernel == 1) train(fleet, (int)w.a[1], (int)w.a[2]);
  if (w.kernel == 2) settle(fleet);
#ifdef SWEPT
  if (w.kernel == 3) prepare(fleet, (int)w.a[1], (int)w.a[2]);
  if (w.kernel == 4) sweep(fleet, (int)w.a[1], (int)w.a[2]);
#endif
  return 0;
}

static void make_barriers(pthread_barrier_t *barriers, int n, int n_threads) {
  for (int i = 0; i < n; i++) pthread_barrier_init(&barriers[i], 0, n_threads);
}

void launch(int kernel, int n_blocks, int n_threads, long long shared, long long *arguments) {
  pthread_barrier_t of_block, of_warps[n_threads / WARP], of_groups[n_threads / GROUP];
  make_barriers(&of_block, 1, n_threads);
  make_barriers(of_warps, n_threads / WARP, WARP);
  make_barriers(of_groups, n_threads / GROUP, GROUP);
  for (int block = 0; block < n_blocks; block++) {
    char *memory = memset(malloc(shared + 64), 0xff, shared + 64);  // no numbers, as on a card
    double passed[n_threads];
    Work works[n_threads];
    pthread_t threads[n_threads];
    for (int t = 0; t < n_threads; t++) {
      works[t] = (Work){kernel, block, n_blocks, t, n_threads, arguments, memory, passed,
                        &of_block, of_warps, of_groups};
      if (t) pthread_create(&threads[t], 0, work, &works[t]);
    }
    work(&works[0]);
    for (int t = 1; t < n_threads; t++) pthread_join(threads[t], 0);
    free(memory);
  }
}
"""


def build(folder: Path, source: str, *more_flags: str) -> ctypes.CDLL:
    """Compile C code to a library, once for all tests with the same code."""
    path = folder / sha256("\n".join([*more_flags, source]).encode()).hexdigest()[:16]
    library = path.with_suffix(".so")
    if not library.exists():
        path.with_suffix(".c").write_text(source)
        # Machine code for this processor alone, which multiplies and adds in one as a card does.
        flags = ["-O1", "-march=native", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused"]
        flags += ["-fPIC", "-shared", "-pthread", *more_flags]
        command = ["gcc", "-std=gnu11", *flags, "-o", library, path.with_suffix(".c"), "-lm"]
        subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


class _Counted:
    """NumPy with a count of the bytes of live arrays."""

    def __init__(self) -> None:
        self.n_bytes, self.most_bytes = 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, *given: Any) -> NDArray[Any]:
        return self._count(np.empty(*given))

    def zeros(self, *given: Any) -> NDArray[Any]:
        return self._count(np.zeros(*given))

    def asarray(self, array: Any) -> NDArray[Any]:
        return self._count(np.array(array))

    def _count(self, array: NDArray[Any]) -> NDArray[Any]:
        weakref.finalize(array, self._forget, array.nbytes)
        self.n_bytes += array.nbytes
        self.most_bytes = max(self.most_bytes, self.n_bytes)
        return array

    def _forget(self, n_bytes: int) -> None:
        self.n_bytes -= n_bytes


class CpuCard(Card):
    """See `whereof.retrain.cuda.card.Card`.

    aligned: say on stderr where an address is not as its type needs it.
    """

    def __init__(
        self,
        folder: Path,
        threads: int = 1,
        lanes: int = 1,
        shared_bytes: int = 200_000,
        free: int = 1 << 30,
        *,
        aligned: bool = False,
    ) -> None:
        if shutil.which("gcc") is None:
            pytest.skip("gcc compiles the kernels, and is not here")
        self.folder, self.free = folder, free
        self.name = self.identity = "this CPU"
        self.memory_error = MemoryError
        # Without -O0 the machine code itself stumbles, and takes all tests with it.
        self.flags = ["-fsanitize=alignment", "-O0"] if aligned else []
        self.xp = _Counted()
        self.limits = Limits(2, threads, lanes, shared_bytes, shared_bytes, 1 << 16)

    def compile(self, source: str) -> Any:
        start = f"#define LANES {self.limits.lanes}\n{MARKERS}"
        return build(self.folder, f"{start}{source}\n{_LAUNCH}", *self.flags)

    def launch(self, kernels: Any, name: str, grid: Grid, arguments: Sequence[Any]) -> None:
        blocks, threads, shared = grid
        given = (ctypes.c_longlong * len(arguments))(*(int(value) for value in arguments))
        threads = min(threads, self.limits.threads)
        size = ctypes.c_longlong(shared)
        kernels.launch(_KERNELS.index(name), blocks, threads, size, given)

    def wait(self) -> None:
        pass

    def address(self, array: Any) -> int:
        return int(array.ctypes.data)

    def free_bytes(self) -> int:
        return self.free
