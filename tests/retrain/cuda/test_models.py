"""The CUDA code of every model computes what its Python twin does, on any number of threads."""

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.test_add_a_model import CP
from numpy.typing import NDArray
from training.helpers import make_problem

import whereof
from retrain.cuda.cpu_card import MARKERS, build
from retrain.cuda.helpers import check_tracked, run_trainer, trained_fleet
from whereof.models import MODELS, Model
from whereof.retrain.cuda.card import Card
from whereof.retrain.cuda.engine import check_problem
from whereof.retrain.cuda.source import model_source

CALL = """
typedef struct { int thread, n_threads, which; void **v; pthread_barrier_t *barrier; } Call;

static void *call_one(void *given) {
  Call c = *(Call *)given;
  THREAD = c.thread, N_THREADS = c.n_threads, block_barrier = c.barrier;
  if (c.which == 0) query(c.v[0], c.v[1], c.v[2]);
  if (c.which == 1) query_vjp(c.v[0], c.v[1], c.v[2], c.v[3], c.v[4]);
  return 0;
}

void call(int which, int n_threads, void **vectors) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, 0, n_threads);
  Call calls[n_threads];
  pthread_t threads[n_threads];
  for (int t = 0; t < n_threads; t++) {
    calls[t] = (Call){t, n_threads, which, vectors, &barrier};
    pthread_create(&threads[t], 0, call_one, &calls[t]);
  }
  for (int t = 0; t < n_threads; t++) pthread_join(threads[t], 0);
}
"""
PRELUDE = Path(whereof.__file__).parent / "retrain" / "cuda" / "kernels" / "fleet.h"


def compiled(folder: Path, model: Model, dim: int, precision: str) -> ctypes.CDLL:
    widths = model.widths(dim)
    macros = {"ENTITY_WIDTH": widths.entity, "RELATION_WIDTH": widths.relation}
    macros |= {"QUERY_WIDTH": widths.query, "LANES": 1, "PACK": 1}
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    lines += [MARKERS, f"typedef {'double' if precision == 'float64' else 'float'} real, Number;"]
    return build(folder, "\n".join([*lines, PRELUDE.read_text(), model_source(model), CALL]))


def call(library: ctypes.CDLL, which: int, threads: int, vectors: list[NDArray[Any]]) -> None:
    addresses = (ctypes.c_void_p * len(vectors))(*(it.ctypes.data for it in vectors))
    library.call(which, threads, addresses)


@pytest.mark.parametrize(("dim", "precision"), [(1, "float64"), (6, "float32")])
@pytest.mark.parametrize("model", [*MODELS.values(), CP], ids=lambda model: model.name)
def test_c_and_python_agree(tmp_path: Path, model: Model, dim: int, precision: str) -> None:
    library, widths = compiled(tmp_path, model, dim, precision), model.widths(dim)
    e, r, q = widths.entity, widths.relation, widths.query
    functions = (model.query, model.query_vjp)
    for which, lengths in enumerate(((e, r, q), (e, r, q, e, r))):
        rng = np.random.default_rng(which)
        given = [rng.normal(size=length).astype(precision) for length in lengths]
        wanted = [vector.copy() for vector in given]
        functions[which](*wanted)
        for threads in (1, 2, 3):
            found = [vector.copy() for vector in given]
            call(library, which, threads, found)
            tolerance = 1e-12 if precision == "float64" else 1e-6
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_a_new_model_trains_on_a_card(card: Card, optimizer: str) -> None:
    problem = make_problem(model=CP, dim=5, optimizer=optimizer, inverse=True)
    check_tracked(trained_fleet(card, problem, tracked=True), run_trainer(problem), 1e-9)


def test_a_model_without_cuda_code_is_refused_in_one_line(card: Card) -> None:
    problem = make_problem(model=replace(CP, cuda=None), dim=5)
    with pytest.raises(whereof.WhereofError) as caught:
        check_problem(problem, card)
    assert str(caught.value) == (
        "model cp has no CUDA code; choose engine local or device cpu, or declare its `cuda` "
        "(docs/add-a-model.md)"
    )
