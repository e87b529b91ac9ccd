"""A run goes to another process as its path."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from trained import train

import whereof


def top_answer(run: whereof.Run) -> str:
    return str(run.predict("egypt", "embassy", top=1).to_dict()["answers"][0]["entity"])


def test_a_run_is_its_path_and_works_in_a_process_pool(tmp_path: Path) -> None:
    run = train(tmp_path / "run")
    assert run.__reduce__() == (whereof.Run.open, (str(tmp_path / "run"),))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(top_answer, run).result() == top_answer(run)


def test_a_run_of_arrays_stays_where_it_is() -> None:
    run = whereof.Run.from_arrays(
        model="mf",
        entities=["u", "i", "j"],
        facts=np.array([[0, 1]]),
        entity_rows=np.ones((3, 2)),
        n_subjects=1,
    )
    with pytest.raises(whereof.WhereofError, match="only in memory: save it"):
        run.__reduce__()
