"""What is said of training while it goes on, and when it ends."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from whereof.cli._screen import ending
from whereof.cli._watch import TerminalWatch
from whereof.training import TrainConfig
from whereof.training.results import Start


def said(budget: float | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """The line after 20 seconds, at 10 facts a second, of 100 epochs of 10 facts."""
    now = 0.0
    monkeypatch.setattr("whereof.cli._watch.time", SimpleNamespace(monotonic=lambda: now))
    config = TrainConfig(epochs=100, time_budget=budget)
    with TerminalWatch() as watch:
        watch.console = Console(file=io.StringIO(), width=200)
        watch.started(Start("run", 10, 1, config, (), (10, 3), 0, False))
        watch.advanced(0, 1.0, 1)
        now = 20.0
        watch.advanced(200, 0.5, 21)
    return str(watch.console.file.getvalue()).splitlines()[-1]


def test_the_time_left_is_that_of_the_epochs_or_of_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert said(None, monkeypatch) == "epoch 21/100, 20%, 10 facts/s, loss 0.5000, 80 s left"
    assert said(1000, monkeypatch).endswith(" 20%, 10 facts/s, loss 0.5000, 80 s left")
    assert said(25, monkeypatch).endswith(" 80%, 10 facts/s, loss 0.5000, 5 s left")


@pytest.mark.parametrize(
    ("stopped", "epochs", "best_epoch", "best_facts", "words"),
    [
        ("epochs", 9, 9, 90, "kept epoch 9 of 9"),
        ("patience", 8, 5, 50, "kept epoch 5 of 8, no better since"),
        ("time", 3, 2, 20, "stopped by the time budget in epoch 3 of 9; kept epoch 2"),
        (
            *("time", 1, 1, 4),
            "stopped by the time budget in epoch 1 of 9; kept what was trained of epoch 1",
        ),
    ],
)
def test_how_training_ended(
    stopped: str, epochs: int, best_epoch: int, best_facts: int, words: str
) -> None:
    info = {"stopped": stopped, "epochs": epochs, "best_epoch": best_epoch, "n_facts": 10}
    assert ending(info | {"best_facts": best_facts}, 9) == words
