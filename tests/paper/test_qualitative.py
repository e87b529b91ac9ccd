"""The paper's examples: found by label, explained, and as a table."""

from pathlib import Path
from typing import Any

import pytest
from listening import Recorded

import whereof
from paper import hand_made
from whereof.paper import PaperOptions
from whereof.paper._qualitative import EXAMPLES, explain_examples, short_relation
from whereof.paper._results import Results
from whereof.paper._tables import make_tables
from whereof.paper._text import grid

SHARED = Path(__file__).parents[3] / "shared" / "data"
FOUND = {
    "Lycoming County": ("/m/0mwk9", "/m/09nqf", "/m/0f4y_"),
    "Bandai": ("/m/01qszl", "/m/01mw1", "/m/027lf1"),
    "Inception": ("/m/0661ql3", "/m/0k6nt", "/m/077q8x"),
}
"""Subject and object of the prediction, and the subject of the paper's fact."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    if not (SHARED / "fb15k-237").is_dir():
        pytest.skip("no fb15k-237 in ../shared/data")
    return whereof.train(
        "fb15k-237",
        out=tmp_path_factory.mktemp("fb") / "run",
        data_dir=SHARED,
        preset="paper",
        model="distmult",
        dim=8,
        negatives=10,
        optimizer="adam-lazy",
        credit="source",
    )


def test_without_labels_there_are_no_examples_and_it_says_so(tmp_path: Path) -> None:
    run = whereof.train("nations", out=tmp_path / "run", model="distmult", dim=4, epochs=1)
    events = Recorded()
    assert explain_examples("lazy-distmult", "fb15k-237", run, events) == []
    (note,) = events.notes
    assert note.startswith("3 of the paper's 3 examples are left out: unknown ")
    assert explain_examples("lazy-complex", "fb15k-237", run, events) == []
    assert len(events.notes) == 1


def test_labels_lead_to_the_entities_that_are_meant(run: whereof.Run) -> None:
    events = Recorded()
    documents = explain_examples("lazy-distmult", "fb15k-237", run, events)
    assert events.notes == []
    assert len(documents) == len(EXAMPLES) == 3
    for example, document in zip(EXAMPLES, documents, strict=True):
        subject, object_, papers = FOUND[example.subject]
        assert document["prediction"] == [subject, example.relation, object_]
        # Two counties are Delaware, and two things are Bird: one of each is in training.
        (paper,) = document["paper"]
        assert paper["fact"] == [papers, example.relation, object_]
        assert [fact["rank"] for fact in document["facts"]] == [1, 2, 3]
        values = [fact["influence"] for fact in document["facts"]]
        assert values == sorted(values, reverse=True)
        assert 1 <= paper["rank"] <= document["n_adjacent"]


def test_facts_are_those_of_an_explanation(run: whereof.Run) -> None:
    document = explain_examples("removal-distmult", "fb15k-237", run, Recorded())[1]
    found = run.explain("Bandai", EXAMPLES[1].relation, "Video game", top=3)
    assert [fact["fact_id"] for fact in document["facts"]] == [it.fact_id for it in found.facts]
    assert document["probability"] == pytest.approx(found.prediction.probability)


def test_the_examples_are_predictions_of_the_test_split(run: whereof.Run) -> None:
    data = run.dataset
    tested = set(map(tuple, data.test.tolist()))
    for example in EXAMPLES:
        subject, object_ = (data.entities.find(name) for name in (example.subject, example.object))
        assert (subject, data.relations.find(example.relation), object_) in tested


def test_other_parts_and_datasets_have_none(run: whereof.Run) -> None:
    assert explain_examples("truth", "fb15k-237", run, Recorded()) == []
    assert explain_examples("lazy-distmult", "nations", run, Recorded()) == []


def document(rank: int) -> dict[str, Any]:
    relation = "/business/business_operation/industry"

    def fact(subject: str, rank: int, influence: float) -> dict[str, Any]:
        return {
            "fact_id": rank,
            "fact": [subject, relation, "/m/v"],
            "labels": {"subject": subject.title(), "relation": relation, "object": "Video game"},
            "rank": rank,
            "influence": influence,
        }

    return {
        "prediction": ["/m/b", relation, "/m/v"],
        "labels": {"subject": "Bandai", "relation": relation, "object": "Video game"},
        "probability": 0.37,
        "rank": 1,
        "n_adjacent": 334,
        "facts": [fact("enix", 1, 0.2), fact("sega", 2, 0.15)],
        "paper": [fact("midway", rank, 0.1)],
    }


def test_ours_stand_above_the_papers_for_both_trainings() -> None:
    parts = {}
    for name, optimizer, credit in (
        ("removal-distmult", "adam", "step"),
        ("lazy-distmult", "adam-lazy", "source"),
    ):
        parts[name] = hand_made.table1() | {"qualitative": [document(len(name))]}
        parts[name]["evaluation"]["config"] = {"optimizer": optimizer, "credit": credit}
    results = Results(PaperOptions("fb15k-237", models=("distmult",)), parts)
    table = {table.name: table for table in make_tables(results)}["qualitative"]
    shown = [block[0] for block in grid(table).blocks]
    prediction = "Bandai - industry - Video game"
    assert shown[0] == (
        *(prediction, "adam, credit=step", "ours", "Enix - industry - Video game"),
        *("0.370", "1", "334", "0.200"),
    )
    assert [line[1:3] for line in shown] == [
        *[("adam, credit=step", "ours")] * 2,
        ("adam, credit=step", "paper's"),
        *[("adam-lazy, credit=source", "ours")] * 2,
        ("adam-lazy, credit=source", "paper's"),
    ]
    assert shown[2][5] == "16"
    row = table.to_dict()["rows"][2]
    assert (row["whose"], row["fact"]) == ("paper's", "Midway - industry - Video game")
    assert row["influence"]["mean"] == 0.1


def test_relations_are_named_by_the_last_word_of_their_path() -> None:
    assert short_relation(EXAMPLES[0].relation) == "currency"
    assert short_relation(EXAMPLES[2].relation) == "film release region"
    assert short_relation("intergovorgs3") == "intergovorgs3"
