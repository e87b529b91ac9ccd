"""Training from start to end: the best epoch, early stopping, resuming to the same bits."""

import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listening import Recorded, stopping
from trained import FAST, outcome, train

import whereof
from whereof.data.read import read_dataset
from whereof.errors import Interrupted
from whereof.models import MODELS
from whereof.training.problem import Problem
from whereof.training.trainer import Trainer

SETTINGS = [
    {"optimizer": "adam", "order": "file"},
    {"optimizer": "adam-lazy", "patience": 2, "epochs": 12, "rate": 0.05},
    {"optimizer": "adagrad", "batch_size": 8, "inverse": True, "keep_checkpoints": 3},
    {"optimizer": "sgd", "constraint": "max:1", "schedule": "exponential", "rate": 0.3},
]


@settings(max_examples=40)
@given(
    st.fixed_dictionaries(
        {
            "model": st.sampled_from([name for name in MODELS if not MODELS[name].two_way]),
            "loss": st.sampled_from(["softmax", "sigmoid"]),
            "optimizer": st.sampled_from(["sgd", "adagrad", "adam", "adam-lazy"]),
            "constraint": st.sampled_from(["none", "unit", "max:1"]),
            "batch_size": st.sampled_from([1, 8, 100]),
            "inverse": st.booleans(),
            "seed": st.integers(0, 99),
        }
    )
)
def test_two_runs_are_the_same_to_the_bit_whatever_the_threads(choices: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder, "one"), Path(folder, "two")
        train(one, **choices, epochs=2, threads=1)
        train(two, **choices, epochs=2, threads=3)
        assert outcome(one) == outcome(two)


@pytest.mark.parametrize("choices", SETTINGS, ids=lambda choices: choices["optimizer"])
@pytest.mark.parametrize("stretches", [1, 4])
def test_an_interrupted_run_resumes_to_the_same_bits(
    tmp_path: Path, choices: dict, stretches: int
) -> None:
    whole = train(tmp_path / "whole", **choices)
    with pytest.raises(Interrupted):
        train(tmp_path / "cut", **choices, events=stopping(stretches))
    with pytest.raises(whereof.WhereofError, match=r"not finished.*--resume"):
        whereof.Run.open(tmp_path / "cut")
    with pytest.raises(Interrupted):
        whereof.resume(tmp_path / "cut", events=stopping(1))
    resumed = whereof.resume(tmp_path / "cut")
    assert outcome(tmp_path / "whole") == outcome(tmp_path / "cut")
    assert resumed.history == whole.history
    assert resumed.metrics == whole.metrics


def test_a_run_that_is_interrupted_again_and_again_resumes(tmp_path: Path) -> None:
    train(tmp_path / "whole", epochs=6)
    with pytest.raises(Interrupted):
        train(tmp_path / "cut", epochs=6, events=stopping(1))
    for _ in range(5):  # each leaves a checkpoint with another best epoch
        with pytest.raises(Interrupted):
            whereof.resume(tmp_path / "cut", events=stopping(1))
    whereof.resume(tmp_path / "cut")
    assert outcome(tmp_path / "whole") == outcome(tmp_path / "cut")


def test_resuming_a_finished_run_opens_it(tmp_path: Path) -> None:
    trained = train(tmp_path / "run", epochs=1)
    before = outcome(tmp_path / "run")
    assert whereof.resume(tmp_path / "run").summary() == trained.summary()
    assert outcome(tmp_path / "run") == before


def test_the_best_epoch_is_kept_with_its_trace_as_it_stood_then(tmp_path: Path) -> None:
    long = train(tmp_path / "long", epochs=25, rate=0.05)
    best = long.summary()["best_epoch"]
    assert best < 25, "the rate is meant to overfit"
    assert long.history[best - 1]["mrr"] == max(entry["mrr"] for entry in long.history)
    short = train(tmp_path / "short", epochs=best, rate=0.05)
    assert np.array_equal(long.trace, short.trace)
    assert np.array_equal(long.entity_rows, short.entity_rows)


@pytest.mark.parametrize(("n_valid", "n_smoothed"), [(49, 5), (50, 1)])
def test_few_validation_facts_are_smoothed(tmp_path: Path, n_valid: int, n_smoothed: int) -> None:
    nations = whereof.read("nations")
    data = replace(nations, valid=nations.valid[:n_valid])
    run = whereof.train(data, out=tmp_path / "run", **FAST | {"epochs": 25, "rate": 0.05})
    found = [entry["mrr"] for entry in run.history]
    means = np.convolve(found, np.full(n_smoothed, 1 / n_smoothed), "valid")
    best = run.summary()["best_epoch"]
    assert best == n_smoothed + means.argmax()
    assert bool(best != 1 + np.argmax(found)) is (n_smoothed > 1)


def test_patience_stops_early(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=60, rate=0.05, patience=3)
    summary = run.summary()
    assert summary["epochs"] == summary["best_epoch"] + 3 < 60


def test_validation_is_left_out_when_it_is_not_wanted(tmp_path: Path) -> None:
    run = train(tmp_path / "run", validate_every=0)
    assert run.summary()["best_epoch"] == 4
    assert all("mrr" not in entry for entry in run.history)


