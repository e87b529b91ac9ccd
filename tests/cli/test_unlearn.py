"""`whereof unlearn` as a user types it."""

import json
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
    assert found["distance"]["rows"] > 0
    assert library.Run.open(folder / "new").dataset.n_facts == run.dataset.n_facts - 2
    text = whereof("unlearn", "run", "--entity", "burma", "-o", "other", cwd=folder).stdout
    assert "and 1 entity without other facts" in text
    assert "Compared with retraining from scratch" in text
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
        (("run", "5", "-o", "run"), "run exists; choose another folder with -o"),
        (("run", "--entity", "atlantis"), "unknown entity 'atlantis'"),
        (("run", "5", "--method", "magic"), "unknown method 'magic'; choose from rollback, warm"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = whereof("unlearn", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
