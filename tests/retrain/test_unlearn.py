"""Unlearning: the facts are gone from data, rows and trace, and the distance is measured."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from listening import Recorded
from trained import train, train_numbers, train_ratings

import whereof
from whereof.errors import WhereofError
from whereof.retrain.unlearn import relation_rows

STEADY: dict[str, Any] = {
    "optimizer": "adagrad",
    "rate": 0.1,
    "accumulator": 0.1,
    "inverse": True,
    "epochs": 6,
    "validate_every": 0,
}
REMOVED = [3, 70, 700]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("unlearn") / "run", **STEADY)


def test_rollback_subtracts_the_traces(run: whereof.Run, tmp_path: Path) -> None:
    found = run.unlearn(facts=REMOVED, out=tmp_path / "new", measure=False)
    assert found.distance is None
    assert found.removed == tuple(REMOVED)
    new = whereof.Run.open(tmp_path / "new")
    names = {run.dataset.fact_names(run.dataset.train[fact]) for fact in REMOVED}
    assert names.isdisjoint(new.dataset.fact_names(fact) for fact in new.dataset.train)
    kept = np.setdiff1d(np.arange(run.dataset.n_facts), REMOVED)
    assert run.trace is not None
    assert np.array_equal(new.trace, run.trace[kept])
    wanted = np.array(run.entity_rows, np.float64)
    for fact in REMOVED:
        subject, _, object_ = run.dataset.train[fact]
        wanted[subject] -= run.trace[fact, run._trained.slots[0]]
        wanted[object_] -= run.trace[fact, run._trained.slots[2]]
    np.testing.assert_allclose(new.entity_rows, wanted, atol=1e-6)
    query = run.dataset.fact_names(run.dataset.train[3])
    estimated = run.explain(*query, without=REMOVED, method="rollback").without
    assert estimated is not None
    (answer,) = new.predict(*query).answers
    assert answer.probability == pytest.approx(estimated.probability, rel=1e-5)
    assert answer.known != "train"
    assert any("3 facts were removed" in note for note in new.dataset.notes)
    assert new.explain(*query, method="rollback", top=3).facts


@pytest.mark.parametrize("method", ["rollback", "warm"])
def test_the_distance_to_retraining_is_measured(
    run: whereof.Run, tmp_path: Path, method: str
) -> None:
    found = run.unlearn(REMOVED, out=tmp_path / "new", method=method)
    new, distance = whereof.Run.open(tmp_path / "new"), found.distance
    assert distance is not None
    control, without = run.retrain([REMOVED], threads=1)
    rows = [np.concatenate([array.ravel() for array in it.parameters]) for it in (control, without)]
    mine = np.concatenate([new.entity_rows.ravel(), new.relation_rows.ravel()])
    apart = np.linalg.norm(mine - rows[1]) / np.linalg.norm(rows[0] - rows[1])
    assert distance.rows == pytest.approx(apart, rel=1e-3)
    asked = [run.dataset.fact_names(run.dataset.train[fact]) for fact in REMOVED]
    _, retrained = run.retrain([REMOVED], asked, threads=1)
    assert retrained.standings is not None
    wanted = np.mean([standing.probability for standing in retrained.standings])
    assert distance.retrained.removed_probability == pytest.approx(wanted)
    before = distance.before.removed_probability or 0.0
    after = distance.unlearned.removed_probability or 0.0
    assert abs(after - wanted) < abs(before - wanted)
    assert "retraining from scratch takes" in str(found)


def test_warm_training_goes_on_with_the_facts_that_are_left(
    run: whereof.Run, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        run.unlearn(REMOVED, out=tmp_path / name, method="warm", measure=False)
    run.unlearn(REMOVED, out=tmp_path / "rolled", measure=False)
    one, two, rolled = (whereof.Run.open(tmp_path / name) for name in ("one", "two", "rolled"))
    assert np.array_equal(one.entity_rows, two.entity_rows)
    assert not np.array_equal(one.entity_rows, rolled.entity_rows)
    assert one.trace is not None
    assert not np.array_equal(one.trace, rolled.trace)


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "sgd"])
def test_two_way_data_trains_warm(tmp_path: Path, optimizer: str) -> None:
    run = train_numbers(tmp_path, optimizer=optimizer)
    found = run.unlearn([3, 4], method="warm", out=tmp_path / "warm")
    assert found.distance is not None
    warm = whereof.Run.open(tmp_path / "warm")
    assert warm.dataset.n_facts == run.dataset.n_facts - 2


def test_a_run_that_unlearned_facts_unlearns_more(run: whereof.Run, tmp_path: Path) -> None:
    run.unlearn(REMOVED, out=tmp_path / "one", measure=False)
    one = whereof.Run.open(tmp_path / "one")
    one.unlearn([5], out=tmp_path / "two", method="warm", measure=False)
    assert whereof.Run.open(tmp_path / "two").dataset.n_facts == run.dataset.n_facts - 4
    data, events = run.dataset, Recorded()
    new = pd.DataFrame([data.fact_names(data.train[REMOVED[0]])], columns=["s", "r", "o"])
    with pytest.raises(WhereofError, match="a run that unlearned facts cannot be updated"):
        one.update(new, out=tmp_path / "new", events=events)
    assert not events.notes  # nothing was trained first
    assert not (tmp_path / "new").exists()


def test_an_entity_is_gone_with_its_facts(run: whereof.Run, tmp_path: Path) -> None:
    found = run.unlearn(entity="burma", out=tmp_path / "new", measure=False)
    new = whereof.Run.open(tmp_path / "new")
    assert "burma" not in new.dataset.entities.names
    assert found.n_entities_gone == 1
    assert len(new.entity_rows) == len(run.entity_rows) - 1
    kept = [i for i, name in enumerate(run.dataset.entities.names) if name != "burma"]
    assert new.dataset.entities.names == tuple(run.dataset.entities.names[i] for i in kept)
    assert b"burma" not in b"".join(file.read_bytes() for file in (tmp_path / "new").glob("*.json"))
    warm = run.unlearn(entity=["burma"], out=tmp_path / "warm", method="warm")
    assert warm.distance is not None
    assert warm.n_removed == found.n_removed


def test_models_are_compared_on_what_the_new_run_has(run: whereof.Run, tmp_path: Path) -> None:
    found = run.unlearn(7, entity="burma", out=tmp_path / "new")
    new, distance = whereof.Run.open(tmp_path / "new"), found.distance
    assert distance is not None
    assert distance.n_held_out == len(new.dataset.test) < len(run.dataset.test)
    assert (distance.n_removed, found.n_removed) == (1, len(found.removed))
    text = " ".join(str(found).split())
    assert "The mean probability of the 1 removed fact that it can score is" in text
    assert "On the held-out facts that are left, the probabilities of the new run" in text
    point = replace(found, distance=replace(distance, probability=0.01, probability_before=0.02))
    assert "differ from those of the retrained model by 1.0 points on average" in str(point)
    names = run.dataset.fact_names(run.dataset.train[7])
    (answer,) = new.predict(*names).answers
    assert distance.unlearned.removed_probability == pytest.approx(answer.probability, rel=0.05)
    alone = run.unlearn(entity="burma", out=tmp_path / "alone")
    assert alone.distance is not None
    assert alone.distance.unlearned.removed_probability is None
    assert "removed facts" not in str(alone)


def test_a_source_is_unlearned(tmp_path: Path) -> None:
    data = whereof.read("nations")
    names = [
        (*data.fact_names(fact), "web" if i % 9 else "hand") for i, fact in enumerate(data.train)
    ]
    frame = pd.DataFrame(names, columns=["s", "r", "o", "from"])
    settings = {"dim": 4, "epochs": 2, "search": False}
    run = whereof.train(frame, out=tmp_path / "run", source="from", **settings)
    found = run.unlearn(source="hand", out=tmp_path / "new", measure=False)
    new = whereof.Run.open(tmp_path / "new")
    assert new.dataset.sources is not None
    assert {*new.dataset.sources} == {"web"}
    assert [*new.dataset.sources.names] == ["web"]
    assert found.n_removed == sum(name[3] == "hand" for name in names)
    with pytest.raises(WhereofError, match="unknown source 'paper'; choose from 'hand', 'web'"):
        run.unlearn(source="paper", out=tmp_path / "other")


def test_ratings(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, 10)
    audit = run.audit(top=2)
    audit.to_file(tmp_path / "suspicious.csv")
    found = run.unlearn(tmp_path / "suspicious.csv", out=tmp_path / "new")
    assert found.removed == tuple(sorted(fact.fact_id for fact in audit.suspicious))
    assert found.distance is not None
    qualities = (found.distance.before, found.distance.unlearned, found.distance.retrained)
    held_out = run.dataset.test if len(run.dataset.test) else run.dataset.valid
    for quality in qualities:
        assert quality.mrr is quality.removed_probability is None
        assert 0 < (quality.removed_rating or 0) < 6
        assert (quality.rmse is None) == (not len(held_out))
    assert found.distance.probability is None
    assert "The mean rating of the removed ratings is" in str(found)
    assert "%" not in str(found)
    assert whereof.Run.open(tmp_path / "new").dataset.ratings is not None
    run.explain("u0", "m1", method="rollback", top=1).to_file(tmp_path / "why.tsv")
    assert run.unlearn(tmp_path / "why.tsv", out=tmp_path / "other", measure=False).n_removed == 1


def test_ratings_are_compared_by_their_error(tmp_path: Path) -> None:
    rows = [(f"u{u}", f"i{i}", 1 + (u + i) % 5) for u in range(12) for i in range(10)]
    table = pd.DataFrame(rows, columns=["user", "item", "stars"])
    run = whereof.train(
        table, rating="stars", test_fraction=0.1, out=tmp_path / "run", dim=4, epochs=5
    )
    distance = run.unlearn(0, 1, out=tmp_path / "new").distance
    assert distance is not None
    assert distance.before.rmse == pytest.approx(run.metrics["test"]["rmse"], rel=1e-5)
    assert distance.unlearned.rmse not in (None, distance.before.rmse)
    assert distance.rating is not None
    assert distance.rating_before is not None
    assert 0 < distance.rating < 4


def test_relation_rows_are_those_that_are_left(run: whereof.Run) -> None:
    from whereof.data.remove import remove_facts

    data = run.dataset
    ids = np.flatnonzero(data.train[:, 1] == 4)
    rows = relation_rows(data, remove_facts(data, ids), 2)
    n = data.n_relations
    assert rows.tolist() == [i for i in range(2 * n) if i % n != 4]


def test_bad_input(run: whereof.Run, tmp_path: Path) -> None:
    with pytest.raises(WhereofError, match="nothing to unlearn; name facts, or give --entity"):
        run.unlearn(out=tmp_path / "new")
    with pytest.raises(WhereofError, match="source requires a column of sources"):
        run.unlearn(source="web", out=tmp_path / "new")
    plain = train(tmp_path / "plain", trace=False)
    with pytest.raises(WhereofError, match="requires a trace"):
        plain.unlearn([1], out=tmp_path / "new")
    assert not (tmp_path / "new").exists()
