"""Answers to a file of queries: formats, errors, and no incomplete files."""

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from listening import Recorded
from pyarrow import parquet
from trained import train

import whereof
from whereof.predict.answers import Answers
from whereof.present.files import write_answers

QUERIES = [("egypt", "embassy"), ("_", "embassy", "usa"), ("egypt", "embassy", "cuba")]
COLUMNS = ["subject", "relation", "object", "asks"]
COLUMNS += ["entity", "label", "probability", "score", "rank", "known"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.tsv"
    path.write_text("".join("\t".join(names) + "\n" for names in QUERIES))
    return path


def expected(run: whereof.Run, top: int | None = 3) -> list[dict[str, Any]]:
    return [run.predict(*names, top=top).to_dict() for names in QUERIES]


def rows(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        document["query"] | {"asks": document["asks"]} | answer
        for document in documents
        for answer in document["answers"]
    ]


def read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.name.endswith(".gz") else data).decode()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "A.JSONL"])
def test_json_lines_are_what_predict_prints(run: whereof.Run, queries: Path, name: str) -> None:
    run.predict_file(queries, queries.with_name(name), top=3)
    lines = read(queries.with_name(name)).splitlines()
    assert [json.loads(line) for line in lines] == expected(run)


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.csv", "a.tsv.gz", "a.csv.gz"])
def test_a_table_has_one_row_an_answer(run: whereof.Run, queries: Path, name: str) -> None:
    run.predict_file(queries, queries.with_name(name), top=3)
    text = read(queries.with_name(name))
    found = csv.DictReader(text.splitlines(), delimiter="," if ".csv" in name else "\t")
    assert found.fieldnames == COLUMNS
    as_text = [
        {column: "" if value is None else str(value) for column, value in row.items()}
        for row in rows(expected(run))
    ]
    assert list(found) == as_text


def test_parquet_has_the_same_rows_typed(run: whereof.Run, queries: Path) -> None:
    run.predict_file(queries, queries.with_name("a.parquet"), top=None)
    assert parquet.read_table(queries.with_name("a.parquet")).to_pylist() == rows(
        expected(run, None)
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", '"egypt",embassy,\n_,embassy,usa\n\negypt,embassy,cuba\n'),
        ("q.tsv", "\ufeffegypt\tembassy\t_\r\n\r\n\tembassy\tusa\r\negypt\tembassy\tcuba"),
        ("q.txt", "EGYPT\tembassy\n_\tembassy\tusa\negypt\tembassy\tcuba\n"),
        ("q.csv.gz", "egypt,embassy\n_,embassy,usa\negypt,embassy,cuba\n"),
    ],
)
def test_queries_may_be_written_in_many_ways(
    run: whereof.Run, tmp_path: Path, name: str, text: str
) -> None:
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    run.predict_file(tmp_path / name, tmp_path / "a.jsonl", top=3)
    lines = read(tmp_path / "a.jsonl").splitlines()
    assert [json.loads(line) for line in lines] == expected(run)


