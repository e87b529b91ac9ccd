"""Explanations in files: all formats agree, interrupted work continues, errors do not stop the
rest."""

import csv
import gzip
import json
import math
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from listening import Recorded
from pyarrow import parquet
from trained import train

import whereof
from whereof.errors import Interrupted
from whereof.explain.explain import explain_many
from whereof.explain.options import ExplainOptions
from whereof.predict.prediction import find_predictions
from whereof.present.files import _keep, open_unfinished, write_explanations

FILE = "egypt\tembassy\tusa\negyp\tembassy\tusa\n\nuk\ttreaties\t\nusa\tembassy\tcuba\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "p.tsv"
    path.write_text(FILE)
    return path


def read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.name.endswith(".gz") else data).decode()


def rows(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for document in documents:
        places = ("subject", "relation", "object", "probability", "score", "rank")
        common = {f"prediction_{place}": document["prediction"][place] for place in places}
        common |= {name: document[name] for name in ("method", "of", "n_adjacent")}
        for fact in document["facts"]:
            kept = {name: value for name, value in fact.items() if name != "labels"}
            kept |= {"parts": "+".join(fact["parts"]), "estimate": document["estimate"]}
            kept |= {f"{place}_label": fact["labels"][place] for place in places[:3]}
            found.append(common | kept)
    return found


@pytest.mark.parametrize("name", ["e.jsonl", "e.jsonl.gz"])
def test_a_line_is_what_explain_says_without_its_time(
    run: whereof.Run, predictions: Path, name: str
) -> None:
    run.explain_file(predictions, predictions.with_name(name), top=3)
    found = [json.loads(line) for line in read(predictions.with_name(name)).splitlines()]
    names = [("egypt", "embassy", "usa"), ("uk", "treaties", "_"), ("usa", "embassy", "cuba")]
    expected = [run.explain(*each, top=3).to_dict() for each in names]
    kept = ["prediction", "method", "of", "n_adjacent", "facts", "estimate"]
    assert found == [
        {name: each[name] for name in kept + ["groups"] * bool(each["groups"])} for each in expected
    ]


def test_what_was_asked_besides_is_kept(run: whereof.Run, predictions: Path) -> None:
    out = predictions.with_name("e.jsonl")
    run.explain_file(predictions, out, stability=True)
    first = json.loads(out.read_text().splitlines()[0])
    stability = run.explain("egypt", "embassy", "usa", stability=True).to_dict()["stability"]
    assert first["stability"] == stability
    assert "graph" not in first


def test_notes_of_the_method_are_said_once(run: whereof.Run, predictions: Path) -> None:
    events, out = Recorded(), predictions.with_name("e.csv")
    (note,) = run.explain("egypt", "embassy", "usa", method="unrolled").notes
    assert "not trained steadily" in note
    written = run.explain_file(predictions, out, method="unrolled", events=events)
    assert (written.n_predictions, written.notes) == (3, (note,))
    rivals = "top_answer_changes is not known: it requires --rivals 3, which takes more time"
    assert events.notes == [rivals, note]
    assert run.explain_file(predictions, out, force=True).notes == ()


def test_tables_agree_with_json_lines(run: whereof.Run, tmp_path: Path) -> None:
    for name in ("e.jsonl", "e.parquet", "e.csv", "e.tsv.gz"):
        written = run.explain_file("top", tmp_path / name, limit=12, top=4)
        assert (written.n_predictions, written.failed) == (12, ())
        assert written.n_facts == 48
    documents = [json.loads(line) for line in read(tmp_path / "e.jsonl").splitlines()]
    expected = rows(documents)
    table = parquet.read_table(tmp_path / "e.parquet")
    names = list(table.schema.names)
    assert table.to_pylist() == [{name: row[name] for name in names} for row in expected]
    assert {name for row in expected for name in row} == set(names)
    texts = [["" if row[n] is None else str(row[n]) for n in names] for row in expected]
    assert list(csv.reader(read(tmp_path / "e.csv").splitlines())) == [names, *texts]
    lines = read(tmp_path / "e.tsv.gz").splitlines()
    assert [line.split("\t") for line in lines] == [names, *texts]


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.tsv.gz", "e.parquet"])
def test_the_bytes_are_those_of_work_that_was_not_cut(
    run: whereof.Run, tmp_path: Path, name: str
) -> None:
    (tmp_path / "cut").mkdir()
    out, whole = tmp_path / "cut" / name, tmp_path / name
    with pytest.raises(Interrupted):
        run.explain_file("true", out, limit=20, top=3, events=Recorded(7))
    journal = out.with_name(f".{name}.unfinished")
    assert [file.name for file in out.parent.iterdir()] == [journal.name]
    # As after a loss of power: a line that was only begun.
    with journal.open("r+b") as file:
        file.truncate(journal.stat().st_size - 40)
    told = Recorded()
    written = run.explain_file("true", out, limit=20, top=3, events=told)
    assert written.n_resumed == 6
    assert (told.done[0], told.done[-1]) == ((7, 20), (20, 20))
    assert run.explain_file("true", whole, limit=20, top=3).n_resumed == 0
    assert out.read_bytes() == whole.read_bytes()
    assert [file.name for file in out.parent.iterdir()] == [name]


def test_a_damaged_line_and_what_follows_is_done_again(run: whereof.Run, tmp_path: Path) -> None:
    out, journal = tmp_path / "e.jsonl", tmp_path / ".e.jsonl.unfinished"
    with pytest.raises(Interrupted):
        run.explain_file("true", out, limit=9, events=Recorded(8))
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[4] = b"\0" * 60 + b"\n"
    journal.write_bytes(b"".join(lines))
    assert run.explain_file("true", out, limit=9).n_resumed == 3
    assert run.explain_file("true", tmp_path / "f.jsonl", limit=9).n_predictions == 9
    assert out.read_bytes() == (tmp_path / "f.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"top": 5}, "set of options"),
        ({"limit": 8}, "list of predictions"),
        ({"split": "valid"}, "list of predictions"),
    ],
)
def test_other_work_does_not_go_on(
    run: whereof.Run, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    out, asked = tmp_path / "e.jsonl", {"limit": 9, "top": 2}
    with pytest.raises(Interrupted):
        run.explain_file("true", out, events=Recorded(3), **asked)
    with pytest.raises(whereof.WhereofError, match=f"has another {what}.*force=True"):
        run.explain_file("true", out, **asked | change)
    run.explain_file("true", out, force=True, **asked | change)
    run.explain_file("true", tmp_path / "f.jsonl", **asked | change)
    assert out.read_bytes() == (tmp_path / "f.jsonl").read_bytes()


def test_another_run_does_not_go_on(run: whereof.Run, tmp_path: Path) -> None:
    other = train(tmp_path / "other", seed=99, inverse=True)
    out = tmp_path / "e.jsonl"
    with pytest.raises(Interrupted):
        run.explain_file("true", out, events=Recorded(3))
    with pytest.raises(whereof.WhereofError, match="has another run: finish it as it was begun"):
        other.explain_file("true", out)


def test_another_device_does_not_go_on(run: whereof.Run, tmp_path: Path) -> None:
    out, options = tmp_path / "e.jsonl", ExplainOptions()
    with pytest.raises(Interrupted):
        run.explain_file("true", out, events=Recorded(3))
    questions = find_predictions(run._trained, "true", "test", None, "object")
    work = {"run": run.fingerprint, "device": "cuda", "set of options": options.to_dict()}
    explain = partial(explain_many, run._trained, options=options)
    with pytest.raises(whereof.WhereofError, match="has another device: finish it as it was begun"):
        write_explanations(
            explain, questions, work, out, force=False, resume=False, events=Recorded()
        )


def test_resume_never_begins(run: whereof.Run, tmp_path: Path) -> None:
    out = tmp_path / "e.jsonl"
    with pytest.raises(
        whereof.WhereofError, match=r"no unfinished work for .*leave out resume=True"
    ):
        run.explain_file("true", out, resume=True)
    with pytest.raises(whereof.WhereofError, match="choose one of them"):
        run.explain_file("true", out, resume=True, force=True)
    with pytest.raises(Interrupted):
        run.explain_file("true", out, limit=5, events=Recorded(3))
    assert run.explain_file("true", out, limit=5, resume=True).n_resumed == 3


def test_overwriting_goes_on_too(run: whereof.Run, tmp_path: Path) -> None:
    out = tmp_path / "e.jsonl"
    out.write_text("mine")
    with pytest.raises(whereof.WhereofError, match=r"exists.*with force=True"):
        run.explain_file("true", out, limit=5)
    with pytest.raises(Interrupted):
        run.explain_file("true", out, limit=5, force=True, events=Recorded(3))
    assert out.read_text() == "mine"
    assert run.explain_file("true", out, limit=5).n_resumed == 3
    assert out.read_text().startswith('{"prediction"')


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_two_processes_do_not_write_one_file(run: whereof.Run, tmp_path: Path) -> None:
    out = tmp_path / "e.jsonl"
    with (
        open_unfinished(out, {"run": "a"}, force=False, resume=False),
        pytest.raises(whereof.WhereofError, match="being written by another process"),
    ):
        run.explain_file("true", out)


def test_bad_lines_are_records(run: whereof.Run, predictions: Path) -> None:
    out = predictions.with_name("e.tsv")
    written = run.explain_file(predictions, out)
    (failed,) = written.failed
    assert (failed.line, failed.prediction) == (2, ("egyp", "embassy", "usa"))
    assert "did you mean 'egypt'" in failed.message
    assert list(written.to_dict()["failed"]) == [vars(failed)]
    assert (written.n_predictions, written.n_facts) == (3, 30)


def test_bad_lines_are_remembered_over_a_cut(run: whereof.Run, predictions: Path) -> None:
    out = predictions.with_name("e.tsv")
    with pytest.raises(Interrupted):
        run.explain_file(predictions, out, events=Recorded(2))
    written = run.explain_file(predictions, out)
    assert (written.n_resumed, [failed.line for failed in written.failed]) == (2, [2])


def test_a_file_without_a_good_line_makes_none(run: whereof.Run, predictions: Path) -> None:
    predictions.write_text("a\tb\tc\n")
    written = run.explain_file(predictions, predictions.with_name("e.tsv"))
    assert (written.n_predictions, len(written.failed)) == (0, 1)
    assert [file.name for file in predictions.parent.iterdir()] == ["p.tsv"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("p.tsv", b"\n", "the file contains no prediction"),
        ("p.tsv", b"\xff\ta\tb\n", "not UTF-8"),
        ("p.csv", b'"egypt,embassy\n', "expected comma-separated text with balanced quotes"),
        ("p.tsv.gz", b"egypt\tembassy\tusa\n", "not a gzip file"),
    ],
)
def test_a_file_that_is_none_is_refused(
    run: whereof.Run, tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(whereof.WhereofError, match=message):
        run.explain_file(tmp_path / name, tmp_path / "e.tsv")
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_predictions_by_commas_and_gzipped(run: whereof.Run, tmp_path: Path) -> None:
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(b'"egypt",embassy,usa\nuk,embassy,\n'))
    (tmp_path / "p.tsv").write_text("egypt\tembassy\tusa\nuk\tembassy\t_\n")
    for name, out in (("p.csv.gz", "a.tsv"), ("p.tsv", "b.tsv")):
        assert run.explain_file(tmp_path / name, tmp_path / out).n_predictions == 2
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()


