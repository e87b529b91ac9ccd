"""`whereof verify` as a user types it: tables that fit, JSON, what it takes, bad input, Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from trained import train, train_ratings

import whereof as library
from cli.helpers import whereof
from whereof.cli import cli
from whereof.present.verdict import verdict_words

EGYPT = ("egypt", "embassy", "usa")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path, inverse=True)
    return str(path)


def invoke(*arguments: str, **env: str) -> Result:
    """Run a command in this process, where kernels are loaded."""
    done = CliRunner(env=env).invoke(cli, list(arguments))
    assert done.exit_code == 0, done.output
    return done


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke("verify", *arguments, "--json").stdout)
    return found


def test_json_is_what_the_library_says(run: str) -> None:
    found = document(run, *EGYPT, "--top", "3", "--each", "--seeds", "2")
    wanted = library.Run.open(run).verify(*EGYPT, top=3, each=True, seeds=2).to_dict()
    for name in ("seconds", "n_retrainings", "n_known"):
        del found[name], wanted[name]
    assert found == wanted
    binding = {"prediction", "removed", "before", "predicted", "actual", "control_matches_run"}
    assert binding <= found.keys()
    assert found["control_matches_run"] is True
    for name in ("before", "predicted", "actual"):
        assert {"probability", "rank", "top_answer"} <= found[name].keys()
        assert 0 <= found[name]["probability"] <= 1
    assert [each["fact_id"] for each in found["each"]] == found["removed"]


def test_facts_may_be_given_again_or_stand_in_a_file(run: str, tmp_path: Path) -> None:
    found = document(run, *EGYPT, "--facts", "3,4", "--facts", "burma,embassy,uk")
    assert {3, 4} < set(found["removed"])
    (tmp_path / "whereof.toml").write_text(
        '[verify]\nfacts = [3, 4, ["burma", "embassy", "uk"]]\nthreads = 1\n[train]\ndim = 5\n'
    )
    again = document(run, *EGYPT, "--config", str(tmp_path / "whereof.toml"))
    assert again["removed"] == found["removed"]
    typed = document(run, *EGYPT, "--config", str(tmp_path / "whereof.toml"), "--top", "2")
    assert len(typed["removed"]) == 2  # comes before the facts of the file


def test_the_table_says_what_was_predicted_and_what_happened(run: str) -> None:
    found = document(run, *EGYPT, "--top", "4")
    lines = invoke("verify", run, *EGYPT, "--top", "4", COLUMNS="200").stdout.splitlines()
    verdict = library.Run.open(run).verify(*EGYPT, top=4)
    assert lines[0] == "egypt embassy usa"
    assert lines[1] == verdict_words(verdict)
    at = lines.index("Without these 4 facts together")
    assert lines[at + 1].split() == ["probability", "rank", "top", "answer"]
    titles = {"before": "before", "predicted": "estimated", "actual": "actual"}
    for line, (name, title) in zip(lines[at + 2 :], titles.items(), strict=False):
        stand, cells = found[name], line.split()
        assert cells == [title, cells[1], str(stand["rank"]), stand["top_answer"]]
        assert float(cells[1].rstrip("%")) == pytest.approx(100 * stand["probability"], abs=0.051)
    facts = lines[lines.index("The facts, by rollback") + 2 :][:4]
    assert [int(line.split()[0]) for line in facts] == found["removed"]
    assert lines[-1] == "next: --each, --seeds 5, --json"


def test_each_fact_has_a_row(run: str) -> None:
    found = document(run, *EGYPT, "--top", "3", "--each")
    lines = invoke("verify", run, *EGYPT, "--top", "3", "--each").stdout.splitlines()
    at = lines.index("Influence of each of them alone")
    head = lines[at + 1].split()
    assert head[:4] == ["fact", "subject", "relation", "object"]
    assert head[4:8] == ["estimated", "actual", "without", "rank"]
    before, top = found["before"]["probability"], found["before"]["top_answer"]
    for line, each in zip(lines[at + 2 :], found["each"], strict=False):
        assert int(line.split()[0]) == each["fact_id"]
        assert line.split()[1:4] == [each["subject"], each["relation"], each["object"]]
        falls = [before - each[name]["probability"] for name in ("predicted", "actual")]
        assert [*map(float, line.split()[4:6])] == pytest.approx(falls, abs=5e-5)
        if each["actual"]["top_answer"] != top:
            assert line.endswith(each["actual"]["top_answer"])


def test_seeds_have_rows_a_mean_and_a_deviation(run: str) -> None:
    found = document(run, *EGYPT, "--seeds", "3")
    lines = invoke("verify", run, *EGYPT, "--seeds", "3").stdout.splitlines()
    table = lines[lines.index("Without the same facts, under several seeds") + 2 :][:5]
    assert [line.split()[0] for line in table] == ["3", "4", "5", "mean", "deviation"]
    for line, spread in zip(table[3:], ("mean", "std"), strict=True):
        before, actual, fall = map(float, re.findall(r"([-+]?[\d.]+)(?:%| points)", line))
        for shown, name in ((before, "before"), (actual, "actual"), (fall, "fall")):
            assert shown == pytest.approx(100 * found["summary"][name][spread], abs=0.051)


def test_long_lists_are_counted(run: str) -> None:
    n_facts = len(document(run, *EGYPT, "--top", "all")["removed"])
    lines = invoke("verify", run, *EGYPT, "--top", "all").stdout.splitlines()
    assert f"and {n_facts - 20} more rows; --json has all of them" in lines


def test_a_page_of_the_verdict(run: str, tmp_path: Path) -> None:
    page = tmp_path / "verdict.html"
    arguments = [run, *EGYPT, "--top", "2", "--html", str(page)]
    said = invoke("verify", *arguments).stdout.splitlines()[1]
    assert said in page.read_text()
    again = whereof("verify", *arguments)
    assert (again.returncode, again.stdout) == (2, "")
    assert "overwrite it with --force" in again.stderr


def test_ratings_have_no_percent(tmp_path: Path) -> None:
    run = str(train_ratings(tmp_path, 20).path)
    lines = invoke("verify", run, "u0", "m1", "--facts", "0,3", "--seeds", "2").stdout
    assert "the rating really" in lines
    assert "%" not in lines
    assert re.search(r"^ +rating +rank +top answer$", lines, re.MULTILINE)


def test_what_it_takes_is_said_on_standard_error(tmp_path: Path) -> None:
    run = str(train(tmp_path / "run").path)
    first = invoke("verify", run, *EGYPT, "--top", "2", "--each", "--threads", "2", "--json")
    assert re.search(
        r"^4 retrainings, 2 at a time, (about \S+ (s|min)|less than a second)$",
        first.stderr,
        re.MULTILINE,
    )
    json.loads(first.stdout)
    more = invoke("verify", run, *EGYPT, "--top", "3", "--each", "--seeds", "2", "--threads", "2")
    assert "2 retrainings, 2 at a time" in more.stderr
    assert "; 3 more are stored already" in more.stderr
    assert "training the run with seed 4, once" in more.stderr
    assert invoke("verify", run, *EGYPT, "--top", "2", "--each").stderr == ""


def test_exact_explanations_say_what_they_take(run: str) -> None:
    arguments = ["explain", run, *EGYPT, "--method", "retrain", "--role", "several"]
    done = invoke(*arguments, "--threads", "2", "--engine", "local")
    assert re.search(r"^\d+ retrainings, 2 at a time, (about|less) ", done.stderr, re.MULTILINE)
    assert "Facts that support it, by influence on its probability" in done.stdout
    assert "--stability" not in done.stdout
    found = json.loads(invoke(*arguments, "--json").stdout)
    explained = library.Run.open(run).explain(*EGYPT, method="retrain", role="several")
    assert found["facts"] == explained.to_dict()["facts"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify", "egypt", "embassy"], "a prediction is SUBJECT RELATION OBJECT; got egypt emba"),
        (["verify", "egypt", "embasy", "usa"], "embassy"),
        (["verify", *EGYPT, "--top", "none"], "--top is 'none'; give a number from 1 on, or all"),
        (["verify", *EGYPT, "--facts", "1", "--top", "2"], "leave out top"),
        (["verify", *EGYPT, "--seeds", "0"], "seeds is 0; it must be 1 or more"),
        (["verify", *EGYPT, "--method", "magic"], "magic"),
        (["verify", *EGYPT, "--facts", "a,b"], "'a,b' is not a fact"),
        (["explain", *EGYPT, "--engine", "local"], "--engine requires --seeds or a --method"),
        (["explain", *EGYPT, "--threads", "2"], "--threads requires --predictions"),
        (
            ["explain", "--predictions", "top", "-o", "x.jsonl", "--method", "retrain"],
            "explains one prediction at a time",
        ),
    ],
)
def test_bad_input_is_one_line(
    run: str, arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = whereof(arguments[0], run, *arguments[1:], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=40)
    arguments = ["explain", str(run.path), *EGYPT, "--method", "retrain", "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "whereof", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "retrainings, " in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.communicate()[1]
    assert process.returncode == 130, [*lines, rest]
    assert rest.splitlines()[-1] == ("whereof: interrupted; run the same command again to continue")
