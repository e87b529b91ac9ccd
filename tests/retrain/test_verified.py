"""Method verified: candidates of several methods, retrained, within a budget."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from listening import Recorded
from trained import train

import whereof
from retrain.by_hand import EGYPT, stands_without
from whereof import registry
from whereof.events import Foreseen, Planned
from whereof.explain.method import Context, Method, register
from whereof.predict.scored import ScoredPrediction
from whereof.types import FactIds, Numbers


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("verified") / "run", inverse=True)


def test_influences_are_those_of_retraining_by_hand(run: whereof.Run) -> None:
    found = run.explain(*EGYPT, method="verified", budget=8, top=None)
    before = stands_without(run, [], EGYPT)["probability"]
    assert len(found.facts) == 7  # one retraining is the control
    for fact in found.facts:
        wanted = stands_without(run, [fact.fact_id], EGYPT)
        assert fact.influence == pytest.approx(before - wanted["probability"], rel=1e-4)
        assert fact.top_answer_without == wanted["top_answer"]
        assert fact.share is None
    influences = [fact.influence for fact in found.facts]
    assert influences == sorted(influences, reverse=True)


def test_candidates_are_the_first_of_every_method_in_turn(run: whereof.Run) -> None:
    methods = ("rollback", "gradient-dot", "gradient-cos", "criage", "unrolled")
    tops = [run.explain(*EGYPT, method=name, top=5).facts for name in methods]
    ids = [[fact.fact_id for fact in facts] for facts in tops]
    wanted = list(dict.fromkeys(each for turn in zip(*ids, strict=True) for each in turn))
    found = run.explain(*EGYPT, method="verified", budget=7, top="all")
    retrained = {fact.fact_id: fact for fact in found.facts}
    assert retrained.keys() <= {*wanted[:6]}  # those that oppose it are not listed
    first = run.explain(*EGYPT, method="verified", budget=7, top="all", opposing=True)
    assert not {fact.fact_id for fact in first.facts} & retrained.keys()
    swept = run.explain(*EGYPT, method="unrolled", top=None).facts
    estimates = {fact.fact_id: fact.influence for fact in swept}
    for fact_id, fact in retrained.items():
        assert fact.predicted == pytest.approx(estimates[fact_id])
        nominated = {name for name, each in zip(methods, ids, strict=True) if fact_id in each}
        assert nominated <= {*fact.nominated_by}
    assert "nominated by rollback, gradient-dot, gradient-cos, criage, unrolled" in found.notes[-1]
    assert "6 of " in found.notes[-1]


def test_asking_again_retrains_nothing(run: whereof.Run) -> None:
    first, again = Recorded(), Recorded()
    asked = ("brazil", "embassy", "usa")
    found = run.explain(*asked, method="verified", budget=12, events=first)
    same = run.explain(*asked, method="verified", budget=12, events=again)
    assert [fact.influence for fact in same.facts] == [fact.influence for fact in found.facts]
    assert Foreseen(12, 20.0) in first.events  # and a sweep
    assert Foreseen(12, 0.0) in again.events
    assert not any(isinstance(event, Planned) for event in again.events)


def test_a_time_is_a_budget_too(run: whereof.Run) -> None:
    role = {"role": "several", "top": None}
    whole = run.explain(*EGYPT, method="verified", budget=1000, **role)
    timed = run.explain(*EGYPT, method="verified", budget="1h", **role)
    assert [fact.fact_id for fact in timed.facts] == [fact.fact_id for fact in whole.facts]
    assert len(timed.facts) == len(run.explain(*EGYPT, **role).facts)
    with pytest.raises(whereof.WhereofError, match="one retraining takes about"):
        run.explain(*EGYPT, method="verified", budget="0.000001s")


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (1, "budget is 1; give 2 retrainings or more"),
        ("0s", "budget is '0s'; give a number of retrainings from 2 on, or a text such as 90s"),
        ("many", "budget is 'many'; give a number of retrainings"),
    ],
)
def test_a_bad_budget_is_named(run: whereof.Run, budget: int | str, message: str) -> None:
    with pytest.raises(whereof.WhereofError, match=message):
        run.explain(*EGYPT, method="verified", budget=budget)


class LastFact(Method):
    """Nominates the facts with the highest ids."""

    name, title, citation = "last-fact", "Last fact", "Nobody, 2000"

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        return fact_ids.astype(np.float64)


@pytest.fixture
def another_method() -> Iterator[LastFact]:
    method = LastFact()
    register(method)
    yield method
    del registry._ADDED[registry.METHODS, method.name]
    registry.names.cache_clear()
    registry.load.cache_clear()


def test_a_registered_method_nominates_unless_it_says_no(
    run: whereof.Run, another_method: LastFact
) -> None:
    last = max(fact.fact_id for fact in run.explain(*EGYPT, top=None).facts)
    found = run.explain(*EGYPT, method="verified", budget=7, top=None)
    named = {fact.fact_id: fact.nominated_by for fact in found.facts}
    assert another_method.name in named[last]
    another_method.nominates = False
    found = run.explain(*EGYPT, method="verified", budget=7, top=None)
    assert last not in {fact.fact_id for fact in found.facts}


class SlowMethod(LastFact):
    """Takes longer than any budget of time, unless it was asked before."""

    prepares = "predictions"

    def trainings(self, n_facts: int, n_predictions: int = 1) -> float:
        return 1e12

    def prepare(self, trained, predictions, events, context):  # type: ignore[no-untyped-def]
        return {"nothing": np.zeros((len(predictions), 1))}


def test_a_method_that_is_too_slow_for_the_time_nominates_nothing(
    run: whereof.Run, another_method: LastFact
) -> None:
    another_method.__class__ = SlowMethod
    asked = ("poland", "embassy", "usa")
    timed = run.explain(*asked, method="verified", budget="10m", role="several", top=3)
    assert "the budget is too short for last-fact" in timed.notes
    assert "last-fact" not in timed.notes[-1]
    with pytest.raises(whereof.WhereofError, match="last-fact alone takes more than half of it"):
        run.smallest(*asked, method="last-fact", budget="10m")
    counted = run.explain(*asked, method="verified", budget=3, role="several", top=3)
    assert "last-fact" in counted.notes[-1]
    stored = run.explain(*asked, method="verified", budget="10m", role="several", top=3)
    assert "last-fact" in stored.notes[-1]


def test_a_run_without_a_trace_has_candidates_of_the_other_methods(tmp_path: Path) -> None:
    run = train(tmp_path / "run", trace=False)
    found = run.explain(*EGYPT, method="verified", budget=5, top=None)
    assert len(found.facts) == 4
    assert all(fact.predicted is not None for fact in found.facts)
    assert all("rollback" not in fact.nominated_by for fact in found.facts)


def test_named_facts_are_all_retrained(run: whereof.Run) -> None:
    adjacent = {fact.fact_id for fact in run.explain(*EGYPT, top=None).facts}
    far = next(fact for fact in range(run.dataset.n_facts) if fact not in adjacent)
    found = run.explain(*EGYPT, method="verified", without=[far, min(adjacent)])
    assert {fact.fact_id for fact in found.facts} == {far, min(adjacent)}
