"""A run trained on a GPU equals one trained on the CPU, and either device can resume it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trained
from listening import stopping
from training.helpers import make_problem

import whereof
from retrain.cuda.cpu_card import CpuCard
from retrain.cuda.helpers import check_close
from whereof.errors import Interrupted
from whereof.retrain.cuda.card import Card
from whereof.retrain.cuda.trainer import CudaTrainer

WIDE = {"precision": "float64", "epochs": 3}
SOURCE = {"credit": "source"}  # which a GPU records by default, too
SETTINGS: list[dict[str, Any]] = [
    {"optimizer": "adam", "constraint": "max:0.6", "credit": "step"},
    {"optimizer": "adam-lazy", "inverse": True, "model": "complex", "n3": 0.01, **SOURCE},
    {"optimizer": "adagrad", "sampling": "independent", "negatives": 13, "rate": 0.05, **SOURCE},
    {"optimizer": "sgd", "loss": "sigmoid", "model": "transe", "rate": 0.1, "trace": False},
]
each_setting = pytest.mark.parametrize("settings", SETTINGS, ids=lambda it: it["optimizer"])


@pytest.fixture(autouse=True)
def there(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `device cuda` finds: the real GPU or the stand-in."""
    if isinstance(card, CpuCard):
        for place in ("card", "trainer"):
            monkeypatch.setattr(f"whereof.retrain.cuda.{place}.open_card", lambda task: card)


def check_runs(found: whereof.Run, wanted: whereof.Run, tolerance: float) -> None:
    for name in ("entity_rows", "relation_rows", "trace"):
        mine, theirs = getattr(found, name), getattr(wanted, name)
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            assert mine.dtype == theirs.dtype
            check_close(mine, theirs, tolerance, name)


def flat(metrics: dict[str, Any], start: str = "") -> dict[str, float]:
    """Metrics of metrics under one name each."""
    found: dict[str, float] = {}
    for name, value in metrics.items():
        inner = value if isinstance(value, dict) else None
        found |= {start + name: value} if inner is None else flat(inner, f"{start}{name} ")
    return found


def check_told_alike(found: whereof.Run, wanted: whereof.Run) -> None:
    """Norms, book-keeping, metrics and history."""
    mine, theirs = found.summary(), wanted.summary()
    assert mine.keys() == theirs.keys()
    for name in ("norms", "bookkeeping"):
        assert mine[name] == pytest.approx(theirs[name], rel=1e-9, abs=1e-9)
    for name in ("best_epoch", "best_facts", "epochs", "stopped"):
        assert mine[name] == theirs[name]
    for split in ("valid", "test"):
        one, other = (flat(run.metrics[split]) for run in (found, wanted))
        assert one == pytest.approx(other, rel=1e-9)
    for one, other in zip(found.history, wanted.history, strict=True):
        assert one == pytest.approx(other, rel=1e-9)


@each_setting
def test_a_run_on_a_card_is_the_run_of_the_cores(tmp_path: Path, settings: dict[str, Any]) -> None:
    cores = trained.train(tmp_path / "cores", **WIDE | settings)
    card = trained.train(tmp_path / "card", **WIDE | settings, device="cuda")
    check_runs(card, cores, 1e-9)
    check_told_alike(card, cores)


