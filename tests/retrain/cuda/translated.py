"""Functions of models translated to C, compiled, and called by several threads."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrain.cuda.cpu_card import build
from whereof.retrain.cuda import _source
from whereof.retrain.cuda._translating import translate

_CALL = """
typedef struct { int thread, n_threads; NUMBER **v; pthread_barrier_t *barrier; } Call;

static void *call_one(void *given) {
  Call c = *(Call *)given;
  THREAD = c.thread, N_THREADS = c.n_threads, block_barrier = c.barrier;
  called(VECTORS);
  return 0;
}

void call(int n_threads, NUMBER **vectors) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, 0, n_threads);
  Call calls[n_threads];
  pthread_t threads[n_threads];
  for (int t = 0; t < n_threads; t++) {
    calls[t] = (Call){t, n_threads, vectors, &barrier};
    pthread_create(&threads[t], 0, call_one, &calls[t]);
  }
  for (int t = 0; t < n_threads; t++) pthread_join(threads[t], 0);
}
"""
Function = Callable[..., None]


@dataclass(frozen=True)
class Translated:
    """A function of Python as C, for vectors of some widths."""

    function: Function
    widths: tuple[int, ...]
    precision: str = "float64"

    @property
    def source(self) -> str:
        """The function alone."""
        macros = {f"v{number}": f"WIDTH_{number}" for number in range(len(self.widths))}
        least = dict(zip(macros.values(), self.widths, strict=True))
        return translate(self.function, "called", macros, least, self._real)

    @property
    def _real(self) -> str:
        return "double" if self.precision == "float64" else "float"

    def build(self, folder: Path) -> ctypes.CDLL:
        lines = [f"#define WIDTH_{number} {width}" for number, width in enumerate(self.widths)]
        vectors = ", ".join(f"c.v[{number}]" for number in range(len(self.widths)))
        lines += ["#define ON_CPU", f"#define NUMBER {self._real}", f"#define VECTORS {vectors}"]
        prelude = (Path(_source.__file__).parent / "kernels" / "prelude.h").read_text()
        return build(folder, "\n".join([*lines, prelude, self.source, _CALL]))

    def call(self, folder: Path, vectors: list[NDArray[Any]], n_threads: int) -> None:
        """As in Python, in place, by so many threads."""
        assert [vector.dtype.name for vector in vectors] == [self.precision] * len(vectors)
        addresses = (ctypes.c_void_p * len(vectors))(*(vector.ctypes.data for vector in vectors))
        self.build(folder).call(n_threads, addresses)


def random_vectors(widths: tuple[int, ...], precision: str, seed: int = 0) -> list[NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=width).astype(precision) for width in widths]


def check_translated(
    folder: Path,
    function: Function,
    widths: tuple[int, ...],
    precision: str = "float64",
    n_threads: tuple[int, ...] = (1, 2, 3),
) -> str:
    """The C does to vectors what the Python does, however many threads; the C."""
    translated = Translated(function, widths, precision)
    tolerance = 1e-12 if precision == "float64" else 1e-5
    for seed, threads in enumerate(n_threads):
        found, wanted = (random_vectors(widths, precision, seed) for _ in range(2))
        translated.call(folder, found, threads)
        function(*wanted)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    return translated.source
