"""Updates: training goes on, and training through all phases again gives the same bits."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from listening import Recorded, stopping
from trained import outcome, train_ratings

import whereof
from whereof.errors import Interrupted, WhereofError
from whereof.retrain.update import fall_note
from whereof.run.folder import RunFolder

SMALL: dict[str, Any] = {"dim": 6, "epochs": 3, "search": False, "test_fraction": 0.05}
STEADY = SMALL | {"accumulator": 0.1}
SETTINGS: dict[str, dict[str, Any]] = {
    "adagrad": STEADY,
    "sgd, distance": SMALL | {"model": "transe", "optimizer": "sgd"},
    "adam, file order": SMALL | {"optimizer": "adam", "order": "file", "credit": "step"},
    "batches, all negatives": SMALL
    | {"optimizer": "adam-lazy", "batch_size": 8, "negatives": "all"},
    "unit rows, one direction": SMALL | {"constraint": "unit", "inverse": False},
    "angles": SMALL | {"model": "rotate"},
    "negatives from entities": SMALL | {"negatives_from": "entities", "trace": False},
}
NEW = [("atlantis", "embassy", "usa"), ("atlantis", "newrelation", "uk"), ("uk", "embassy", "cuba")]


@pytest.fixture(scope="module")
def facts() -> list[tuple[str, ...]]:
    data = whereof.read("nations")
    names = [data.fact_names(fact) for fact in data.train]
    return [name for name in names if "burma" not in name and name[1] != "embassy"]


def frame(facts: Any) -> pd.DataFrame:
    return pd.DataFrame(facts, columns=["s", "r", "o"])


def same(run: whereof.Run) -> bool:
    """Whether training again through all phases gives the rows of a run."""
    rows = run._recipe.retrain(np.zeros(0, np.int64))
    stored = zip(rows, run.parameters, strict=True)
    return all(np.array_equal(one, other) for one, other in stored)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_training_again_gives_the_same_bits(
    tmp_path: Path, facts: list[tuple[str, ...]], settings: dict[str, Any]
) -> None:
    run = whereof.train(frame(facts[:300]), out=tmp_path / "run", **settings)
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    found = run.update(frame([*facts[300:320], *NEW]), out=tmp_path / "new", epochs=2, replay=2)
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    updated = whereof.Run.open(tmp_path / "new")
    assert (found.n_added, found.n_known, found.n_replayed) == (23, 0, 46)
    assert found.n_new_entities >= 1
    assert found.n_new_relations >= 2
    assert found.n_trained == 2 * (23 + 46)
    assert updated.dataset.n_facts == run.dataset.n_facts + 23
    assert same(updated)
    assert not np.array_equal(updated.entity_rows[: len(run.entity_rows)], run.entity_rows)
    updated.update(frame(facts[320:330]), out=tmp_path / "again", epochs=1)
    assert same(whereof.Run.open(tmp_path / "again"))


@pytest.mark.parametrize(
    ("split", "where"), [("test", "test facts"), ("valid", "validation facts")]
)
def test_the_words_name_the_split(
    tmp_path: Path, facts: list[tuple[str, ...]], split: str, where: str
) -> None:
    held_out = {"test_fraction": 0.0, "valid_fraction": 0.0} | {f"{split}_fraction": 0.1}
    run = whereof.train(frame(facts[:200]), out=tmp_path / "run", **SMALL | held_out)
    found = run.update(frame(facts[200:205]), out=tmp_path / "new", epochs=1, compare=True)
    assert f"The MRR on {where} is" in str(found)
    assert f"The MRR on {where} goes from" in str(replace(found, scratch=None))


@pytest.mark.parametrize("inverse", [False, True])
def test_a_recommender_gets_new_items(tmp_path: Path, inverse: bool) -> None:
    table = [(f"u{u}", f"i{(u * i) % 19}", 1 + (u + i) % 5) for u in range(20) for i in range(8)]
    columns = ["user", "item", "rating"]
    old = pd.DataFrame(table, columns=columns).drop_duplicates(["user", "item"])
    settings = {"model": "mf", "loss": "softmax", "dim": 6, "epochs": 3, "inverse": inverse}
    data = {"columns": "user,item", "rating": "rating", "test_fraction": 0.05}
    run = whereof.train(old, out=tmp_path / "run", search=False, **settings, **data)
    new = pd.DataFrame([("u3", "new", 4), ("u4", "new", 5), ("u5", "i1", 1)], columns=columns)
    found = run.update(new, out=tmp_path / "new", columns="user,item", rating="rating")
    assert found.n_new_entities == 1
    updated = whereof.Run.open(tmp_path / "new")
    assert same(updated)
    assert updated.dataset.objects.stop == updated.dataset.n_entities
    why = updated.explain("u3", "new", method="rollback")
    assert (why.facts[0].subject, why.facts[0].object) == ("u3", "new")


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adam", "inverse": True},
        {"model": "mf-biased", "constraint": "max:1", "negatives": "all"},
    ],
    ids=["adam, both directions", "constrained"],
)
def test_a_recommender_gets_new_users(tmp_path: Path, settings: dict[str, Any]) -> None:
    columns = ["user", "item"]
    table = [(f"u{u}", f"i{(u * i) % 19}") for u in range(20) for i in range(8)]
    old = pd.DataFrame(table, columns=columns).drop_duplicates()
    settings = {"model": "mf", "loss": "softmax", "dim": 6, "epochs": 3} | settings
    run = whereof.train(old, out=tmp_path / "run", search=False, test_fraction=0.05, **settings)
    new = pd.DataFrame([("w", "i3"), ("w", "fresh"), ("u5", "i1"), ("w", "i8")], columns=columns)
    found = run.update(new, out=tmp_path / "new")
    assert found.n_new_entities == 2
    updated = whereof.Run.open(tmp_path / "new")
    assert same(updated)
    names, items = updated.dataset.entities, run.dataset.objects
    assert [names.name(it + 1) for it in items] == [run.dataset.entities.name(it) for it in items]
    updated.update(pd.DataFrame([("x", "fresh"), ("w", "i2")]), out=tmp_path / "again", epochs=1)
    again = whereof.Run.open(tmp_path / "again")
    assert same(again)
    assert [phase.n_subjects for phase in again.config.phases] == [20, 21, 22]
    for method in ("rollback", "unrolled"):
        why = again.explain("w", "i3", method=method, role="subject", top=1)
        assert not any("other rows" in note for note in why.notes)  # the replay is the run
        assert (why.facts[0].subject, why.facts[0].object) == ("w", "i3")
    assert again.predict("x").answers


def test_new_users_do_not_change_the_start_of_items(tmp_path: Path) -> None:
    """A phase that trains on one fact leaves the rows of other items where they were."""
    columns = ["user", "item"]
    old = pd.DataFrame([(f"u{i % 3}", f"i{i}") for i in range(9)], columns=columns)
    settings: dict[str, Any] = {"model": "mf", "loss": "softmax", "dim": 4, "negatives": 1}
    run = whereof.train(old, out=tmp_path / "run", search=False, epochs=2, **settings)
    new = pd.DataFrame([("w", "i0")], columns=columns)
    run.update(new, out=tmp_path / "new", replay=0, epochs=1)
    updated = whereof.Run.open(tmp_path / "new")
    rows = np.delete(updated.entity_rows, 3, axis=0)
    assert (rows == run.entity_rows).all(axis=1).sum() == len(run.entity_rows) - 2


@pytest.fixture(scope="module")
def updated(tmp_path_factory: pytest.TempPathFactory, facts: list[tuple[str, ...]]) -> whereof.Run:
    folder = tmp_path_factory.mktemp("updated")
    run = whereof.train(frame(facts[:300]), out=folder / "run", **STEADY)
    run.update(frame([*facts[300:320], *NEW]), out=folder / "new", epochs=3)
    return whereof.Run.open(folder / "new")


def test_a_new_entity_does_not_displace_right_answers(tmp_path: Path) -> None:
    settings = {"dim": 20, "epochs": 6, "search": False, "accumulator": 0.06, "validate_every": 0}
    run, new = whereof.train("nations", out=tmp_path / "run", **settings), frame(NEW[:1])
    found, few = (run.update(new, out=tmp_path / str(n), replay=n) for n in (None, 3))
    mrr, before = (it["test"]["mrr"] for it in (found.metrics, run.metrics))
    assert (found.n_replayed, few.n_replayed) == (run.dataset.n_facts, 3)
    assert mrr > before - 0.02
    assert not found.notes
    assert few.metrics["test"]["mrr"] < before - 0.05
    assert re.search(
        "the MRR of the split test fell from .* choose a larger --replay", few.notes[0]
    )


def test_a_fall_is_not_blamed_on_replay_if_all_facts_are_replayed() -> None:
    before, after = ({"test": {"mrr": mrr}} for mrr in (0.5, 0.4))
    note = fall_note(before, after, replayed_all=True)
    assert note is not None
    assert "--replay" not in note


def test_explanations_cover_old_and_new_facts(updated: whereof.Run) -> None:
    n_old = updated.config.phases[0].n_facts
    for method in ("rollback", "unrolled"):
        found = updated.explain("atlantis", "embassy", "usa", method=method, top=None)
        assert not found.notes  # the replay is the run
        ids = {fact.fact_id for fact in found.facts if fact.influence}
        assert any(fact_id < n_old for fact_id in ids)
        assert any(fact_id >= n_old for fact_id in ids)
    assert found.facts[0].subject == "atlantis"


def test_estimates_of_the_sweep_are_close_to_retraining(updated: whereof.Run) -> None:
    names = ("uk", "embassy", "cuba")
    n_old, n_all = updated.config.phases[0].n_facts, updated.dataset.n_facts
    facts = [*range(0, n_old, 25), *range(n_old, n_all)]
    control, *without = updated.retrain([[fact] for fact in facts], [names], threads=1)
    assert control.standings is not None
    falls = [control.standings[0].probability - it.standings[0].probability for it in without]
    why = updated.explain(*names, method="unrolled", top=None)
    influence = {fact.fact_id: fact.influence for fact in why.facts}
    estimates = [influence.get(fact, 0.0) for fact in facts]
    assert np.corrcoef(falls, estimates)[0, 1] > 0.9


def test_verdicts_and_other_seeds_repeat_the_phases(updated: whereof.Run) -> None:
    found = updated.verify("atlantis", "embassy", "usa", top=2, seeds=2, threads=1)
    assert found.control_matches_run
    assert [seed.control_matches_run for seed in found.seeds] == [True, True]
    assert found.actual.value < found.before.value


def test_an_interrupted_update_resumes_to_the_same_bits(
    tmp_path: Path, facts: list[tuple[str, ...]]
) -> None:
    run, new = whereof.train(frame(facts[:300]), out=tmp_path / "run", **STEADY), frame(facts[300:])
    run.update(new, out=tmp_path / "whole")

    with pytest.raises(Interrupted, match="whereof train --resume"):
        run.update(new, out=tmp_path / "cut", events=stopping(3))
    whereof.resume(tmp_path / "cut")
    assert outcome(tmp_path / "cut") == outcome(tmp_path / "whole")


def test_a_run_that_kept_no_state_is_trained_again_first(
    tmp_path: Path, facts: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, events = whereof.train(frame(facts[:300]), out=tmp_path / "run", **STEADY), Recorded()
    run.update(frame(facts[300:310]), out=tmp_path / "one")
    monkeypatch.setattr(RunFolder, "read_state", lambda self: None)
    run.update(frame(facts[300:310]), out=tmp_path / "two", events=events)
    assert outcome(tmp_path / "one") == outcome(tmp_path / "two")
    assert any("does not contain the optimizer state" in note for note in events.notes)


def test_the_comparison_trains_on_all_facts(tmp_path: Path, facts: list[tuple[str, ...]]) -> None:
    run = whereof.train(frame(facts[:300]), out=tmp_path / "run", **STEADY)
    found = run.update(frame(facts[300:320]), out=tmp_path / "new", compare=True)
    assert found.scratch is not None
    scratch = whereof.Run.open(tmp_path / "new" / "siblings" / "from-scratch")
    assert scratch.dataset.hash == whereof.Run.open(tmp_path / "new").dataset.hash
    assert found.scratch.metrics == scratch.metrics
    assert "Training from scratch on all facts took" in str(found)


def test_new_facts_without_sources_are_named(tmp_path: Path, facts: list[tuple[str, ...]]) -> None:
    old, new = (frame(some).assign(origin="web") for some in (facts[:100], facts[100:103]))
    run = whereof.train(old, out=tmp_path / "run", source="origin", **STEADY)
    lacking = run.update(new, out=tmp_path / "lacking", columns="s,r,o")
    assert any(note.endswith("name their column with --source COLUMN") for note in lacking.notes)
    named = new.set_axis(["subject", "relation", "object", "source"], axis=1)
    options = {"columns": "s,r,o", "source": "origin"}
    for name, their, given in (("named", new, options), ("found", named, {})):
        found = run.update(their, out=tmp_path / name, **given)
        assert not any("--source" in note for note in found.notes)
        sources = whereof.Run.open(tmp_path / name).dataset.sources
        assert sources is not None
        assert {*sources} == {"web"}


def test_what_cannot_be_updated(tmp_path: Path, facts: list[tuple[str, ...]]) -> None:
    run = whereof.train(frame(facts[:100]), out=tmp_path / "run", **STEADY)
    with pytest.raises(WhereofError, match="all of the new facts are in the run already"):
        run.update(frame([run.dataset.fact_names(run.dataset.train[0])]), out=tmp_path / "new")
    with pytest.raises(WhereofError, match="no such file"):
        run.update(tmp_path / "nowhere.tsv", out=tmp_path / "new")
    with pytest.raises(WhereofError, match="exists; choose another folder"):
        run.update(frame(NEW), out=tmp_path / "run")
    assert not (tmp_path / "new").exists()
    pairs = pd.DataFrame([("u", "i"), ("u", "j"), ("v", "i")], columns=["user", "item"])
    settings = SMALL | {"test_fraction": 0, "negatives_from": "entities"}
    all_drawn = whereof.train(pairs, out=tmp_path / "pairs", **settings)
    new = pd.DataFrame([("w", "i")], columns=["user", "item"])
    with pytest.raises(WhereofError, match="negatives_from entities cannot get new users"):
        all_drawn.update(new, out=tmp_path / "new")
    (tmp_path / "ratings").mkdir()
    rated = train_ratings(tmp_path / "ratings", 3)
    new = pd.DataFrame([("u0", "m3", 1.0)], columns=["user", "item", "stars"])
    with pytest.raises(WhereofError, match="a rating model cannot be updated"):
        rated.update(new, out=tmp_path / "new", columns="user,item")


def test_an_updated_run_is_not_trained_with_gifts(updated: whereof.Run) -> None:
    events = Recorded()
    with pytest.raises(WhereofError, match="an updated run cannot be retrained with added facts"):
        updated.sufficient("uk", "embassy", None, budget=4, method="unrolled", events=events)
    assert not events.events
