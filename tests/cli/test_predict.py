"""`whereof predict` as a user types it: labels, long tables, files of queries."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trained import train, train_ratings

import whereof as library
from cli.helpers import whereof


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, inverse=True)
    return str(path)


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.tsv"
    path.write_text("egypt\tembassy\n_\tembassy\tusa\nusa\ttreaties\tcuba\n")
    return path


def test_a_file_of_queries_becomes_a_file_of_answers(run: str, queries: Path) -> None:
    out = queries.with_name("answers.jsonl")
    done = whereof("predict", run, "--queries", str(queries), "-o", str(out), "--top", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{out}: 7 answers to 3 queries in ")
    found = [json.loads(line) for line in out.read_text().splitlines()]
    names = [line.split("\t") for line in queries.read_text().splitlines()]
    opened = library.Run.open(run)
    assert found == [opened.predict(*query, top=3).to_dict() for query in names]


def test_new_leaves_out_what_is_known(run: str, queries: Path) -> None:
    shown = json.loads(whereof("predict", run, "egypt", "embassy", "--new", "--json").stdout)
    opened = library.Run.open(run)
    assert shown == opened.predict("egypt", "embassy", new=True).to_dict()
    out = queries.with_name("answers.jsonl")
    whereof("predict", run, "--queries", str(queries), "-o", str(out), "--new")
    assert json.loads(out.read_text().splitlines()[0]) == shown
    known = next(a for a in opened.predict("egypt", "embassy").answers if a.known == "train")
    assert (
        "nothing new" in whereof("predict", run, "egypt", "embassy", known.entity, "--new").stdout
    )


def test_json_is_one_summary(run: str, queries: Path) -> None:
    out = queries.with_name("answers.tsv")
    arguments = ["--queries", str(queries), "-o", str(out), "--top", "all", "--json"]
    summary = json.loads(whereof("predict", run, *arguments).stdout)
    assert summary.pop("seconds") >= 0
    assert summary == {"path": str(out), "n_queries": 3, "n_answers": 14 + 14 + 1}
    assert len(out.read_text().splitlines()) == 1 + summary["n_answers"]


def test_bad_input_is_one_clear_line(run: str, queries: Path) -> None:
    bad = queries.with_name("bad.tsv")
    bad.write_text("egypt\tembassy\negyp\tembassy\n")
    there = queries.with_name("there.tsv")
    there.write_text("mine")
    out = str(queries.with_name("answers.tsv"))
    cases = {
        "bad.tsv:2: unknown entity 'egyp'": ["--queries", str(bad), "-o", out],
        "no such file": ["--queries", "nowhere.tsv", "-o", out],
        "unknown ending '.xls'": ["--queries", str(queries), "-o", "answers.xls"],
        "overwrite it with --force": ["--queries", str(queries), "-o", str(there)],
        "requires": ["--queries", str(queries)],
        "give either a QUERY": ["egypt", "embassy", "--queries", str(queries), "-o", out],
        "--queries FILE": [],
    }
    for words, arguments in cases.items():
        done = whereof("predict", run, *arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert words in done.stderr
    assert {file.name for file in queries.parent.iterdir()} == {
        "queries.tsv",
        "bad.tsv",
        "there.tsv",
    }


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_an_interruption_leaves_nothing(run: str, queries: Path) -> None:
    queries.write_text("egypt\tembassy\n" * 200_000)
    out = queries.with_name("answers.tsv")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "whereof",
            "predict",
            run,
            "--queries",
            str(queries),
            "-o",
            str(out),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(queries.parent.glob(".answers.tsv-*")):
        assert process.poll() is None
    process.terminate()
    said = process.communicate()[1].splitlines()[-1]
    assert said in ("whereof: interrupted", "whereof: interrupted; nothing was written")
    assert process.returncode == 130
    assert [file.name for file in queries.parent.iterdir()] == ["queries.tsv"]


def test_the_heading_has_labels(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("q1\tp1\tq2\nq2\tp1\tq3\n")
    (tmp_path / "labels.tsv").write_text("q1\tAda\n")
    (tmp_path / "relations.tsv").write_text("p1\tknows\n")
    library.train(
        tmp_path / "facts.tsv",
        out=tmp_path / "run",
        entity_labels=tmp_path / "labels.tsv",
        relation_labels=tmp_path / "relations.tsv",
        dim=2,
    )
    path = str(tmp_path / "run")
    assert "Ada (q1) knows (p1) ?" in whereof("predict", path, "Ada", "p1").stdout
    assert "q2 knows (p1) q3" in whereof("predict", path, "q2", "p1", "q3").stdout


def test_ratings_are_held_to_their_scale(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, epochs=500)
    found = {item: run.predict("u3", item).answers[0].score for item in ("m1", "m2", "m3")}
    assert min(found.values()) < 1
    for item, score in found.items():
        shown = whereof("predict", str(run.path), "u3", item).stdout.splitlines()
        assert "probability" not in shown[1]
        assert float(shown[2].split()[1]) == pytest.approx(min(max(score, 1), 5), abs=1e-3)


def test_a_long_table_looks_like_a_short_one(tmp_path: Path) -> None:
    lines = "".join(f"e{i}\tr\te{i + 1}\n" for i in range(1200))
    (tmp_path / "facts.tsv").write_text(lines)
    library.train(tmp_path / "facts.tsv", out=tmp_path / "run", dim=2, epochs=1, trace=False)
    path = str(tmp_path / "run")
    short = whereof("predict", path, "e7", "r", "--top", "5").stdout.splitlines()
    long = whereof("predict", path, "e7", "r", "--top", "all").stdout.splitlines()
    assert len(long) == 2 + 1201
    assert [line.split() for line in long[: len(short)]] == [line.split() for line in short]


def test_a_new_user_is_answered_and_explained_by_the_history(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, epochs=20)
    history = tmp_path / "history.csv"
    history.write_text("m1,5\nm2,1\n")
    given = ["--history", str(history)]
    done = whereof("predict", str(run.path), *given)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("newcomer ?\n")
    assert "train with --loss softmax" in done.stderr
    assert "--loss softmax" in whereof("predict", str(run.path), *given, "--json").stderr
    one = json.loads(whereof("predict", str(run.path), "m3", *given, "--json").stdout)
    assert one == run.predict("m3", history=history).to_dict()
    assert "--loss softmax" not in whereof("predict", str(run.path), "m3", *given).stderr
    why = json.loads(
        whereof("explain", str(run.path), "m3", *given, "--top", "all", "--json").stdout
    )
    assert why["method"] == "fold-in"
    assert {fact["object"] for fact in why["facts"]} <= {"m1", "m2"}
    page = tmp_path / "why.html"
    assert whereof("explain", str(run.path), "_", *given, "--html", str(page)).returncode == 0
    assert page.exists()


def test_a_bad_history_is_one_line(tmp_path: Path, run: str, queries: Path) -> None:
    rated = str(train_ratings(tmp_path, epochs=1).path)
    history = tmp_path / "history.txt"
    history.write_text("m1\t5\nm9\t5\n")
    given = ["--history", str(history)]
    for words, arguments in (
        (f"{history}:2: unknown item 'm9'", [rated, *given]),
        ("a history requires a run with users and items", [run, *given]),
        (
            "--history and --queries cannot",
            [rated, *given, "--queries", str(queries), "-o", "a.tsv"],
        ),
        ("with a history, name only the item", [rated, "u0", "m1", *given]),
    ):
        done = whereof("predict", *arguments)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
        assert words in done.stderr
