"""`whereof unlearn` as a user types it."""

import json
import re
from pathlib import Path

import pytest
from trained import train

import whereof as library
from cli.helpers import whereof


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unlearn")
    train(folder / "run")
    return folder


def test_the_command_makes_a_run_without_the_facts(folder: Path) -> None:
    run = library.Run.open(folder / "run")
    fact = ",".join(run.dataset.fact_names(run.dataset.train[7]))
    done = whereof("unlearn", "run", "5", fact, "-o", "new", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["removed"], found["run"]) == ([5, 7], "new")
    assert (
        ",".join(found["first_removed"][1][it] for it in ("subject", "relation", "object")) == fact
    )
    assert found["distance"]["rows"] > 0
    assert library.Run.open(folder / "new").dataset.n_facts == run.dataset.n_facts - 2
    text = whereof("unlearn", "run", "--entity", "burma", "-o", "other", cwd=folder).stdout
    assert "Removed 1 entity without other facts." in text
    assert re.search(
        r"^Removed \d+ facts: (\w+ \w+ \w+; ){5}and [\d,]+ more\.", " ".join(text.split())
    )
    assert "Compared with retraining from scratch" in text
    text = whereof("unlearn", "run", "5,7", "-o", "both", cwd=folder).stdout
    models = (found["distance"][name]["removed_probability"] for name in ("unlearned", "retrained"))
    left, wanted = (f"{100 * each:.1f}%" for each in models)
    assert f"is {left} in the new run, and {wanted} in the retrained model." in " ".join(
        text.split()
    )
    text = whereof("unlearn", "run", "5", "-o", "third", "--no-measure", cwd=folder).stdout
    assert "Unlearning by rollback took" in text
    assert "Compared" not in text


@pytest.mark.parametrize("ending", ["tsv", "csv.gz", "jsonl", "parquet"])
def test_the_suspicious_facts_of_an_audit_are_unlearned(folder: Path, ending: str) -> None:
    file, new = f"suspicious.{ending}", f"without-{ending}"
    done = whereof("audit", "run", "--top", "4", "-o", file, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = whereof("unlearn", "run", file, "9", "-o", new, "--no-measure", "--json", cwd=folder)
    assert found.returncode == 0, found.stderr
    wanted = {fact["fact_id"] for fact in json.loads(done.stdout)["suspicious"]} | {9}
    assert json.loads(found.stdout)["removed"] == sorted(wanted)


@pytest.mark.parametrize("ending", ["tsv", "csv.gz", "jsonl", "parquet"])
def test_the_facts_of_an_explanation_are_unlearned(folder: Path, ending: str) -> None:
    file, new = f"why.{ending}", f"without-why-{ending}"
    asked = ("egypt", "embassy", "usa", "--method", "rollback", "--top", "3", "-o", file)
    done = whereof("explain", "run", *asked, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = whereof("unlearn", "run", file, "-o", new, "--no-measure", "--json", cwd=folder)
    assert found.returncode == 0, found.stderr
    run = library.Run.open(folder / "run")
    why = run.explain("egypt", "embassy", "usa", method="rollback", top=3)
    assert json.loads(found.stdout)["removed"] == sorted(fact.fact_id for fact in why.facts)


def test_facts_that_are_not_training_facts_are_skipped(folder: Path) -> None:
    data = library.Run.open(folder / "run").dataset
    facts = [data.fact_names(data.train[9]), data.fact_names(data.valid[0]), ("x", "y", "z")]
    (folder / "wrong.tsv").write_text("".join("\t".join(names) + "\n" for names in facts))
    asked = ("unlearn", "run", "wrong.tsv", "-o", "skipped", "--no-measure")
    found = json.loads(whereof(*asked, "--json", cwd=folder).stdout)
    assert found["removed"] == [9]
    note = "2 of 3 facts of wrong.tsv are not training facts; they were skipped"
    assert found["notes"] == [note]
    done = whereof(*asked[:-2], "again", "--no-measure", cwd=folder)
    assert note in " ".join(done.stdout.split())
    (folder / "none.tsv").write_text("x\ty\tz\n")
    done = whereof("unlearn", "run", "none.tsv", cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "none.tsv: none of its facts is a training fact" in done.stderr


def test_a_file_of_other_columns_is_one_line_that_says_what_is_wanted(folder: Path) -> None:
    (folder / "four.tsv").write_text("egypt\tembassy\tusa\t0.5\n")
    done = whereof("unlearn", "run", "four.tsv", cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "four.tsv:1: 4 columns, expected 2 (subject, object) or 3" in done.stderr
    assert "name the columns so in the first line" in done.stderr
    assert "--columns" not in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [("{}\nno", "bad.jsonl: not JSON lines of facts"), ('{"subject": "usa"}', "is not a fact")],
)
def test_a_bad_file_of_facts_is_one_line(folder: Path, text: str, message: str) -> None:
    (folder / "bad.jsonl").write_text(text)
    done = whereof("unlearn", "run", "bad.jsonl", cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "nothing to unlearn; name facts, or give --entity or --source"),
        (("run", "5", "no file.tsv"), "no such file: no file.tsv; check the path"),
        (("run", "nofile"), "'nofile' is not a fact; give its id, or SUBJECT,RELATION,OBJECT"),
        (("run", "5", "-o", "run"), "run exists; choose another folder with -o"),
        (("run", "--entity", "atlantis"), "unknown entity 'atlantis'"),
        (("run", "5", "--epochs", "3"), "epochs requires method warm, not rollback; leave it out"),
        (("run", "5", "--method", "magic"), "unknown method 'magic'; choose from rollback, warm"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = whereof("unlearn", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
