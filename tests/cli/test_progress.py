"""Progress of training and retraining on standard error."""

import io
import signal

import pytest
from rich.console import Console

from whereof.cli import progress
from whereof.cli.progress import TerminalEvents, plan_text
from whereof.events import (
    Advanced,
    Compiling,
    Event,
    Foreseen,
    Note,
    Planned,
    StageStarted,
    SweepsPlanned,
    TrainingAdvanced,
    TrainingStarted,
    Validated,
)
from whereof.training.config import Phase, TrainConfig


def said(*events: Event, monkeypatch: pytest.MonkeyPatch, seconds: float = -1.0) -> list[str]:
    """The lines that events print; repeated lines may come after some seconds."""
    monkeypatch.setattr(progress, "_LINE_SECONDS", seconds)
    with TerminalEvents() as listener:
        listener.console = Console(file=io.StringIO(), width=200)
        for event in events:
            listener.emit(event)
    return str(listener.console.file.getvalue()).splitlines()  # type: ignore[attr-defined]


def test_training_says_what_it_is_and_how_far(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TrainConfig(epochs=100, patience=3, time_budget="60s").to_dict()
    lines = said(
        TrainingStarted("here", 0, config, ("a note",), (10, 3), 240, False),
        TrainingAdvanced(200, 1000, 21, 100, 0.5, 0.2, 10.0, 80.0, True),
        TrainingAdvanced(300, 1000, 31, 100, 0.4, 0.3, 10.0, 240.0, False),
        Validated(31, 100, "mrr", 0.25, True),
        monkeypatch=monkeypatch,
    )
    assert lines[0] == "note   a note"
    assert lines[1].endswith("type --valid-fraction 0.1 to hold some facts out or --epochs 20")
    assert lines[2] == "run    here"
    assert lines[3].startswith("model  distmult, dim 100, softmax loss, ")
    assert "up to 100 epochs, 60 s at most" in lines[3]
    assert lines[4] == "trace  10 facts x 3 numbers: 240 B, in memory"
    assert lines[5] == "epoch 21/100, 20%, 10 facts/s, loss 0.5000, at most 1 min 20 s left"
    assert lines[6].endswith(", loss 0.4000, 4 min left")
    assert lines[7] == "epoch 31: valid MRR 0.2500, the best so far"


def test_an_update_says_what_it_trains_on(monkeypatch: pytest.MonkeyPatch) -> None:
    phases = (Phase(100, 20, 3, 1000), Phase(104, 21, 3, 5 * (4 + 60), 60))
    config = TrainConfig(epochs=15, patience=3, phases=phases).to_dict()
    lines = said(
        TrainingStarted("here", 0, config, (), (104, 3), 240, False), monkeypatch=monkeypatch
    )
    assert lines[0] == "run    here"  # no epoch is chosen by validation
    assert "5 more epochs, each on 4 new facts and 60 earlier facts" in lines[1]
    assert "up to" not in lines[1]


def test_facts_that_were_to_be_held_out_are_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = TrainConfig(epochs=1).to_dict()
    started = TrainingStarted("here", 0, config, (), (10, 3), 240, False, valid_fraction=0.1)
    lines = said(started, monkeypatch=monkeypatch)
    assert lines[0] == "note   no validation facts: training keeps the last of 1 epoch"
    config = TrainConfig(epochs=100).to_dict()
    long = TrainingStarted("here", 0, config, (), (10, 3), 240, False)
    assert said(long, monkeypatch=monkeypatch)[0] == (
        "note   no validation facts: training keeps the last of 100 epochs, which may overfit and "
        "makes later work slow; type --valid-fraction 0.1 to hold some facts out or --epochs 20"
    )


def test_lines_that_repeat_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    news = [Advanced(n, 9, "queries") for n in range(9)]
    assert len(said(*news, monkeypatch=monkeypatch)) == 9
    assert said(*news, monkeypatch=monkeypatch, seconds=60.0) == []


def test_compiling_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = said(Compiling(), Note("text"), Compiling(), monkeypatch=monkeypatch)
    assert [line.partition(" ")[0] for line in lines] == ["compiling", "text"]


def test_a_bound_for_all_rounds_replaces_their_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = (Planned(2, 1, 4.0, 2), Planned(3, 0, 6.0, 2))
    alone = said(*rounds, monkeypatch=monkeypatch)
    assert alone == [
        "2 retrainings, 2 at a time, about 4.0 s; 1 more is stored already",
        "3 retrainings, 2 at a time, about 6.0 s",
    ]
    together = said(Foreseen(9), *rounds, monkeypatch=monkeypatch)
    assert together == ["at most 9 retrainings, 2 at a time, about 20.0 s"]
    with_sweep = said(Foreseen(9, others=10.0), *rounds, monkeypatch=monkeypatch)
    assert with_sweep == ["at most 9 retrainings, 2 at a time, about 40.0 s"]


def test_plans_and_times_in_words() -> None:
    assert (
        plan_text(11, 4.2, 2, 3)
        == "11 retrainings, 2 at a time, about 4.2 s; 3 more are stored already"
    )
    assert plan_text(3, 0.02, 2) == "3 retrainings, 2 at a time, less than a second"
    assert plan_text(2, 7000.0, 8) == "2 retrainings, 2 at a time, about 1 h 57 min"


def test_the_price_of_long_sweeps_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sweeps = SweepsPlanned(1, 4.9), SweepsPlanned(2, 80.0), SweepsPlanned(2, 80.0)
    lines = said(*sweeps, monkeypatch=monkeypatch)
    assert lines == ["2 sweeps through training, about 1 min 20 s"]


def test_stages_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(StageStarted(2, 5, "theory"), monkeypatch=monkeypatch) == ["2 of 5: theory"]


def test_the_first_ctrl_c_asks_to_stop_and_the_second_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = signal.getsignal(signal.SIGINT)
    with TerminalEvents() as events:
        assert signal.getsignal(signal.SIGINT) is before  # nothing to keep so far
        events.emit(Planned(5, 0, 1.0, 1))
        assert not events.should_stop()
        signal.raise_signal(signal.SIGINT)
        assert events.should_stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert "finishing the current step; press Ctrl-C again to quit now" in capsys.readouterr().err
