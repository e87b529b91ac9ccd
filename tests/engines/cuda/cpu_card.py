"""The card's kernels compiled for the CPU, so that what they compute is tested without a card.

Blocks run one after the other; the threads of a block are threads, or one alone.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence.engines.cuda._card import Limits

_KERNELS = ("draw", "train", "settle", "stand")
_LAUNCH = """
typedef struct {
  int kernel, block, n_blocks, thread, n_threads;
  long long *a;
  char *memory;
  pthread_barrier_t *barrier;
} Work;

static void *work(void *given) {
  Work w = *(Work *)given;
  THREAD = w.thread, N_THREADS = w.n_threads, BLOCK = w.block, N_BLOCKS = w.n_blocks;
  block_memory = w.memory, block_barrier = w.barrier;
  const Fleet *fleet = (const Fleet *)w.a[0];
  if (w.kernel == 0) draw(fleet, (int)w.a[1]);
  if (w.kernel == 1) train(fleet, (int)w.a[1], (int)w.a[2]);
  if (w.kernel == 2) settle(fleet);
  if (w.kernel == 3) stand(fleet, (const int *)w.a[1], (double *)w.a[2], w.a[3]);
  return 0;
}

void launch(int kernel, int n_blocks, int n_threads, long long shared, long long *arguments) {
  for (int block = 0; block < n_blocks; block++) {
    char *memory = malloc(shared + 64);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, 0, n_threads);
    Work works[n_threads];
    pthread_t threads[n_threads];
    for (int t = 0; t < n_threads; t++) {
      works[t] = (Work){kernel, block, n_blocks, t, n_threads, arguments, memory, &barrier};
      if (t) pthread_create(&threads[t], 0, work, &works[t]);
    }
    work(&works[0]);
    for (int t = 1; t < n_threads; t++) pthread_join(threads[t], 0);
    free(memory);
  }
}
"""


def build(folder: Path, source: str) -> ctypes.CDLL:
    """A library out of C, compiled once for all tests that ask for the same."""
    path = folder / sha256(source.encode()).hexdigest()[:16]
    library = path.with_suffix(".so")
    if not library.exists():
        path.with_suffix(".c").write_text(source)
        # Machine code for this processor alone, which multiplies and adds in one as a card does.
        flags = ["-O1", "-march=native", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused"]
        flags += ["-fPIC", "-shared", "-pthread"]
        command = ["gcc", "-std=gnu11", *flags, "-o", library, path.with_suffix(".c"), "-lm"]
        subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


class CpuCard:
    """See `whence.engines.cuda._card.Card`."""

    xp = np
    name = "this CPU"
    memory_error = MemoryError

    def __init__(
        self, folder: Path, threads: int = 1, shared_bytes: int = 200_000, free: int = 1 << 30
    ) -> None:
        if shutil.which("gcc") is None:
            pytest.skip("gcc compiles the kernels, and is not here")
        self.folder, self.free = folder, free
        self.limits = Limits(2, threads, 1, shared_bytes, shared_bytes, 1 << 16)

    @property
    def identity(self) -> str:
        return self.name

    def compile(self, source: str) -> Any:
        return build(self.folder, f"#define ON_CPU\n{source}\n{_LAUNCH}")

    def launch(
        self,
        kernels: Any,
        name: str,
        blocks: int,
        threads: int,
        shared: int,
        arguments: Sequence[Any],
    ) -> None:
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
