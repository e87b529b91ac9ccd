"""`whereof audit` and `whereof impact` as a user types them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from explain.helpers import random_run
from trained import train

import whereof as library
from cli.helpers import whereof
from whereof.data.consistency import Consistency, SameEntities
from whereof.present.audit import audit_tables
from whereof.units import show


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path)
    return str(path)


def test_audit_as_json_is_what_the_library_says(run: str) -> None:
    done = whereof("audit", run, "--limit", "5", "--top", "3", "--json")
    assert done.returncode == 0, done.stderr
    found, wanted = json.loads(done.stdout), library.Run.open(run).audit(limit=5, top=3).to_dict()
    del found["seconds"], wanted["seconds"]
    assert found == wanted
    assert len(found["suspicious"]) == len(found["blamed"]) == 3


def test_audit_as_text_has_every_table(run: str) -> None:
    done = whereof("audit", run, "--limit", "5", "--top", "2", "--verify", "--threads", "1")
    assert done.returncode == 0, done.stderr
    titles = ("Suspicious facts", "Facts most responsible for wrong answers", "Relations: what if")
    for title in (*titles, "Entities: what if", "Without the listed facts"):
        assert title in done.stdout
    assert (
        "Retrained without the suspicious facts, the MRR (paper's filter) goes from" in done.stdout
    )
    found = library.Run.open(run).audit(limit=5, top=2)
    assert found.suspicious[0].subject in done.stdout
    assert "Suspicious facts" in found._repr_html_()


def test_entities_with_the_same_facts_are_shown_by_their_labels(run: str) -> None:
    same = SameEntities(("w1", "w2"), ("Emma", "Persuasion"), 3)
    found = replace(
        library.Run.open(run).audit(limit=1, top=1), consistency=Consistency((), (same,), ())
    )
    (table,) = (each for each in audit_tables(found) if each.name == "same")
    assert table.rows == [("Emma, Persuasion", 3)]


def test_impact_as_text_and_json(run: str) -> None:
    opened = library.Run.open(run)
    names = opened.dataset.fact_names(opened.dataset.train[5])
    done = whereof("impact", run, *names, "--json")
    assert done.returncode == 0, done.stderr
    found, wanted = json.loads(done.stdout), opened.impact(5).to_dict()
    del found["seconds"], wanted["seconds"]
    assert found == wanted
    joined = json.loads(whereof("impact", run, ",".join(names), "--json").stdout)
    assert joined["facts"] == wanted["facts"]
    printed, fact = str(opened.impact(5)), " ".join(names)
    assert printed.startswith(f"{fact}: The fact supports {wanted['n_supported']} and opposes ")
    text = whereof("impact", run, "5", "--opposing", "--top", "2").stdout
    counts = f"supports {wanted['n_supported']} and opposes {wanted['n_opposed']} of "
    assert counts in " ".join(text.split())
    assert "estimates, not confirmed" in text


def test_impact_offers_what_the_fact_opposes(tmp_path: Path) -> None:
    path = train(tmp_path / "run").path
    run, file = library.Run.open(str(path)), tmp_path / "one.tsv"
    file.write_text("egypt\tembassy\tusa\n")
    fact = next(
        fact
        for fact in range(200)
        if (found := run.impact(fact, predictions=str(file))).n_opposed and not found.n_supported
    )
    text = whereof("impact", str(path), str(fact), "--predictions", str(file)).stdout
    assert "There is nothing to list; --opposing lists the 1 prediction that it opposes." in text
    assert "next: --opposing, --json" in text
    asked = ("impact", str(path), str(fact), "--predictions", str(file), "--opposing")
    assert "next: --verify, --json" in whereof(*asked).stdout


def test_runs_of_other_software_are_not_sent_to_retraining(tmp_path: Path) -> None:
    path = str(random_run("complex").save(tmp_path / "run").path)
    for command in (
        ("info", path),
        ("audit", path),
        ("impact", path, "5"),
        ("explain", path, "e1", "r1", "_"),
    ):
        done = whereof(*command)
        assert done.returncode == 0, done.stderr
        assert "whereof evaluate" not in done.stdout
        assert "--verify" not in done.stdout


def test_impact_is_checked_by_retraining(run: str) -> None:
    asked = ("impact", run, "5", "--top", "2", "--verify", "--threads", "1")
    done = whereof(*asked, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    text = whereof(*asked).stdout
    assert "Retraining checked 2 estimates: " in text
    assert "2 retrainings, 2 stored already" in text
    assert "not confirmed by retraining" not in text
    for each in found["predictions"]:
        influence = each["before"]["probability"] - each["actual"]["probability"]
        values = (show(value, "influence") for value in (each["influence"], influence))
        words = [each["subject"], each["relation"], each["object"], *values, each["claim"]]
        assert any(all(word in line for word in words) for line in text.splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "--by", "source"), "requires a column of sources: train with --source COLUMN"),
        (("audit", "--limit", "0"), "--limit is 0; give a number from 1 on, or all"),
        (("impact", "9999999"), "no fact has id 9999999"),
        (("impact", "egypt", "embassy"), "'egypt embassy' is not a fact; give its id, or SUBJECT,"),
    ],
)
def test_bad_input_is_one_line(run: str, arguments: tuple[str, ...], message: str) -> None:
    done = whereof(arguments[0], run, *arguments[1:])
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