def test_bookkeeping_adds_up(tmp_path: Path) -> None:
    for credit, optimizer in (("step", "adam"), ("source", "adam-lazy")):
        path = tmp_path / optimizer
        run = train(path, credit=credit, optimizer=optimizer, precision="float64")
        shares = run.summary()["bookkeeping"]
        assert sum(shares.values()) == pytest.approx(1)
        assert (abs(shares["remainder"]) < 1e-12) == (credit == "step")
        assert (shares["drift"] != 0) == (optimizer == "adam")


def test_divergence_is_said_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(whereof.WhereofError, match=r"diverged.*rate"):
        train(tmp_path / "run", optimizer="sgd", rate=1e6)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "choices",
    [
        {"init": 1e10},
        {"optimizer": "adagrad", "rate": 1e12},
        {"optimizer": "sgd", "rate": 1e19, "model": "transe", "epochs": 1},
    ],
    ids=str,
)
def test_measures_that_overflow_are_a_divergence(tmp_path: Path, choices: dict) -> None:
    with pytest.raises(whereof.WhereofError, match="training diverged in epoch"):
        train(tmp_path / "run", **choices)


@pytest.mark.parametrize("choices", [{}, {"inverse": True, "batch_size": 4}], ids=str)
def test_divergence_names_the_fact_and_the_step(tmp_path: Path, choices: dict) -> None:
    with pytest.raises(whereof.WhereofError) as error:
        train(tmp_path / "run", optimizer="sgd", rate=1e3, **choices)
    named = re.search(r"epoch 1 at fact (\d+), step (\d+) of the epoch", str(error.value))
    assert named
    config = whereof.TrainConfig.from_dict({**FAST, "optimizer": "sgd", "rate": 1e3, **choices})
    trainer = Trainer(Problem.of(read_dataset("nations"), config))
    n_before = 0
    while np.isfinite(trainer.meter[0]):
        n_before = int(trainer.meter[1])
        trainer.advance(1)
    batch = trainer.timeline.order(0)[trainer.position - config.batch_size : trainer.position]
    assert int(named[1]) in batch
    assert n_before < int(named[2]) <= n_before + config.batch_size * (1 + config.inverse)


def test_large_initial_values_are_the_remedy_of_their_divergence(tmp_path: Path) -> None:
    with pytest.raises(whereof.WhereofError, match=r"fact \d+, step 1 .*an init below 1e\+30"):
        train(tmp_path / "run", init=1e30)


def test_patience_without_validation_facts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("a\tr\tb\nb\tr\tc\n")
    with pytest.raises(whereof.WhereofError, match="patience needs validation"):
        whereof.train(tmp_path / "facts.tsv", out=tmp_path / "run", patience=1)


def test_two_way_data_trains_matrix_factorisation(tmp_path: Path) -> None:
    lines = [f"u{u}\ti{i}" for u in range(8) for i in range(6) if (u + i) % 3]
    (tmp_path / "ratings.tsv").write_text("\n".join(lines) + "\n")
    run = whereof.train(
        tmp_path / "ratings.tsv", out=tmp_path / "run", model="mf-biased", dim=4, inverse=True
    )
    assert run.summary()["n_relations"] == 0
    assert whereof.train(tmp_path / "ratings.tsv", out=tmp_path / "plain").config.model == "mf"
    assert {answer.entity for answer in run.predict("u1", top=None).answers} == {
        f"i{i}" for i in range(6)
    }
    assert {answer.entity for answer in run.predict("_", "i1", top=None).answers} == {
        f"u{u}" for u in range(8)
    }


LONG = ["nations", "--dim", "12", "--negatives", "5", "--epochs", "120", "--validate-every", "20"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "whereof", "train", *arguments]


def wait_for(found: object, process: subprocess.Popen) -> None:
    """Wait until found() is true; fail if the process ends first."""
    while not found() and process.poll() is None:
        time.sleep(0.01)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    path = tmp_path_factory.mktemp("long") / "run"
    subprocess.run(command(*LONG, "-o", str(path)), check=True, capture_output=True)
    return outcome(path)


def test_ctrl_c_leaves_a_run_that_resumes(tmp_path: Path, uninterrupted: dict[str, str]) -> None:
    path = tmp_path / "run"
    process = subprocess.Popen(command(*LONG, "-o", str(path)), stderr=subprocess.PIPE, text=True)
    wait_for((path / "progress").exists, process)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate()
    assert process.returncode == 130
    assert f"whereof: interrupted; continue with: whereof train --resume {path}" in messages
    assert "Traceback" not in messages
    subprocess.run(command("--resume", str(path)), check=True, capture_output=True)
    assert outcome(path) == uninterrupted


