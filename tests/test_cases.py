"""Cases: runs with their journals, and their siblings."""

from pathlib import Path

import numpy as np
import pytest
import trained
from listening import Recorded

import whereof
from whereof.api.runs import machine_of, open_case, sibling
from whereof.events import Events
from whereof.explain.explain import find_scored
from whereof.explain.options import ExplainOptions
from whereof.retrain.engine import Job, choose_engine
from whereof.retrain.options import EngineOptions

ENGINE = choose_engine(EngineOptions(threads=1))


def test_the_control_is_the_stored_run_to_the_bit_and_is_kept(tmp_path: Path) -> None:
    run = trained.train(tmp_path / "run", patience=1, epochs=6, rate=0.1)
    for n_retrained in (2, 0):
        with open_case(run, ENGINE, Events()) as case:
            options = ExplainOptions()
            scored = find_scored(case.trained, ("egypt", "embassy", "usa"), options)
            predictions = case.predictions([scored.prediction])
            found = case.retrainer.ask(predictions, [Job.of([5], [0])])
            assert found.control.tolist() == case.stand(predictions).tolist()
            assert found.jobs[0].tolist() != found.control.tolist()
            assert found.n_retrained == n_retrained
    assert len(list((tmp_path / "run" / "retrained").iterdir())) == 1


def test_a_run_of_arrays_cannot_be_retrained(tmp_path: Path) -> None:
    rows = np.ones((2, 3))
    run = whereof.Run.from_arrays(
        model="distmult",
        entities="ab",
        relations="r",
        facts=[(0, 0, 1)],
        entity_rows=rows,
        relation_rows=rows[:1],
    )
    with (
        pytest.raises(whereof.WhereofError, match="other software trained this run"),
        open_case(run, ENGINE, Events()),
    ):
        pass


def test_a_folder_that_cannot_be_written_is_noted(tmp_path: Path) -> None:
    run, events = trained.train(tmp_path / "run"), Recorded()
    (tmp_path / "run" / "retrained").write_text("in the way")
    with open_case(run, ENGINE, events) as case:
        assert len(case.retrainer.journal) == 0
    assert events.notes == [f"retrainings are not stored: {tmp_path}/run/retrained: File exists"]


def test_a_sibling_is_trained_once_under_changed_settings(tmp_path: Path) -> None:
    run = trained.train(tmp_path / "run", seed=3)
    first = sibling(run, Events(), seed=4)
    assert first.config == run.config.replace(seed=4)
    assert first.path == tmp_path / "run" / "siblings" / "seed-4"
    alone = trained.train(tmp_path / "alone", seed=4)
    assert np.array_equal(first.entity_rows, alone.entity_rows)
    made = (first.path / "manifest.json").stat().st_mtime_ns
    again = sibling(run, Events(), seed=4)
    assert (again.path / "manifest.json").stat().st_mtime_ns == made
    assert sibling(run, Events(), seed=3) is run


def test_a_sibling_of_other_settings_is_refused(tmp_path: Path) -> None:
    run = trained.train(tmp_path / "run", seed=3)
    trained.train(tmp_path / "run" / "siblings" / "seed-4", seed=5)
    with pytest.raises(whereof.WhereofError, match="other settings; remove it"):
        sibling(run, Events(), seed=4)


@pytest.mark.parametrize(
    ("engine", "device"), [("auto", "cpu"), ("local", "cpu"), ("cuda", "cuda")]
)
def test_runs_are_trained_where_they_are_retrained(engine: str, device: str) -> None:
    assert machine_of(EngineOptions(engine)).device == device
