"""Rollback equals its definition: copy all parameters, subtract the trace, score again."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.formulas import FORMULAS
from trained import train

import whereof
from explain.helpers import (
    THREE_WAY,
    TOLERANCE,
    check_all_facts,
    check_close,
    names_of,
    random_asks,
    random_run,
    rollback_of,
    sets_of,
    with_facts,
)
from explain.oracle import BATCHED, Ask, Oracle, quantity
from whereof.data.dataset import ratings_as_objects
from whereof.models import MODELS

OF = ("probability", "score", "loss")


@pytest.fixture(scope="module")
def nations(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run of each model and precision, trained once."""
    runs: dict[tuple[str, str], whereof.Run] = {}

    def trained(model: str, precision: str) -> whereof.Run:
        if (model, precision) not in runs:
            path = tmp_path_factory.mktemp("nations") / model
            # Rows as wide and scores as large as they usually are: rounding goes by both.
            dim = 12 if model == "rescal" else 60
            settings = {"dim": dim, "inverse": True, "epochs": 5, "rate": 0.04}
            runs[model, precision] = train(path, model=model, precision=precision, **settings)
        return runs[model, precision]

    return trained


@pytest.mark.parametrize("model", sorted(MODELS))
def test_the_oracle_scores_as_the_formulas_do(model: str) -> None:
    widths, rng = MODELS[model].widths(4), np.random.default_rng(0)
    s, o = rng.normal(size=(2, 5, 3, widths.entity))
    r = rng.normal(size=(5, 1, widths.relation))
    scores = BATCHED[model](s[:, :1], r, o)
    for i, j in np.ndindex(5, 3):
        score, _ = FORMULAS[model](s[i, 0], r[i, 0], o[i, j])
        np.testing.assert_allclose(scores[i, j], score, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("model", THREE_WAY)
def test_predictions_of_nations(model: str, precision: str, nations: Any) -> None:
    run = nations(model, precision)
    assert np.abs(run.trace).max() > 0.01
    for i, ask in enumerate(random_asks(run, 6)):
        check_all_facts(run, ask, OF[i // 2 % 3], TOLERANCE[precision])


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_prediction_of_a_small_world(model: str, of: str) -> None:
    """Few entities: predictions of s = o, self-loops, facts of both ends, facts of candidates."""
    run = random_run(model, n_entities=3, n_facts=20, dim=3)
    facts = run.dataset.train
    assert (facts[:, 0] == facts[:, 2]).sum() >= 4
    for subject, relation, object_ in np.ndindex(3, max(run.dataset.n_relations, 1), 3):
        for asks in ("object", "subject"):
            check_all_facts(run, Ask(subject, relation, object_, range(3), asks), of, 1e-12)


@pytest.mark.parametrize("precision", TOLERANCE)
@pytest.mark.parametrize("model", sorted(MODELS))
def test_traces_as_large_as_the_rows(model: str, precision: str) -> None:
    run = random_run(model, 5, n_entities=20, precision=precision, size=1.0)
    tolerance = 10 * TOLERANCE[precision]
    for i, ask in enumerate(random_asks(run, 12)):
        check_all_facts(run, ask, OF[i // 2 % 3], tolerance)


@pytest.mark.parametrize("of", ["probability", "loss"])
@pytest.mark.parametrize(("model", "size"), [("distmult", 4.0), ("mf", 6.0), ("transe", 60.0)])
def test_scores_that_change_by_hundreds(model: str, size: float, of: str) -> None:
    """Single precision holds e^x up to x = 88; scores may well change by more."""
    run = random_run(model, 1, n_entities=30, precision="float32", size=size, inverse=False)
    oracle, most = Oracle(run), 0.0
    for ask in random_asks(run, 10):
        found = run.explain(*names_of(run, ask), of=of, top=None).facts
        before = oracle.before(ask)
        after = oracle.scores(ask, [[fact.fact_id] for fact in found])
        most = max(most, np.abs(after - before).max())
        wanted = quantity(of, before, ask.place) - quantity(of, after, ask.place)
        check_close([fact.influence for fact in found], wanted, 1e-4)
    assert 100 < most < 600


@pytest.mark.parametrize("model", ["distmult", "mf", "transe-l2"])
def test_sigmoid_loss_is_of_the_answer_alone(model: str) -> None:
    run = random_run(model, loss="sigmoid")
    for ask in random_asks(run, 12):
        check_all_facts(run, ask, "loss", 1e-12)


@pytest.mark.parametrize("model", ["mf", "mf-biased"])
@pytest.mark.parametrize("loss", ["softmax", "squared"])
def test_two_way_data(model: str, loss: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.permutation(12 * 9)[:60]
    films = {"user": pairs // 9, "item": pairs % 9, "rating": rng.integers(1, 6, 60)}
    films = {name: values.tolist() for name, values in films.items()}
    settings = {"dim": 3, "epochs": 3, "rate": 0.05, "precision": "float64"}
    run = whereof.train(films, out=tmp_path / "run", model=model, loss=loss, **settings)
    for i, ask in enumerate(random_asks(run, 12)):
        of = "score" if loss == "squared" else OF[i % 3]
        check_all_facts(run, ask, of, 1e-11)


def test_influence_on_a_rating_is_in_its_units(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    films = {"user": [*range(8)] * 2, "item": [0] * 8 + [1] * 8}
    films["rating"] = rng.integers(0, 100, 16).tolist()
    run = whereof.train(films, out=tmp_path / "run", model="mf-biased", dim=2, epochs=20, rate=0.05)
    found = run.explain("0", "1", top=None)
    assert found.of == "score"
    assert 0 < found.prediction.score < 100
    assert max(abs(fact.influence) for fact in found.facts) > 1
    for of in ("probability", "loss"):
        with pytest.raises(whereof.WhereofError, match=f"predicts ratings, which have no {of}"):
            run.explain("0", "1", of=of)


def test_only_ratings_compete_where_ratings_are_objects(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.permutation(15 * 8)[:80]
    films = {"user": pairs // 8, "item": 100 + pairs % 8, "rating": rng.integers(1, 6, 80)}
    data = ratings_as_objects(whereof.read({name: list(ids) for name, ids in films.items()}))
    run = whereof.train(
        data, out=tmp_path / "run", model="complex", dim=3, epochs=4, rate=0.05, inverse=True
    )
    assert run.explain("3", "102", "5").prediction.n_candidates == 5
    for i, ask in enumerate(random_asks(run, 12)):
        assert len(ask.candidates) == (15 if ask.asks == "subject" else 5)
        check_all_facts(run, ask, OF[i // 2 % 3], 1e-6)


@pytest.mark.parametrize("precision", ["float16", pytest.param("float64", marks=pytest.mark.slow)])
def test_a_trace_of_another_precision_than_the_rows(precision: str, tmp_path: Path) -> None:
    run = train(tmp_path / "run", inverse=True, epochs=2, trace_precision=precision)
    assert run.trace.dtype == precision
    assert run.entity_rows.dtype == np.float32
    for i, ask in enumerate(random_asks(run, 10)):
        check_all_facts(run, ask, OF[i // 2 % 3], 1e-6)


@pytest.mark.parametrize("asks", ["object", "subject"])
@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_fact_that_changed_nothing_has_no_influence(model: str, asks: str) -> None:
    run = random_run(model, n_entities=50, n_facts=40, precision="float32")
    run.trace[::2] = 0
    for ask in random_asks(run, 6)[asks == "subject" :: 2]:
        for of in OF:
            found = run.explain(*names_of(run, ask), asks=asks, of=of, top=None)
            still = [fact for fact in found.facts if fact.fact_id % 2 == 0]
            assert [fact.influence for fact in still] == [0.0] * len(still)
            ids = [fact.fact_id for fact in still]
            assert ids == sorted(ids)
            listed = run.explain(*names_of(run, ask), asks=asks, of=of, top="all").facts
            assert not [fact for fact in listed if fact.fact_id % 2 == 0]


@pytest.mark.parametrize("model", sorted(MODELS))
def test_facts_with_the_same_trace_tie_and_come_by_id(model: str) -> None:
    run = random_run(model, n_entities=30, n_facts=40, precision="float32")
    facts, trace = run.dataset.train, run.trace
    facts[25], facts[3], facts[17] = facts[3], (1, 0, 2), (1, 0, 2)
    facts[25] = facts[3]
    trace[[17, 25]] = trace[3]
    again = with_facts(run, facts, trace)
    for ask in (Ask(1, 0, 2, range(30)), Ask(1, 0, 9, range(30)), Ask(5, 0, 2, range(30))):
        found = again.explain(*names_of(again, ask), top=None).facts
        same = [i for i, fact in enumerate(found) if fact.fact_id in (3, 17, 25)]
        assert [found[i].fact_id for i in same] == [3, 17, 25]
        assert same == list(range(same[0], same[0] + 3))
        assert len({found[i].influence for i in same}) == 1


def test_a_candidate_that_a_fact_touched_changes_the_normaliser() -> None:
    """A fact of the same relation between two others moves the prediction through them alone."""
    rows = np.eye(4)
    trace = np.zeros((1, 3, 4))
    trace[0, 2] = [5.0, 0, 0, 0]
    run = whereof.Run.from_arrays(
        model="distmult",
        entities=["s", "o", "a", "b"],
        relations=["r"],
        facts=[[2, 0, 3]],
        entity_rows=rows,
        relation_rows=np.ones((1, 4)),
        trace=trace,
    )
    (fact,) = run.explain("s", "r", "o", top=None).facts
    # Scores are 1, 0, 0, 0 and become 1, 0, 0, -5.
    before, after = 1 / (np.e + 3), 1 / (np.e + 2 + np.exp(-5))
    assert fact.influence == pytest.approx(before - after, rel=1e-14)
    assert fact.influence < 0
    assert fact.role == "relation"
    assert run.explain("s", "r", "o", of="score", top=None).facts[0].influence == 0


def test_sets_are_rolled_back_together() -> None:
    run = random_run("rescal", n_entities=8)
    ask, rng = Ask(1, 0, 2, range(8)), np.random.default_rng(0)
    sets = [rng.choice(60, size, replace=False).tolist() for size in (1, 2, 2, 5, 0, 30)]
    oracle = Oracle(run)
    for of in OF:
        found = rollback_of(run, names_of(run, ask), of).remove(sets_of(sets)).influences
        wanted = quantity(of, oracle.before(ask), 2) - quantity(of, oracle.scores(ask, sets), 2)
        check_close(found, wanted, 1e-12)


def test_a_run_without_a_trace_says_what_to_do(tmp_path: Path) -> None:
    run = train(tmp_path / "run", trace=False, epochs=1)
    with pytest.raises(whereof.WhereofError, match=r"rollback needs a trace.*--no-trace"):
        run.explain("egypt", "embassy", "usa")


def test_a_probability_is_never_above_1_however_large_the_scores(tmp_path: Path) -> None:
    settings = {"model": "complex", "dim": 32, "optimizer": "adam", "rate": 0.3, "epochs": 60}
    run = train(tmp_path / "run", credit="step", **settings)
    for fact in run.dataset.test[:20]:
        found = run.explain(*run.dataset.fact_names(fact), method="rollback", top=None)
        without = np.array([each.probability_without for each in found.facts])
        assert ((without >= 0) & (without <= 1)).all()
        falls = np.array([each.influence for each in found.facts])
        assert np.allclose(found.prediction.probability - without, falls, atol=1e-6)