@pytest.mark.parametrize("checkpoints", [pytest.param(0, marks=pytest.mark.slow), 2])
def test_kill_9_leaves_the_last_checkpoint(
    tmp_path: Path, uninterrupted: dict[str, str], checkpoints: int
) -> None:
    path = tmp_path / "run"
    often = [*LONG, "--checkpoint-seconds", "0.02", "-o", str(path)]
    process = subprocess.Popen(command(*often), stderr=subprocess.DEVNULL)
    last = path / "progress" / f"checkpoint-{checkpoints}"
    wait_for(last.exists if checkpoints else path.exists, process)
    process.kill()
    process.wait()
    subprocess.run(command("--resume", str(path)), check=True, capture_output=True)
    assert outcome(path) == uninterrupted


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are POSIX's own")
@pytest.mark.parametrize("options", [["--dim", "50"], ["--dim", "1000", "--no-trace"]])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, options: list[str]) -> None:
    import resource

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    path = tmp_path / "run"
    done = subprocess.run(
        command("nations", *options, "--epochs", "2", "-o", str(path)),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("whereof: cannot write")
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_rows_that_overflow_in_the_last_update_are_noticed(tmp_path: Path) -> None:
    choices = {"optimizer": "sgd", "rate": 1e39, "batch_size": 2000, "epochs": 1}
    with pytest.raises(whereof.WhereofError, match="diverged"):
        train(tmp_path / "run", **choices)
    assert not (tmp_path / "run").exists()


def test_early_stopping_keeps_the_parameters_it_ended_with(tmp_path: Path) -> None:
    train(tmp_path / "run", epochs=60, rate=0.05, patience=2, keep_checkpoints=2)
    assert list((tmp_path / "run" / "checkpoints").iterdir())


def test_a_neighbour_of_the_run_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run.new").mkdir()
    (tmp_path / "run.new" / "mine.txt").write_text("mine")
    train(tmp_path / "run", epochs=1)
    assert (tmp_path / "run.new" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("damage", ["missing", "truncated", "altered"])
@pytest.mark.parametrize("name", ["entities.state.npy", "trace.npy"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, name: str, damage: str) -> None:
    with pytest.raises(Interrupted):
        train(tmp_path / "run", events=stopping(2))
    (file,) = (tmp_path / "run").glob(f"progress/checkpoint-*/{name}")
    content = file.read_bytes()
    file.write_bytes(content[:-8] + (b"" if damage == "truncated" else b"damaged!"))
    if damage == "missing":
        file.unlink()
    with pytest.raises(whereof.WhereofError, match=name):
        whereof.resume(tmp_path / "run")


def test_a_time_budget_stops_training_where_it_is(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=60, time_budget=1e-6)
    summary = run.summary()
    assert summary["stopped"] == "time"
    assert 0 < summary["best_facts"] == run.history[-1]["facts"] < run.dataset.n_facts
    assert run.history[-1]["mrr"] == run.metrics["valid"]["mrr"]


def test_a_time_budget_that_suffices_changes_nothing(tmp_path: Path) -> None:
    assert train(tmp_path / "free").summary()["stopped"] == "epochs"
    train(tmp_path / "bound", time_budget="1h")
    assert outcome(tmp_path / "free") == outcome(tmp_path / "bound")


@pytest.mark.parametrize(("rate", "warns"), [(0.003, False), (1e-7, True)])
def test_a_trace_too_small_for_half_precision_is_noticed(
    tmp_path: Path, rate: float, warns: bool
) -> None:
    for precision in ("float16", "float32"):
        events = Recorded()
        settings = {"rate": rate, "trace_precision": precision, "events": events}
        train(tmp_path / precision, **settings)
        assert any("too small for float16" in note for note in events.notes) == (
            warns and precision == "float16"
        )


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam", "adam-lazy"])
def test_divergence_names_a_fact(tmp_path: Path, optimizer: str) -> None:
    with pytest.raises(whereof.WhereofError, match=r"diverged in epoch \d+ .*fact \d+"):
        train(tmp_path / "run", optimizer=optimizer, rate=1e20)


@pytest.mark.parametrize("order", ["shuffle", "blocks"])
def test_a_shuffled_order_with_a_trace_larger_than_memory_gives_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    monkeypatch.setattr("whereof.api.runs.total_memory", lambda: 1 << 20)  # 1 MB, as the machine
    events = Recorded()
    train(tmp_path / "run", epochs=1, dim=40, order=order, events=events)
    assert any("--order blocks" in note for note in events.notes) == (order == "shuffle")


@pytest.mark.parametrize("learnable", [True, False])
def test_a_rating_model_that_is_no_better_than_the_mean_is_said(
    tmp_path: Path, learnable: bool
) -> None:
    rng, pairs = (
        np.random.default_rng(0),
        [(user, item) for user in range(20) for item in range(20)],
    )
    ratings = [1 + 4 * (user % 2) if learnable else rng.integers(1, 6) for user, _ in pairs]
    lines = [f"u{u}\ti{i}\t{rating}" for (u, i), rating in zip(pairs, ratings, strict=True)]
    (tmp_path / "ratings.tsv").write_text("\n".join(["user\titem\trating", *lines]) + "\n")
    events = Recorded()
    whereof.train(
        tmp_path / "ratings.tsv",
        out=tmp_path / "run",
        valid_fraction=0.2,
        epochs=20,
        l2=0.0,
        events=events,
        search=False,
    )
    noted = any("no better than the mean rating" in note for note in events.notes)
    assert noted is not learnable
