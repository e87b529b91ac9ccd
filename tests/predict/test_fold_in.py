"""New users: the row that minimises the loss of their history, and its explanation."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trained import train_ratings

import whereof
from whereof.errors import WhereofError
from whereof.predict.fold_in import FoldIn, fold_in
from whereof.training.config import TrainConfig
from whereof.training.losses import sigmoid_loss, softmax_loss

N_ITEMS, WIDTH = 7, 3


def solver(loss: str, negatives: Any = "all", **penalties: float) -> FoldIn:
    rng = np.random.default_rng(3)
    config = TrainConfig(
        model="mf", loss=loss, negatives=None if loss == "squared" else negatives, **penalties
    )
    slopes, offsets = rng.normal(size=(N_ITEMS, WIDTH)), rng.normal(size=N_ITEMS)
    items = np.array([1, 4, 5])
    return FoldIn(slopes, offsets, items, rng.normal(size=3), config)


@pytest.mark.parametrize("negatives", ["all", 2])
@pytest.mark.parametrize("loss", ["softmax", "sigmoid", "squared"])
def test_derivatives_are_those_of_the_loss(loss: str, negatives: Any) -> None:
    found, kept = solver(loss, negatives, l2=0.3, n3=0.2), np.arange(3)
    row, step = np.array([0.4, -0.2, 0.7]), 1e-5
    _, slope, bend = found._loss(kept, row)
    for k, unit in enumerate(step * np.eye(WIDTH)):
        (above, up, _), (below, down, _) = (found._loss(kept, row + s * unit) for s in (1, -1))
        assert slope[k] == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-8)
        np.testing.assert_allclose(bend[k], (up - down) / (2 * step), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
def test_the_loss_is_that_of_training(loss: str) -> None:
    found, row = solver(loss, l2=0.1), np.array([0.4, -0.2, 0.7])
    scores, total = found.slopes @ row + found.offsets, 0.0
    for item in found.items:
        candidates = np.concatenate([[scores[item]], np.delete(scores, item)])
        total += {"softmax": softmax_loss, "sigmoid": sigmoid_loss}[loss](candidates)
        total += 0.1 / 2 * row @ row
    assert found._loss(np.arange(3), row)[0] == pytest.approx(total)


def test_a_penalty_that_is_not_known_is_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(5, 2))
    arrays = {"entities": ["u", "v", "a", "b", "c"], "facts": [(0, 2), (1, 3)], "n_subjects": 2}
    run = whereof.Run.from_arrays(model="mf", entity_rows=rows, **arrays)
    with pytest.raises(whereof.WhereofError, match="did not record its penalty"):
        run.predict(history=["a"])


@pytest.mark.parametrize("loss", ["softmax", "sigmoid", "squared"])
def test_no_row_has_a_smaller_loss(loss: str) -> None:
    found, kept = solver(loss, 2, l2=0.1), np.arange(3)
    value, slope, _ = found._loss(kept, found.row)
    assert np.abs(slope).max() < 1e-9
    rng = np.random.default_rng(0)
    for step in rng.normal(scale=0.1, size=(20, WIDTH)):
        assert found._loss(kept, found.row + step)[0] > value
    far = found.solve(kept, rng.normal(scale=5, size=WIDTH))
    np.testing.assert_allclose(far, found.row, atol=1e-8)


@pytest.fixture(scope="module")
def clicks(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    """Users of two tastes: items a0 to a5, or items b0 to b5."""
    rng = np.random.default_rng(1)
    users, items = [], []
    for user in range(40):
        for number in rng.permutation(6)[:4]:
            users.append(f"u{user}")
            items.append(f"{'ab'[user % 2]}{number}")
    return whereof.train(
        {"user": users, "item": items},
        out=tmp_path_factory.mktemp("runs") / "clicks",
        entity_labels={"a0": "Vertigo"},
        dim=4,
        epochs=20,
    )


def test_a_new_user_gets_items_of_the_same_taste(clicks: whereof.Run, tmp_path: Path) -> None:
    found = clicks.predict(history=["b1", "b2", "b3"], new=True, top=3)
    assert {answer.entity for answer in found.answers} == {"b0", "b4", "b5"}
    assert found.query["subject"] == "newcomer"
    known = clicks.predict(history=["b1", "b2", "b3"], known="history")
    assert {answer.entity for answer in known.answers} == {"b1", "b2", "b3"}
    assert {answer.known for answer in known.answers} == {"history"}
    (tmp_path / "history.txt").write_text("b1\nb2\nb3\n")
    assert clicks.predict(history=tmp_path / "history.txt", new=True, top=3) == found
    (tmp_path / "history.txt").write_text("itemId\nb1\nb2\nb3\n")
    assert clicks.predict(history=tmp_path / "history.txt", new=True, top=3) == found
    (alone,) = clicks.predict("Vertigo", history=["b1"]).answers
    assert alone.entity == "a0"


def test_a_trained_user_stands_as_before(clicks: whereof.Run) -> None:
    history = [str(clicks.dataset.fact_names(f)[1]) for f in clicks.dataset.train if f[0] == 0]
    name = clicks.dataset.entities.name(0)
    own = {a.entity: a.probability for a in clicks.predict(name, top=None).answers}
    folded = {a.entity: a.probability for a in clicks.predict(history=history, top=None).answers}
    names = sorted(own)
    assert np.corrcoef([own[n] for n in names], [folded[n] for n in names])[0, 1] > 0.95


def test_an_influence_is_the_fall_without_the_item(clicks: whereof.Run) -> None:
    history = ["b1", "b2", "a3"]
    found = clicks.explain("b4", history=history, top=None)
    assert found.method == "fold-in"
    whole = clicks.predict("b4", history=history).answers[0].probability
    assert found.prediction.probability == whole
    assert whole is not None
    assert {fact.object for fact in found.facts} == {*history}
    for fact in found.facts:
        rest = [item for item in history if item != fact.object]
        (without,) = clicks.predict("b4", history=rest).answers
        assert without.probability is not None
        assert fact.influence == pytest.approx(whole - without.probability, abs=1e-7)
        assert fact.probability_without == pytest.approx(without.probability, abs=1e-7)
    supports = {fact.object for fact in found.facts if fact.influence > 0}
    assert supports == {"b1", "b2"}
    contrast = clicks.explain("b4", history=history, instead_of="a5", top=None)
    assert contrast.facts[0].object in ("b1", "b2")
    own = clicks.explain("b1", history=history).prediction
    assert (own.known, own.is_new) == ("history", False)
    both = clicks.explain("b4", history=history, without=[0, 1]).without
    assert both is not None
    assert both.influence > max(fact.influence for fact in found.facts)
    assert clicks.explain(history=history).prediction.object in ("b0", "b3", "b4", "b5")


def test_ratings_need_ratings(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, epochs=30)
    high = run.predict("m3", history={"m1": 5, "m2": 5}).answers[0].score
    low = run.predict("m3", history={"m1": 1, "m2": 1}).answers[0].score
    assert high > low
    facts = run.explain("m3", history=[("m1", 5.0), ("m2", 1.0)], top=None).facts
    assert {fact.object: fact.rating for fact in facts} == {"m1": 5.0, "m2": 1.0}
    assert all(math.isfinite(fact.influence) for fact in facts)
    with pytest.raises(WhereofError, match="history: 'm1' has no rating"):
        run.predict(history=["m1"])


def test_a_history_with_a_header(tmp_path: Path) -> None:
    run, path = train_ratings(tmp_path, epochs=1), tmp_path / "history.csv"
    path.write_text("item,stars\nm1,5\nm2,1\n")
    assert run.predict(history=path) == run.predict(history={"m1": 5, "m2": 1})
    path.write_text("itme,stars\nm1,5\n")
    with pytest.raises(WhereofError, match=r"history.csv:1: rating 'stars' is not a finite number"):
        run.predict(history=path)


def test_an_item_named_like_a_column(tmp_path: Path) -> None:
    facts = {"user": ["u", "u", "v"], "item": ["item", "b", "b"]}
    run = whereof.train(facts, out=tmp_path / "run", dim=2, epochs=1)
    (tmp_path / "history.txt").write_text("item\nb\n")
    own = run.predict(history=tmp_path / "history.txt")
    assert own == run.predict(history=["item", "b"])


@pytest.mark.parametrize(
    ("history", "names", "message"),
    [
        ([], (), "the history is empty; give at least one item"),
        (["c7"], (), "history: unknown item 'c7'"),
        (["b1"], ("c7",), "unknown item 'c7'; none of the 12 items has a similar name"),
        (
            ["b1"],
            ("u1",),
            "'u1' is a user, and a history is that of a new user; leave out the user",
        ),
        (["b1"], ("u1", "b2"), "with a history, name only the item; got u1 b2"),
        ({"b1": "good"}, (), "history: rating 'good' is not a finite number"),
        ("nowhere.txt", (), "nowhere.txt: no such file"),
    ],
)
def test_bad_histories_are_one_line(
    clicks: whereof.Run, history: Any, names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(WhereofError, match=message):
        clicks.predict(*names, history=history)


def test_other_runs_have_no_history(tmp_path: Path, clicks: whereof.Run) -> None:
    nations = whereof.train("nations", out=tmp_path / "run", epochs=1, dim=2)
    with pytest.raises(WhereofError, match="a history requires a run with users and items"):
        fold_in(nations._trained, ["egypt"])
    with pytest.raises(WhereofError, match="leave out seeds"):
        clicks.explain("b4", history=["b1"], seeds=2)
    with pytest.raises(WhereofError, match="leave out method"):
        clicks.explain("b4", history=["b1"], method="rollback")
    with pytest.raises(WhereofError, match="give what the user chose with --history FILE"):
        clicks.explain("u1", "b4", method="fold-in")