def test_what_fails_for_all_leaves_nothing(run: whereof.Run, tmp_path: Path) -> None:
    cases: dict[str, tuple[str, dict[str, Any]]] = {
        "unknown ending": ("e.xls", {}),
        "unknown relation": ("e.tsv", {"relation": "embasy"}),
        "unknown split 'tests'": ("e.tsv", {"split": "tests"}),
        "limit is 0": ("e.tsv", {"limit": 0}),
        "threads is -1": ("e.tsv", {"threads": -1}),
        "unknown setting 'tops'": ("e.tsv", {"tops": 3}),
        "is a folder": ("folder.tsv", {}),
    }
    (tmp_path / "folder.tsv").mkdir()
    for words, (name, options) in cases.items():
        with pytest.raises(whereof.WhereofError, match=words):
            run.explain_file("top", tmp_path / name, **options)
    assert [file.name for file in tmp_path.iterdir()] == ["folder.tsv"]
    with pytest.raises(whereof.WhereofError, match="cannot write"):
        run.explain_file("top", run.path / "manifest.json" / "e.tsv")  # type: ignore[operator]


def test_numbers_that_are_not_finite_are_a_fault_of_their_prediction(
    run: whereof.Run, tmp_path: Path
) -> None:
    explanation = run.explain("egypt", "embassy", "usa")
    facts = (replace(explanation.facts[0], influence=math.inf),)
    with open_unfinished(tmp_path / "e", {"run": "a"}, force=False, resume=False) as journal:
        _keep(journal, 7, replace(explanation, facts=facts))
        _keep(journal, 8, explanation)
        first, second = journal.records()
    assert (first["failed"]["line"], first["failed"]["prediction"][0]) == (7, "egypt")
    assert "not finite" in first["failed"]["message"]
    assert len(second["facts"]) == 10


def test_arrays_are_told_apart(tmp_path: Path) -> None:
    def run(scale: float) -> whereof.Run:
        rng = np.random.default_rng(0)
        return whereof.Run.from_arrays(
            model="distmult",
            entities=["a", "b", "c"],
            relations=["r"],
            facts=[(0, 0, 1), (1, 0, 2)],
            entity_rows=rng.normal(size=(3, 4)),
            relation_rows=rng.normal(size=(1, 4)),
            trace=scale * rng.normal(size=(2, 3, 4)),
        )

    out = tmp_path / "e.jsonl"
    with pytest.raises(Interrupted):
        run(0.1).explain_file("true", out, split="train", events=Recorded(1))
    with pytest.raises(whereof.WhereofError, match="has another run"):
        run(0.2).explain_file("true", out, split="train")
    assert run(0.1).explain_file("true", out, split="train").n_resumed == 1
