"""The fast search finds what scoring everything finds, and its bounds hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whereof
from explain.helpers import names_of, random_asks, random_run, rollback_of, sets_of, with_facts
from explain.oracle import Ask
from whereof.explain.method import Aim, Context, Sets, rank_influences
from whereof.explain.methods.rollback import Rollback, search
from whereof.models import MODELS

FEW = 1 << 15
"""Scores up to which everything is scored anyway."""

worlds = st.fixed_dictionaries(
    {
        "model": st.sampled_from(sorted(MODELS)),
        "seed": st.integers(0, 1000),
        "precision": st.sampled_from(["float32", "float64"]),
        "size": st.sampled_from([1e-4, 0.01, 0.1, 0.3, 1.0]),
        "spread": st.sampled_from([0.0, 1.0, 4.0]),
        "dim": st.sampled_from([2, 8]),
    }
)
"""Settings of random runs: traces tiny, of all sizes, or as large as the rows themselves."""


def asking(top: int | str | None, **more: bool) -> Context:
    return Context(Aim("probability"), top=top, **more)


def _world(n_entities: int = 1500, **world: object) -> whereof.Run:
    """A run in which every prediction has enough facts for the search."""
    n_relations = 4 if not MODELS[str(world["model"])].two_way else 0
    n_facts = 800 if n_relations else 20_000
    return random_run(n_entities=n_entities, n_relations=n_relations, n_facts=n_facts, **world)  # type: ignore[arg-type]


def _adjacent(rollback: Rollback) -> Sets:
    scored = rollback.scored
    subject, relation, object_ = scored.prediction.triple
    sets = Sets.each(scored.trained.adjacency.adjacent([subject, object_], relation))
    assert len(sets) * len(scored.scores) > FEW
    return sets


def _check_bounds(rollback: Rollback, sets: Sets) -> None:
    """Check that all bounds enclose the exact result."""
    exact = rollback.remove(sets).influences
    assert np.isfinite(exact).all()
    for close in (False, True)[: 1 + (rollback.scored.trained.scorer.model.match == "dot")]:
        lower, upper = rollback.bounds(sets, close=close)
        outside = np.maximum(lower - exact, exact - upper)
        assert outside.max() <= 0, f"{outside.max()} beyond bounds, close={close}"


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("model", sorted(MODELS))
def test_the_fast_way_lists_the_same_facts_with_the_same_values(model: str, precision: str) -> None:
    run = _world(model=model, precision=precision, size=0.5, spread=3.0)
    for ask in random_asks(run, 2):
        names = names_of(run, ask)
        for of in ("probability", "loss"):
            _adjacent(rollback_of(run, names, of, asks=ask.asks))
            for opposing in (False, True):
                wanted = run.explain(
                    *names, of=of, asks=ask.asks, top=10, opposing=opposing, exhaustive=True
                ).facts
                assert len(wanted) == 10
                for top in (1, 3, 10):
                    found = run.explain(*names, of=of, asks=ask.asks, top=top, opposing=opposing)
                    assert [fact.fact_id for fact in found.facts] == [
                        fact.fact_id for fact in wanted[:top]
                    ]
                    assert [fact.influence for fact in found.facts] == [
                        fact.influence for fact in wanted[:top]
                    ]


@settings(max_examples=15)
@given(
    world=worlds,
    of=st.sampled_from(["probability", "loss"]),
    top=st.sampled_from([1, 3, 10, 200]),
    opposing=st.booleans(),
    n_candidates=st.sampled_from([3, 80, 1500]),
)
def test_searching_is_ranking_all(
    world: dict[str, object], of: str, top: int, opposing: bool, n_candidates: int
) -> None:
    run = _world(**world)
    (ask,) = random_asks(run, 1, seed=int(str(world["seed"])))
    listed = {ask.object, *range(n_candidates)}
    rollback = rollback_of(
        run, names_of(run, ask), of, candidates=[f"e{entity}" for entity in listed]
    )
    scored = rollback.scored
    subject, relation, object_ = scored.prediction.triple
    sets = Sets.each(scored.trained.adjacency.adjacent([subject, object_], relation))
    context = asking(top, opposing=opposing)
    found = search(rollback, sets, context)
    wanted = rank_influences(rollback.remove(sets).influences, context)
    assert found.chosen.tolist() == wanted.chosen.tolist()
    assert found.influences.tolist() == wanted.influences.tolist()


@settings(max_examples=20)
@given(
    world=worlds,
    of=st.sampled_from(["probability", "loss"]),
    asks=st.sampled_from(["object", "subject"]),
    n_candidates=st.sampled_from([2, 30, 1500]),
    size=st.sampled_from([1, 2, 5]),
)
def test_influences_lie_within_their_bounds(
    world: dict[str, object], of: str, asks: str, n_candidates: int, size: int
) -> None:
    run = random_run(n_entities=1500, n_relations=2, n_facts=200, **world)  # type: ignore[arg-type]
    rng = np.random.default_rng(int(str(world["seed"])))
    subject, object_, target = rng.integers(0, 1500, 3).tolist()
    ask = Ask(subject, 0, object_, range(1500), asks)
    listed = {ask.target, target, *range(n_candidates)}
    names = names_of(run, ask)
    rollback = rollback_of(run, names, of, asks=asks, candidates=[f"e{e}" for e in listed])
    sets = sets_of([rng.choice(200, size, replace=False).tolist() for _ in range(100)])
    _check_bounds(rollback, sets)


@pytest.mark.parametrize("of", ["probability", "loss"])
def test_bounds_that_were_kept_are_those_of_the_same_facts(of: str) -> None:
    run = random_run("distmult", n_entities=500, n_facts=800)
    (ask,) = random_asks(run, 1)
    names = names_of(run, ask)
    rollback, facts = rollback_of(run, names, of), np.arange(0, 800, 2)
    rollback.bounds(Sets.each(facts))
    assert rollback.scored.memo
    for some in (facts[::3], facts[::-7], np.arange(3, 90), np.array([2, 4, 799])):
        fresh = rollback_of(run, names, of).bounds(Sets.each(some))
        assert np.array_equal(rollback.bounds(Sets.each(some)), fresh)


@pytest.mark.parametrize("shape", [(4, 3), (0, 2), (3, 1)])
def test_sets_of_one_size_can_be_an_array(shape: tuple[int, int]) -> None:
    whole = np.arange(shape[0] * shape[1]).reshape(shape)
    made, listed = Sets.of(whole), Sets.of([*whole])
    assert np.array_equal(made.fact_ids, listed.fact_ids)
    assert np.array_equal(made.bounds, listed.bounds)


@pytest.mark.parametrize("model", ["distmult", "mf-biased", "transe", "transe-l2"])
def test_bounds_hold_where_one_answer_takes_all(model: str) -> None:
    """Rows so large that a probability is nearly 0 or 1."""
    run = random_run(model, n_entities=100, n_facts=300, size=2.0, spread=6.0)
    run.entity_rows[:] *= 5
    for ask in random_asks(run, 10):
        rollback = rollback_of(run, names_of(run, ask), "probability", asks=ask.asks)
        _check_bounds(rollback, Sets.each(np.arange(300)))


def test_bounds_leave_most_facts_unscored() -> None:
    """For small traces, bounds exclude most facts."""
    run = random_run("distmult", n_entities=500, n_facts=800, size=0.003, spread=3.0)
    (ask,) = random_asks(run, 1)
    rollback = rollback_of(run, names_of(run, ask), "probability")
    lower, upper = rollback.bounds(_adjacent(rollback))
    assert (upper >= np.sort(lower)[-10]).mean() < 0.5


@pytest.mark.parametrize("model", ["complex", "mf", "transe"])
def test_ties_go_to_the_lower_id_on_the_fast_way_too(model: str) -> None:
    """Every fact stands three times over, with the same trace each time."""
    run = _world(model=model, precision="float32", size=0.3, spread=1.0)
    n_third = run.dataset.n_facts // 3
    run.dataset.train[n_third : 2 * n_third] = run.dataset.train[:n_third]
    run.dataset.train[2 * n_third : 3 * n_third] = run.dataset.train[:n_third]
    facts = run.dataset.train[: 3 * n_third]
    again = with_facts(run, facts, np.tile(run.trace[:n_third], (3, 1)))
    ask = Ask(*map(int, facts[5]), range(1500))
    for opposing in (False, True):
        names = names_of(again, ask)
        found = again.explain(*names, top=8, opposing=opposing).facts
        wanted = again.explain(*names, top=8, opposing=opposing, exhaustive=True).facts
        first = found[0].fact_id
        assert [fact.fact_id for fact in found[:3]] == [first, first + n_third, first + 2 * n_third]
        assert len({fact.influence for fact in found[:3]}) == 1
        assert [fact.fact_id for fact in found] == [fact.fact_id for fact in wanted]


def test_facts_that_changed_nothing_are_never_listed() -> None:
    run = _world(model="distmult", precision="float32", size=0.1)
    run.trace[4:] = 0
    ask = Ask(*map(int, run.dataset.train[0]), range(1500))
    for opposing in (False, True):
        listed = run.explain(*names_of(run, ask), top=100, opposing=opposing).facts
        assert {fact.fact_id for fact in listed} <= {0, 1, 2, 3}


@pytest.mark.parametrize("model", ["distmult", "rotate"])
def test_pairs_are_searched_like_facts(model: str) -> None:
    run = _world(model=model, precision="float32", size=0.2, spread=2.0)
    (ask,) = random_asks(run, 1)
    rollback = rollback_of(run, names_of(run, ask), "probability")
    pairs = np.random.default_rng(0).integers(0, 800, (300, 2)).tolist()
    sets = sets_of(pairs)
    found = search(rollback, sets, asking(5))
    wanted = search(rollback, sets, asking(5, exhaustive=True))
    assert found.chosen.tolist() == wanted.chosen.tolist()
    assert found.influences.tolist() == wanted.influences.tolist()


def test_rank_takes_the_asked_sign_and_number() -> None:
    influences = np.array([0.0, 2.0, -1.0, 2.0, -3.0, 1.0])
    for top, supporting, opposing in (
        (None, [1, 3, 5, 0, 2, 4], [4, 2, 0, 5, 1, 3]),
        ("all", [1, 3, 5], [4, 2]),
        (1, [1], [4]),
        (9, [1, 3, 5], [4, 2]),
    ):
        assert rank_influences(influences, asking(top)).chosen.tolist() == supporting
        ranked = rank_influences(influences, asking(top, opposing=True))
        assert ranked.chosen.tolist() == opposing
        assert ranked.influences.tolist() == influences[opposing].tolist()


@pytest.mark.parametrize("heaviest", [5.0, 8.0, 12.0, 16.0])
@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_bounds_hold_where_light_candidates_rise_together(heaviest: float, noise: float) -> None:
    """One answer has nearly all the probability, and each fact held thousands of others down."""
    rng = np.random.default_rng(0)
    width, n_light, n_facts = 100, 4000, 200
    light = rng.normal(size=width)
    light *= 10 / np.linalg.norm(light)
    heavy = rng.normal(size=width)
    heavy -= (heavy @ light) / (light @ light) * light
    given = -heaviest * light / (light @ light)
    rise = rng.uniform(0.5, 1, (n_facts, 1)) * (heaviest - 2) * light / (light @ light)
    subject = -(rise + noise * rng.normal(size=(n_facts, width)) / np.sqrt(width))
    rows = np.vstack([given, heavy * 10 / np.linalg.norm(heavy), np.tile(light, (n_light, 1))])
    run = whereof.Run.from_arrays(
        model="distmult",
        entities=[f"e{i}" for i in range(len(rows))],
        relations=["r0"],
        facts=np.tile([0, 0, 1], (n_facts, 1)),
        entity_rows=rows.astype(np.float32),
        relation_rows=np.ones((1, width), np.float32),
        trace=np.stack([subject, 0 * subject, 0 * subject], axis=1).astype(np.float32),
    )
    for of in ("probability", "loss"):
        rollback = rollback_of(run, ("e0", "r0", "e1"), of)
        _check_bounds(rollback, _adjacent(rollback))


def test_scores_too_far_apart_for_probabilities_are_searched_all_the_same() -> None:
    run = random_run("distmult", n_entities=300, n_facts=400, dim=8, size=5.0)
    rows = run.entity_rows * 30
    far = whereof.Run.from_arrays(
        model="distmult",
        entities=run.dataset.entities.names,
        relations=run.dataset.relations.names,
        facts=run.dataset.train,
        entity_rows=rows,
        relation_rows=run.relation_rows[:2],
        trace=np.ascontiguousarray(run.trace[:, :24]),
    )
    (ask,) = random_asks(far, 1)
    names = names_of(far, ask)
    assert np.ptp(rollback_of(far, names, "loss").scored.scores) > 745
    for of in ("probability", "loss"):
        quick, full = (far.explain(*names, of=of, exhaustive=all_) for all_ in (False, True))
        assert quick.facts == full.facts
        assert all(np.isfinite(fact.influence) for fact in full.facts)


@pytest.mark.parametrize("top", [10, None])
def test_a_trace_of_what_is_no_number_is_said(top: int | None) -> None:
    run = random_run("distmult", n_entities=1500, n_facts=800)
    run.trace[3] = np.nan
    names = run.dataset.fact_names(run.dataset.train[3])
    with pytest.raises(whereof.WhereofError, match="not finite"):
        run.explain(*names, top=top)