def test_what_was_written_is_said_and_progress_told(run: whereof.Run, queries: Path) -> None:
    told = Recorded()
    out = queries.with_name("a.tsv")
    written = run.predict_file(queries, out, top=3, events=told)
    assert (written.path, written.n_queries, written.n_answers) == (str(out), 3, 3 + 3 + 1)
    assert told.done == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("q.tsv", b"egypt\tembassy\negyp\tembassy\n", r"q\.tsv:2: .*did you mean 'egypt'\?$"),
        ("q.tsv", b"\na\tb\na\tb\n\nc\td\n", r"q\.tsv:2: unknown entity 'a'.*\(2 other bad lines"),
        ("q.tsv", b"a\tb\n" * 99, r"q\.tsv:1: .*\(20 or more other bad lines\)$"),
        (
            "q.tsv",
            b"egypt embassy\n",
            r"q\.tsv:1: a query is SUBJECT RELATION, _ RELATION OBJECT or",
        ),
        ("q.tsv", b"\n\n", "the file contains no query"),
        ("q.tsv", b"\xff\tembassy\n", "not UTF-8"),
        ("q.csv", b'"egypt,embassy\n', "q.csv:1: unexpected end of data; expected comma"),
        ("q.tsv.gz", b"egypt\tembassy\n", "not a gzip file; drop .gz from its name"),
        ("q.tsv.gz", gzip.compress(b"egypt\tembassy\n")[:-9], "truncated or damaged gzip data"),
    ],
)
def test_bad_queries_are_named_before_any_is_answered(
    run: whereof.Run, tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(whereof.WhereofError, match=message):
        run.predict_file(tmp_path / name, tmp_path / "a.tsv")
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_missing_file_of_queries_is_named(run: whereof.Run, tmp_path: Path) -> None:
    with pytest.raises(whereof.WhereofError, match=r"q\.tsv: no such file"):
        run.predict_file(tmp_path / "q.tsv", tmp_path / "a.tsv")
    with pytest.raises(whereof.WhereofError, match="a folder, expected a file"):
        run.predict_file(tmp_path, tmp_path / "a.tsv")


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.parquet.gz", "a.gz"])
def test_an_unknown_ending_is_refused(run: whereof.Run, queries: Path, name: str) -> None:
    with pytest.raises(whereof.WhereofError, match=r"unknown ending .*choose from \.tsv, \.txt"):
        run.predict_file(queries, queries.with_name(name))


def test_a_file_that_exists_is_overwritten_only_by_force(run: whereof.Run, queries: Path) -> None:
    out = queries.with_name("a.tsv")
    out.write_text("mine")
    with pytest.raises(whereof.WhereofError, match=r"exists.*with force=True"):
        run.predict_file(queries, out)
    assert out.read_text() == "mine"
    run.predict_file(queries, out, force=True)
    assert out.read_text().startswith("subject\t")


def test_the_folder_of_the_answers_is_made(run: whereof.Run, queries: Path) -> None:
    run.predict_file(queries, queries.parent / "one" / "two" / "a.tsv")
    assert [file.name for file in queries.parent.glob("one/two/*")] == ["a.tsv"]


def test_a_place_that_cannot_be_written_is_named(run: whereof.Run, queries: Path) -> None:
    with pytest.raises(whereof.WhereofError, match=r"cannot write .*a\.tsv"):
        run.predict_file(queries, queries / "a.tsv")
    (queries.parent / "folder.tsv").mkdir()
    with pytest.raises(whereof.WhereofError, match="is a folder"):
        run.predict_file(queries, queries.parent / "folder.tsv", force=True)


@pytest.mark.parametrize("name", ["a.tsv", "a.jsonl.gz", "a.parquet"])
def test_an_interruption_leaves_what_was_there(run: whereof.Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")

    def interrupted() -> Iterator[Answers]:
        yield run.predict("egypt", "embassy")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_answers(tmp_path / name, interrupted(), 2, force=True, events=Recorded())
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_names_with_quotes_and_commas_come_back(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text('a, "b"\tr\tc\nc\tr\td\n')
    (tmp_path / "labels.tsv").write_text('c\tsee "c", or d\n')
    run = whereof.train(
        tmp_path / "facts.tsv", out=tmp_path / "run", entity_labels=tmp_path / "labels.tsv", dim=2
    )
    (tmp_path / "q.tsv").write_text('a, "b"\tr\n')
    formats: dict[str, dict[str, Any]] = {
        "a.tsv": {"delimiter": "\t", "quoting": csv.QUOTE_NONE},
        "a.csv": {},
    }
    for name, style in formats.items():
        run.predict_file(tmp_path / "q.tsv", tmp_path / name)
        with (tmp_path / name).open(newline="") as file:
            found = list(csv.DictReader(file, **style))
        assert {row["subject"] for row in found} == {'a, "b"'}
        assert 'see "c", or d' in {row["label"] for row in found}


def test_what_would_end_a_cell_becomes_a_blank(tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text('"a\tb",r,"c\nd"\n"c\nd",r,e\n')
    run = whereof.train(tmp_path / "facts.csv", out=tmp_path / "run", dim=2)
    (tmp_path / "q.csv").write_text('"a\tb",r\n')
    run.predict_file(tmp_path / "q.csv", tmp_path / "a.tsv")
    found = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()]
    assert {len(cells) for cells in found} == {len(COLUMNS)}
    assert {cells[0] for cells in found[1:]} == {"a b"}
    assert "c d" in {cells[4] for cells in found[1:]}
