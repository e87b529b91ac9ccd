"""The card of an entity: facts by relation, held-out facts and predictions."""

import json
from pathlib import Path

import pytest
from trained import train, train_ratings

import whereof
from whereof.errors import WhereofError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("card") / "run", inverse=True)


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train_ratings(tmp_path_factory.mktemp("ratings"), epochs=3)


def test_every_fact_counts_once_and_frequent_relations_come_first(run: whereof.Run) -> None:
    card, data = run.card("egypt", top=2), run.dataset
    names = [data.fact_names(fact) for fact in data.train]
    assert card.n_facts == sum("egypt" in (s, o) for s, _, o in names)
    assert card.n_facts == sum(group.n_facts for group in card.relations)
    sizes = [group.n_facts for group in card.relations]
    assert sizes == sorted(sizes, reverse=True)
    for group in card.relations:
        at = 0 if group.place == "subject" else 2
        assert group.n_facts == sum(f[at] == "egypt" and f[1] == group.relation for f in names)
        assert len(group.facts) == min(group.n_facts, 2)
        assert all((fact.subject, fact.object)[at > 0] == "egypt" for fact in group.facts)


def test_held_out_facts_are_counted_and_some_are_named(run: whereof.Run) -> None:
    card, data = run.card("egypt"), run.dataset
    facts = [data.fact_names(fact) for fact in (*data.valid, *data.test)]
    assert card.n_held_out == sum("egypt" in (s, o) for s, _, o in facts)
    assert len(card.held_out) == 5
    assert {fact.split for fact in card.held_out} <= {"valid", "test"}


def test_predictions_are_the_most_probable_new_answers_to_its_relations(run: whereof.Run) -> None:
    card = run.card("egypt", top=3)
    found = []
    for group in card.relations[:40]:
        query = {
            "subject": ("egypt", group.relation, None),
            "object": (None, group.relation, "egypt"),
        }
        found.append(run.predict(*query[group.place], top=3, new=True))
    found.sort(key=lambda each: -(each.answers[0].probability or 0) if each.answers else 0)
    assert list(card.predictions) == found[:3]


def test_without_inverse_relations_only_objects_are_predicted(tmp_path: Path) -> None:
    card = train(tmp_path / "run").card("egypt")
    assert {answers.asks for answers in card.predictions} == {"object"}


def test_a_user_has_ratings_highest_first_and_recommendations(ratings: whereof.Run) -> None:
    card = ratings.card("u1")
    (group,) = card.relations
    assert (card.place, group.place, group.relation) == ("subject", "subject", None)
    assert [fact.rating for fact in group.facts] == [5, 5, 1]
    assert group.mean_rating == pytest.approx(11 / 3)
    (answers,) = card.predictions
    assert answers == ratings.predict("u1", top=5, new=True)


def test_an_item_has_its_users_and_their_mean_rating(ratings: whereof.Run) -> None:
    card = ratings.card("m2", place="object")
    (group,) = card.relations
    assert (card.place, group.place, group.n_facts) == ("object", "object", 4)
    assert group.mean_rating == pytest.approx(3)
    assert card.predictions == ()


def test_it_becomes_json(run: whereof.Run) -> None:
    document = run.card("egypt").to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["relations"][0]["facts"][0]["labels"]["relation"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("egyp", {}, "did you mean 'egypt'"),
        ("egypt", {"place": "relation"}, "choose from subject, object"),
        ("egypt", {"top": 0}, "from 1 on"),
    ],
)
def test_bad_input(run: whereof.Run, name: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(WhereofError, match=message):
        run.card(name, **options)  # type: ignore[arg-type]
