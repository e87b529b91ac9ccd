"""Names that a terminal or a spreadsheet would obey."""

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli.helpers import whereof as command
from trained import FAST

import whereof

ESCAPES = ("\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\u202e", "\x7f", "\r")
NAMES = [f"a{code}b{number}" for number, code in enumerate(ESCAPES)]
FORMULAS = ["=1+1", "+cmd", "@SUM(A1)", "-2+3", "-2.5", "\rlone", "plain"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names") / "run"
    names = [*NAMES, *FORMULAS]
    facts = {
        "s": names * 2,
        "r": ["r\x1b[1m"] * 2 * len(names),
        "o": [*names[1:], *names[:1], *names[2:], *names[:2]],
    }
    split = {"valid_fraction": 0.1, "test_fraction": 0.1}
    whereof.train(facts, out=path, name="data\x1b[31m", **FAST | {"negatives": 2}, **split)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["info"],
        ["predict", NAMES[0], "r\x1b[1m"],
        ["predict", NAMES[0], "r\x1b[1m", "--json"],
        ["explain", NAMES[0], "r\x1b[1m", NAMES[1], "--method", "rollback"],
        ["verify", NAMES[0], "r\x1b[1m", NAMES[1], "--method", "rollback"],
        ["evaluate", "--methods", "random", "--k", "1", "--limit", "2", "--protocols", "removal"],
        ["predict", "\x1b[31munknown", "r"],
    ],
    ids=" ".join,
)
def test_no_output_has_control_characters_of_names(run: Path, arguments: list[str]) -> None:
    done = command(arguments[0], str(run), *arguments[1:])
    shown = (done.stdout + done.stderr).replace("\n", "")
    assert shown.isprintable(), repr(shown)
    assert done.stdout or done.returncode


def test_json_keeps_the_names(run: Path) -> None:
    done = command("predict", str(run), NAMES[2], "r\x1b[1m", "--top", "all", "--json")
    answers = json.loads(done.stdout)["answers"]
    assert {each["entity"] for each in answers} <= {*NAMES, *FORMULAS}
    assert json.loads(done.stdout)["query"]["subject"] == NAMES[2]


def test_a_table_for_spreadsheets_runs_no_formula(run: Path, tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("plain\tr\x1b[1m\n", newline="")
    opened = whereof.Run.open(run)
    opened.predict_file(tmp_path / "q.tsv", tmp_path / "a.csv", top=None)
    text = (tmp_path / "a.csv").read_bytes().decode()
    assert "\r\n" not in text
    rows = [*csv.DictReader(io.StringIO(text, newline=""))]
    names = {row["entity"] for row in rows}
    assert len(rows) == len(opened.dataset.entities)
    assert {"'=1+1", "'+cmd", "'@SUM(A1)", "'-2+3", "-2.5", "'\rlone", "plain"} <= names
    assert NAMES[-1] in names


def test_a_graph_is_well_formed(run: Path, tmp_path: Path) -> None:
    asked = NAMES[0], "r\x1b[1m", NAMES[1]
    explanation = whereof.Run.open(run).explain(*asked, method="rollback")
    explanation.to_file(tmp_path / "e.graphml")
    nodes = {each.get("id") for each in ElementTree.parse(tmp_path / "e.graphml").iter()}
    assert {"a\\x1b[2Jb0", "a\\x1b]0;title\\x07b1"} <= nodes
