"""Losses of facts with and without themselves are those of explanations of the facts."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from listening import Recorded
from trained import train, train_ratings

import whereof
from explain.helpers import random_run, sized_as_strong
from explain.oracle import Ask, Oracle
from whereof.events import Events, SweepsPlanned
from whereof.explain import suspicion
from whereof.explain.method import Aim
from whereof.explain.suspicion import RANKINGS, find_own_losses, group_apart
from whereof.models import MODELS


def swept(run: whereof.Run, fact: int, asks: str) -> tuple[float, float]:
    """The loss of a fact among new answers, and that without itself, from its margins.

    The log-odds change by the mean change of the margins to all rivals.
    """
    names = run.dataset.fact_names(run.dataset.train[fact])
    subject, relation, object_ = names
    query = (subject, relation, None) if asks == "object" else (None, relation, object_)
    own = object_ if asks == "object" else subject
    scores = {it.entity: it.score for it in run.predict(*query, top=None).answers}
    new = {it.entity for it in run.predict(*query, top=None, new=True).answers} - {own}
    shares = {rival: np.exp(scores[rival] - scores[own]) for rival in new}
    odds, fall = -np.log(sum(shares.values())), 0.0
    for rival, share in shares.items():
        aim = Aim("log_ratio", run.dataset.entities.names.index(rival))
        fall += share * np.exp(odds) * sized_as_strong(run, names, aim, asks)[fact]
    return np.logaddexp(0, -odds), np.logaddexp(0, fall - odds)


def filtered_loss(scores: np.ndarray, ask: Ask, run: whereof.Run) -> float:
    """-log of the probability of an answer, without what other training facts answer."""
    subject, relation, object_ = run.dataset.train.T
    given, answers = (subject, object_) if ask.asks == "object" else (object_, subject)
    wanted = ask.subject if ask.asks == "object" else ask.object
    others = answers[(given == wanted) & (relation == ask.relation)]
    left = np.isin(ask.candidates, others, invert=True)
    left[ask.place] = True
    return float(np.log(np.exp(scores[left] - scores[ask.place]).sum()))


@pytest.mark.parametrize("model", sorted(MODELS))
def test_losses_by_rollback_are_those_of_the_definition(model: str) -> None:
    run = random_run(model, n_facts=30)
    own, oracle = find_own_losses(run._trained, "rollback", Events()), Oracle(run)
    data = run.dataset
    for fact in range(0, 30, 3):
        sides = []
        for asks, candidates in (("object", data.objects), ("subject", data.subjects)):
            ask = Ask(*map(int, data.train[fact]), candidates, asks)
            every = oracle.before(ask), oracle.scores(ask, [[fact]])[0]
            sides.append([filtered_loss(scores, ask, run) for scores in every])
        np.testing.assert_allclose((own.loss[fact], own.without[fact]), np.mean(sides, axis=0))


@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
def test_losses_by_the_sweep_are_those_of_margins(
    tmp_path_factory: pytest.TempPathFactory, loss: str
) -> None:
    settings = {"loss": loss, "trace": False, "inverse": True, "epochs": 2}
    run = train(tmp_path_factory.mktemp("swept") / "run", **settings)
    ids = np.array([0, 700])
    own = find_own_losses(run._trained, "unrolled", Events(), ids)
    for place, fact in enumerate(ids.tolist()):
        sides = [swept(run, fact, asks) for asks in ("object", "subject")]
        np.testing.assert_allclose(
            (own.loss[place], own.without[place]), np.mean(sides, axis=0), 1e-4
        )


def draw_graph(seed: int, n_entities: int) -> whereof.Dataset:
    """Facts of 20 relations, of which the first has a third; two entities have many facts."""
    rng = np.random.default_rng(seed)
    s, o = rng.integers(0, n_entities, (2, 5 * n_entities))
    r = np.where(rng.random(len(s)) < 1 / 3, 0, rng.integers(0, 20, len(s)))
    s[::9], o[::7] = 0, 1
    frame = {"s": [f"e{it}" for it in s], "r": [f"r{it}" for it in r], "o": [f"e{it}" for it in o]}
    return whereof.read(frame, valid_fraction=0, test_fraction=0)


def test_facts_that_share_a_column_have_the_losses_that_they_have_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = draw_graph(0, 60)
    run = whereof.train(data, out=tmp_path / "run", dim=16, epochs=6, search=False)
    ids = np.random.default_rng(1).choice(data.n_facts, 40, replace=False)
    events = Recorded()
    together = find_own_losses(run._trained, "unrolled", events, ids)
    (price,) = (it for it in events.events if isinstance(it, SweepsPlanned))  # of all of them
    assert price.seconds > 20 * (run.retraining_seconds or 0) / (os.cpu_count() or 1)
    monkeypatch.setattr(
        suspicion, "group_apart", lambda data, ids, most: [np.array([it]) for it in range(len(ids))]
    )
    alone = find_own_losses(run._trained, "unrolled", Events(), ids)
    np.testing.assert_allclose(together.loss, alone.loss)
    given, wanted = together.rank("self-influence"), alone.rank("self-influence")
    assert np.corrcoef(given, wanted)[0, 1] > 0.95
    assert abs(np.median(given / wanted) - 1) < 0.05


@given(seed=st.integers(0, 1000), most=st.integers(1, 9))
def test_groups_have_all_facts_and_few_of_an_entity_or_relation(seed: int, most: int) -> None:
    data = draw_graph(seed, 30)
    ids = np.random.default_rng(seed).permutation(data.n_facts)[:100]
    groups = group_apart(data, ids, most)
    assert sorted(np.concatenate(groups).tolist()) == [*range(len(ids))]
    n_of_entity = np.bincount(data.train[:, [0, 2]].ravel())
    n_of_relation = np.bincount(data.train[:, 1])
    for group in groups:
        facts = data.train[ids[group]]
        ends = [entity for s, _, o in facts.tolist() for entity in {s, o}]
        used = np.bincount(ends, minlength=data.n_entities)
        assert len(group) <= most
        assert (used <= np.maximum(n_of_entity // 10, 1)).all()
        used = np.bincount(facts[:, 1], minlength=data.n_relations)
        assert (used <= np.maximum(n_of_relation // 10, 1)).all()


def test_a_wrong_fact_is_the_most_suspicious(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("wrong")
    pairs = [(s, o) for s in range(12) for o in range(12) if (s + o) % 4 == 0 and s != o]
    facts = [f"e{s}\tr{r}\te{o}\n" for s, o in pairs for r in range(4)]
    wrong = "e1\tr0\te2\n"
    (folder / "facts.tsv").write_text("".join([*facts, wrong]))
    settings = {"dim": 8, "epochs": 15, "valid_fraction": 0, "test_fraction": 0, "search": False}
    run = whereof.train(folder / "facts.tsv", out=folder / "run", **settings)
    own = find_own_losses(run._trained, "rollback", Events())
    for ranking in ("loss-without", "loss", "score"):
        assert own.rank(ranking).argmax() == len(facts)
    for ranking in RANKINGS:
        assert own.rank(ranking).shape == (len(facts) + 1,)


def test_ratings_have_squared_errors(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = train_ratings(tmp_path_factory.mktemp("ratings"), 30)
    ratings = run.dataset.ratings
    assert ratings is not None
    for method in ("rollback", "unrolled"):
        own = find_own_losses(run._trained, method, Events())
        for fact in (0, 3):
            names = run.dataset.fact_names(run.dataset.train[fact])
            found = run.explain(*names, without=[fact], method=method)
            assert found.without is not None
            scores = [found.prediction.score, found.without.score]
            if method == "unrolled":
                aim = Aim("probability")
                scores[1] = scores[0] - sized_as_strong(run, names, aim)[fact]
            errors = [score - ratings.train[fact] for score in scores]
            np.testing.assert_allclose(
                (own.loss[fact], own.without[fact]), np.square(errors), rtol=1e-4
            )


def test_degrees_are_those_of_the_rarer_entity(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = train(tmp_path_factory.mktemp("degrees") / "run")
    own, facts = find_own_losses(run._trained, "rollback", Events()), run.dataset.train
    counts = [int((facts[:, [0, 2]] == entity).any(axis=1).sum()) for entity in range(14)]
    assert own.degree[5] == min(counts[facts[5, 0]], counts[facts[5, 2]])
