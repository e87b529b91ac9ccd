"""`whereof label`: labels of a finished run, and names with commas in them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from trained import train

import whereof
from whereof.cli import cli
from whereof.errors import WhereofError

LABELS = 'id,title,note\negypt,"Egypt, Arab Republic",x\nusa,United States,y\n'


@pytest.fixture
def run(tmp_path: Path) -> whereof.Run:
    (tmp_path / "labels.csv").write_text(LABELS)
    return train(tmp_path / "run")


def label(run: whereof.Run, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["label", str(run.path), *arguments])


def test_labels_are_kept_and_nothing_else_changes(run: whereof.Run, tmp_path: Path) -> None:
    names = ("egypt", "embassy", "usa")
    before, hash_before = run.explain(*names).to_dict(), run.dataset.hash
    file = f"{tmp_path / 'labels.csv'}:id,title"
    done = label(run, "--entity-labels", file, "--json")
    assert json.loads(done.stdout) == {
        "run": str(run.path),
        "n_entity_labels": 2,
        "n_relation_labels": 0,
    }
    again = whereof.Run.open(str(run.path), check=True)
    assert again.dataset.hash == hash_before
    assert again.dataset.entities.label(again.dataset.entities.find("egypt")) == (
        "Egypt, Arab Republic"
    )
    after = again.explain("egypt, arab republic", "embassy", "united states").to_dict()
    for fact in after["facts"] + before["facts"]:
        fact.pop("labels")
    assert after["facts"] == before["facts"]


def test_labels_are_added_to_earlier_ones(run: whereof.Run) -> None:
    run.add_labels({"egypt": "Egypt", "usa": "America"})
    run.add_labels({"usa": "United States"}, {"embassy": "has an embassy in"})
    for opened in (run, whereof.Run.open(str(run.path))):
        assert opened.dataset.entities.labels == {"egypt": "Egypt", "usa": "United States"}
        assert opened.predict("egypt", "has an embassy in").query["relation"] == "embassy"
    assert len(list(Path(str(run.path)).glob("labels-*.json"))) == 1


def test_an_altered_file_of_labels_is_noticed(run: whereof.Run) -> None:
    run.add_labels({"egypt": "Egypt"})
    (file,) = Path(str(run.path)).glob("labels-*.json")
    file.write_text(file.read_text().replace("Egypt", "Egipt"))
    with pytest.raises(WhereofError, match="was altered"):
        whereof.Run.open(str(run.path))


def test_labels_that_fit_nothing_are_refused(run: whereof.Run) -> None:
    with pytest.raises(WhereofError, match="none of the 1 entity labels is for a name in train"):
        run.add_labels({"egipt": "Egypt"})
    with pytest.raises(WhereofError, match="no labels; give entities or relations"):
        run.add_labels()


def test_a_label_with_a_comma_names_a_fact(run: whereof.Run) -> None:
    labels = {"usa": "States, United", "uk": "Kingdom, United"}
    run.add_labels(labels, {"embassy": "embassy, official"})
    data = run.dataset
    fact_id = next(i for i, f in enumerate(data.train) if data.fact_names(f)[1] == "embassy")
    fact = data.train[fact_id]
    subject, object_ = data.entities.label(fact[0]), data.entities.label(fact[2])
    relation = data.relations.label(fact[1])
    for text in (
        f"{subject},{relation},{object_}",
        f'"{subject}","{relation}","{object_}"',
        f"{subject}\t{relation}\t{object_}",
    ):
        found = run.explain("egypt", "embassy", "usa", without=text).without
        assert found is not None
        assert found.fact_ids == (fact_id,)
    with pytest.raises(WhereofError, match="egypt embassy egypt is not a training fact"):
        run.explain("egypt", "embassy", "usa", without="egypt,embassy,egypt")


def test_ratings_as_objects_label_users_and_items(tmp_path: Path) -> None:
    table = {"user": [1, 1, 2, 2], "item": [1, 3, 1, 3], "rating": [1, 5, 5, 1]}
    run = whereof.train(table, out=tmp_path / "run", ratings_as_objects=True, dim=2, epochs=1)
    run.add_labels({1: "Heat", 3: "Alien"})
    assert run.dataset.relations.labels == {"1": "Heat", "3": "Alien"}
    assert run.dataset.entities.labels == {}