@each_setting
def test_two_runs_on_a_card_are_the_same_to_the_bit(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    choices = settings | {"epochs": 2, "keep_checkpoints": 3}
    for name in ("one", "two"):
        trained.train(tmp_path / name, **choices, device="cuda")
    if settings.get("trace", True):
        assert trained.outcome(tmp_path / "one") == trained.outcome(tmp_path / "two")
    one, two = (whereof.Run.open(tmp_path / name) for name in ("one", "two"))
    assert np.array_equal(one.entity_rows, two.entity_rows)
    assert len(list((tmp_path / "one" / "checkpoints").iterdir())) >= 3


@each_setting
@pytest.mark.parametrize("stretches", [3])
def test_an_interrupted_run_resumes_to_the_same_bits(
    tmp_path: Path, settings: dict[str, Any], stretches: int
) -> None:
    whole = trained.train(tmp_path / "whole", **WIDE | settings, device="cuda")
    with pytest.raises(Interrupted):
        trained.train(
            tmp_path / "cut",
            **WIDE | settings,
            device="cuda",
            events=stopping(stretches),
        )
    with pytest.raises(Interrupted):
        whereof.resume(tmp_path / "cut", device="cuda", events=stopping(1))
    resumed = whereof.resume(tmp_path / "cut", device="cuda")
    check_runs(resumed, whole, 0)
    check_told_alike(resumed, whole)


@each_setting
def test_the_other_device_takes_a_checkpoint_up(tmp_path: Path, settings: dict[str, Any]) -> None:
    first, then = ("cpu", "cuda") if "adam" in settings["optimizer"] else ("cuda", "cpu")
    whole = trained.train(tmp_path / "whole", **WIDE | settings)
    with pytest.raises(Interrupted):
        trained.train(tmp_path / "cut", **WIDE | settings, device=first, events=stopping(2))
    with pytest.raises(Interrupted):
        whereof.resume(tmp_path / "cut", device=then, events=stopping(1))
    resumed = whereof.resume(tmp_path / "cut", device=first)
    check_runs(resumed, whole, 1e-12)
    check_told_alike(resumed, whole)


def test_a_trace_in_half_precision(tmp_path: Path) -> None:
    """On a GPU the sum is rounded once."""
    choices = WIDE | SOURCE | {"epochs": 1, "trace_precision": "float16"}
    card = trained.train(tmp_path / "card", **choices, device="cuda")
    wide = trained.train(tmp_path / "wide", **WIDE | SOURCE | {"epochs": 1})
    assert card.trace is not None
    assert wide.trace is not None
    assert card.trace.dtype == np.float16
    assert np.array_equal(card.trace, wide.trace.astype(np.float16))
    with pytest.raises(Interrupted):
        trained.train(tmp_path / "cut", **choices, device="cuda", events=stopping(1))
    resumed = whereof.resume(tmp_path / "cut", device="cuda")
    assert np.array_equal(resumed.entity_rows, card.entity_rows)
    check_runs(resumed, card, 1e-3)


def test_a_checkpoint_of_another_kind_is_refused(card: Card) -> None:
    lazy, adam = (make_problem(optimizer=name) for name in ("adam-lazy", "adam"))
    saved = CudaTrainer(lazy, card=card).snapshot()
    CudaTrainer(lazy, card=card).restore(saved)
    with pytest.raises(whereof.WhereofError, match="the checkpoint belongs to another kind of"):
        CudaTrainer(adam, card=card).restore(saved)


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_looking_never_changes_what_comes_next(card: Card, optimizer: str) -> None:
    problem = make_problem(optimizer=optimizer, constraint="max:0.8", inverse=True)
    shape = (len(problem.facts), problem.trace_width)
    looked_at, left_alone = (CudaTrainer(problem, np.zeros(shape), card) for _ in range(2))
    for _ in range(12):
        assert looked_at.advance(7) == left_alone.advance(7)
        looked_at.read()
        looked_at.parameters()
        looked_at.snapshot()
    for name, array in looked_at.snapshot().items():
        assert array.tobytes() == left_alone.snapshot()[name].tobytes(), name
    assert looked_at.trace.tobytes() == left_alone.trace.tobytes()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"batch_size": 2},
            "batch_size 2 does not run on CUDA, which trains fact by fact; choose batch_size 1",
        ),
        (
            {"optimizer": "adam", "schedule": "inverse"},
            "optimizer adam with schedule inverse does not run on CUDA; choose schedule constant",
        ),
    ],
)
def test_what_a_card_cannot_is_said_before_anything_is_written(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(whereof.WhereofError, match=message):
        trained.train(tmp_path / "run", **settings, device="cuda")
    assert not (tmp_path / "run").exists()


def test_divergence_is_said_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(whereof.WhereofError, match=r"diverged.*rate"):
        trained.train(tmp_path / "run", optimizer="sgd", rate=1e6, device="cuda")
    assert not (tmp_path / "run").exists()
