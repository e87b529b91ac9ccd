"""`whereof update` as a user types it."""

import json
from pathlib import Path

import pytest

import whereof as library
from cli.helpers import whereof


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, data = tmp_path_factory.mktemp("update"), library.read("nations")
    names = ["\t".join(data.fact_names(fact)) + "\n" for fact in data.train]
    (folder / "old.tsv").write_text("".join(names[:300]))
    (folder / "new.tsv").write_text("".join([*names[295:310], "atlantis\tembassy\tusa\n"]))
    settings = {"dim": 6, "epochs": 3, "search": False, "test_fraction": 0.1}
    library.train(folder / "old.tsv", out=folder / "run", **settings)
    return folder


def test_the_command_makes_a_run(folder: Path) -> None:
    arguments = ("update", "run", "new.tsv", "--epochs", "2")
    done = whereof(*arguments, "-o", "one", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["run"], found["n_new_entities"]) == ("one", 1)
    assert found["n_added"] + found["n_known"] == 16
    text = whereof(*arguments, "-o", "two", cwd=folder).stdout
    added = f"Added {found['n_added']} new facts with 1 new entity"
    assert added in text
    assert "run: two" in text
    one, two = (library.Run.open(folder / name) for name in ("one", "two"))
    assert one.metrics == two.metrics == found["metrics"]
    info = " ".join(whereof("info", "one", cwd=folder).stdout.split())
    n_old = library.Run.open(folder / "run").dataset.n_facts
    note = f"whereof update added {found['n_added']} facts from new.tsv to the facts of run"
    assert f"note: {note}" in info
    assert f"phases {n_old} facts: trained on {3 * n_old}; then" in info.replace(",", "")
    assert "in each epoch" in info
    assert "'n_facts'" not in info
    assert whereof("report", "one", "-o", "one.html", cwd=folder).returncode == 0
    page = (folder / "one.html").read_text()
    assert "in each epoch" in page
    assert "n_facts" not in page
    assert whereof("explain", "one", "atlantis", "embassy", "usa", cwd=folder).returncode == 0


def test_metrics_of_a_recommender_have_no_note_on_relations(tmp_path: Path) -> None:
    pairs = [f"u{user}\ti{item}\n" for user in range(9) for item in range(9) if user * item % 4]
    (tmp_path / "old.tsv").write_text("".join(pairs[:-3]))
    (tmp_path / "new.tsv").write_text("".join(pairs[-3:]))
    settings = {"dim": 4, "epochs": 2, "search": False, "test_fraction": 0.2}
    library.train(tmp_path / "old.tsv", out=tmp_path / "run", **settings)
    done = whereof("update", "run", "new.tsv", "--epochs", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Metrics, updated" in done.stdout
    assert "inverse relations" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nowhere.tsv"), "no such file: nowhere.tsv; check the path"),
        (("run", "new.tsv", "-o", "run"), "run exists; choose another folder with -o"),
        (("run", "new.tsv", "--epochs", "0"), "--epochs is 0; it must be 1 or more"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    done = whereof("update", *arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("command", "epochs"), [("update", 5), ("unlearn", 1)])
def test_help_names_the_default_of_the_command(command: str, epochs: int) -> None:
    text = " ".join(whereof(command, "--help").stdout.split())
    found = text.partition("--epochs INTEGER")[2].partition("[default: ")[2].partition("]")[0]
    assert found == str(epochs)
