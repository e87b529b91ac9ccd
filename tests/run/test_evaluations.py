"""Evaluations kept in a run, and retrainings as files."""

import csv
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from whereof import WhereofError
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.sample import Retraining
from whereof.run.files import find_evaluations, save_evaluation

ROW = Retraining(
    protocol="removal",
    method="rollback",
    k="all",
    seed=42,
    constraint="none",
    subject="egypt",
    relation=None,
    object='a "b", c',
    asks="object",
    removed=(3, 5, 8),
    original=0.5,
    predicted=None,
    actual=0.25,
    original_score=1.5,
    actual_score=-0.5,
    rank_before=1,
    rank_after=4,
    top_before="x",
    top_after="y",
    top_released="z",
)


@pytest.fixture
def evaluation() -> Evaluation:
    about: dict[str, Any] = {"run": "r", "dataset": "d", "model": "m", "config": {}, "seeds": (1,)}
    sizes = {"n_predictions": 1, "n_adjacent_mean": 3.0, "n_adjacent_std": 0.0}
    return Evaluation(
        **about,
        predictions="top",
        split="test",
        options={"k": (1,)},
        **sizes,
        retrainings=(ROW, ROW),
    )


def test_parquet_holds_the_removed_facts_as_lists(evaluation: Evaluation, tmp_path: Path) -> None:
    evaluation.to_file(tmp_path / "rows.parquet")
    rows = parquet.read_table(tmp_path / "rows.parquet").to_pylist()
    assert rows == [vars(ROW) | {"removed": [3, 5, 8]}] * 2


def test_texts_hold_them_in_one_cell(evaluation: Evaluation, tmp_path: Path) -> None:
    evaluation.to_file(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    texts = {name: "" if value is None else str(value) for name, value in vars(ROW).items()}
    assert rows == [texts | {"removed": "3 5 8"}] * 2
    evaluation.to_file(tmp_path / "rows.tsv.gz")
    with gzip.open(tmp_path / "rows.tsv.gz", "rt") as file:
        heading, line, _ = (text.rstrip("\n").split("\t") for text in file)
    assert dict(zip(heading, line, strict=True))["removed"] == "3 5 8"
    evaluation.to_file(tmp_path / "rows.jsonl")
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [vars(ROW) | {"removed": [3, 5, 8]}] * 2


def test_a_file_that_exists_stays_unless_forced(evaluation: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("mine")
    with pytest.raises(WhereofError, match="exists; choose another file"):
        evaluation.to_file(path)
    assert path.read_text() == "mine"
    evaluation.to_file(path, force=True)
    assert path.read_text().startswith("protocol,method,k,")
    with pytest.raises(WhereofError, match=r"unknown ending '\.xls'"):
        evaluation.to_file(tmp_path / "rows.xls")


def test_the_latest_of_the_same_options_stays(evaluation: Evaluation, tmp_path: Path) -> None:
    assert find_evaluations(tmp_path) == []
    document = evaluation.to_dict()
    first = save_evaluation(tmp_path, document)
    assert (first.parent, first.suffix) == (tmp_path / "evaluations", ".json")
    assert first.name.startswith("top-")
    other = save_evaluation(tmp_path, document | {"options": {"k": [2]}})
    os.utime(first, ns=(1, 1))
    os.utime(other, ns=(2, 2))
    assert find_evaluations(tmp_path) == [first, other]
    assert save_evaluation(tmp_path, document | {"seconds": 9.0}) == first
    assert find_evaluations(tmp_path) == [other, first]
    assert json.loads(first.read_text())["seconds"] == 9.0


def test_an_altered_evaluation_is_not_read(evaluation: Evaluation, tmp_path: Path) -> None:
    path = save_evaluation(tmp_path, evaluation.to_dict())
    assert Evaluation.read(path).to_dict() == evaluation.to_dict()
    text = path.read_text()
    path.write_text(text.replace('"seconds": ', '"seconds": 1', 1))
    assert path.read_text() != text
    with pytest.raises(WhereofError, match="checksum does not match"):
        Evaluation.read(path)


def test_what_is_no_document_is_not_read(tmp_path: Path) -> None:
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 200_000)
    with pytest.raises(WhereofError, match="nested too deep"):
        Evaluation.read(deep)
    with pytest.raises(WhereofError, match="is a device"):
        Evaluation.read(Path(os.devnull))
