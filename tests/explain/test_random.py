"""Random facts: keyed draws."""

import numpy as np

import whereof
from explain.gradients import make_run
from whereof.explain.explanation import Explanation


def draws(found: Explanation) -> dict[int, float]:
    return {fact.fact_id: fact.influence for fact in found.facts}


def explain(run: whereof.Run, *names: str, **options: object) -> dict[int, float]:
    return draws(run.explain(*names, method="random", top=None, **options))


def test_a_draw_does_not_depend_on_the_other_facts() -> None:
    run = make_run("distmult")
    every = explain(run, "e0", "r0", "e3")
    some = explain(run, "e0", "r0", "e3", relation="r1")
    assert 0 < len(some) < len(every)
    assert some.items() <= every.items()
    assert all(0 < value < 1 for value in every.values())
    assert len(set(every.values())) == len(every)


def test_seeds_and_predictions_draw_again() -> None:
    run = make_run("distmult")
    first = explain(run, "e0", "r0", "e3")
    assert first == explain(run, "e0", "r0", "e3", seed=0)
    predictions = (("e0", "r0", "e3"), ("e3", "r0", "e0"), ("e0", "r1", "e3"), ("e0", "r0", "e2"))
    others = [explain(run, *names, seed=0) for names in predictions[1:]]
    others.append(explain(run, "e0", "r0", "e3", seed=1))
    for other in others:
        shared = first.keys() & other.keys()
        assert shared
        assert all(first[fact] != other[fact] for fact in shared)


def test_draws_are_spread_evenly() -> None:
    rng = np.random.default_rng(0)
    facts = np.unique(rng.integers(0, (60, 1, 60), (3000, 3)), axis=0)
    rows = rng.normal(size=(60, 2))
    run = whereof.Run.from_arrays(
        model="distmult",
        entities=[str(i) for i in range(60)],
        relations=["r"],
        facts=facts,
        entity_rows=rows,
        relation_rows=rows[:1],
    )
    values = np.array(list(explain(run, "0", "r", "1").values()))
    counts = np.histogram(values, bins=10, range=(0, 1))[0]
    assert len(values) == len(facts)
    assert abs(counts - len(values) / 10).max() < 5 * np.sqrt(len(values) / 10)
