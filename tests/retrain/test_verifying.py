"""A verdict equals retraining by hand and rollback."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listening import Recorded
from trained import train, train_ratings

import whereof
from retrain.by_hand import EGYPT, STAND, check_stand, stands_without
from whereof.retrain.size import log_odds
from whereof.retrain.verify import STARTS
from whereof.run.folder import RunFolder
from whereof.training.results import Parameters


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[whereof.Run]:
    return train(tmp_path_factory.mktemp("verify") / "run", inverse=True)


@pytest.mark.parametrize("asks", ["object", "subject"])
def test_before_and_actual_are_those_of_retraining_by_hand(run: whereof.Run, asks: str) -> None:
    found = run.verify(*EGYPT, asks=asks, top=4)
    explained = run.explain(*EGYPT, asks=asks, top=4)
    assert found.removed == tuple(fact.fact_id for fact in explained.facts)
    assert found.prediction == explained.prediction
    assert [fact.influence for fact in found.facts] == [f.influence for f in explained.facts]
    assert [fact.probability_without for fact in found.facts] == [
        fact.probability_without for fact in explained.facts
    ]
    check_stand(found.before, stands_without(run, [], EGYPT, asks))
    check_stand(found.actual, stands_without(run, found.removed, EGYPT, asks))
    assert found.actual.probability != found.before.probability
    assert found.control_matches_run
    assert (found.method, found.engine, found.notes) == ("rollback", "local", ())


def test_predicted_is_the_joint_rollback(run: whereof.Run) -> None:
    found = run.verify(*EGYPT, top=3, each=True)
    joint = run.explain(*EGYPT, without=list(found.removed)).without
    assert joint is not None
    assert found.predicted is not None
    check_stand(found.predicted, {name: getattr(joint, name) for name in STAND})
    assert found.predicted.labels == joint.labels
    for each in found.each:
        alone = run.explain(*EGYPT, without=each.fact_id).without
        assert alone is not None
        assert each.predicted is not None
        check_stand(each.predicted, {name: getattr(alone, name) for name in STAND})


def test_answers_of_removed_facts_stay_known(run: whereof.Run) -> None:
    query = ("usa", "embassy")
    known = [answer for answer in run.predict(*query, top=None).answers if answer.known == "train"]
    last = run.predict(*query, top=None, new=True).answers[-1].entity
    facts = [("usa", "embassy", answer.entity) for answer in known]
    found = run.verify(*query, last, facts=facts)
    wanted = stands_without(run, found.removed, (*query, last))
    check_stand(found.actual, wanted)
    n_new = len(run.predict(*query, top=None, new=True).answers)
    assert found.predicted is not None
    assert max(found.actual.rank, found.predicted.rank) <= n_new


def test_the_top_answers_are_those_of_the_run_and_of_the_retrained_model(run: whereof.Run) -> None:
    found = run.verify(*EGYPT, facts=[608, 775])
    before = run.predict(*EGYPT[:2], top=5, new=True).answers
    names = {each.entity: each for each in found.top_answers}
    assert [(each.probability, each.rank) for each in before] == [
        (names[each.entity].before, names[each.entity].rank_before) for each in before
    ]
    after = [each for each in found.top_answers if each.entity != EGYPT[2]]  # it is known
    assert [each.rank_actual for each in after][:5] == [1, 2, 3, 4, 5]
    for each in found.top_answers:
        wanted = stands_without(run, found.removed, (*EGYPT[:2], each.entity))
        assert (each.actual, each.rank_actual) == (wanted["probability"], wanted["rank"])
    assert after[0].entity == found.actual.top_answer
    values = [each.actual for each in found.top_answers]
    assert values == sorted(values, reverse=True)


@settings(max_examples=10)
@given(st.sets(st.integers(0, 1591), min_size=1, max_size=4))
def test_each_is_a_verdict_on_that_fact_alone(run: whereof.Run, fact_ids: set[int]) -> None:
    found = run.verify(*EGYPT, facts=sorted(fact_ids), each=True)
    assert set(found.removed) == fact_ids
    assert [fact.influence for fact in found.facts] == sorted(
        (fact.influence for fact in found.facts), reverse=True
    )
    for each in found.each:
        alone = run.verify(*EGYPT, facts=each.fact_id)
        assert (alone.removed, alone.before) == ((each.fact_id,), found.before)
        assert (alone.predicted, alone.actual) == (each.predicted, each.actual)
        assert alone.n_known == alone.n_retrainings == 2


def test_facts_may_be_named(run: whereof.Run) -> None:
    found = run.verify(*EGYPT, facts=["burma,embassy,uk", "0 1", ("uk", "embassy", "egypt")])
    data = run.dataset
    assert set(found.removed) >= {0, 1}
    named = {data.fact_names(data.train[fact]) for fact in found.removed}
    assert {("burma", "embassy", "uk"), ("uk", "embassy", "egypt")} <= named
    assert {(f.subject, f.relation, f.object) for f in found.facts} == named


def test_named_facts_have_the_notes_of_the_method(run: whereof.Run) -> None:
    (note,) = run.verify(*EGYPT, facts=[3], method="unrolled").notes
    assert "not trained steadily" in note
    assert run.verify(*EGYPT, facts=[3], method="rollback").notes == ()


def test_an_open_place_is_its_top_answer_and_all_takes_every_supporter(run: whereof.Run) -> None:
    found = run.verify("egypt", "embassy", None, top="all")
    explained = run.explain("egypt", "embassy", None, top="all")
    assert found.prediction == explained.prediction
    assert found.removed == tuple(fact.fact_id for fact in explained.facts)
    assert len(found.removed) > 10


def test_seeds_are_runs_of_their_own_each_with_its_control(tmp_path: Path) -> None:
    run = train(tmp_path / "run")
    found = run.verify(*EGYPT, seeds=3, top=5)
    assert [each.seed for each in found.seeds] == [3, 4, 5]
    for each in found.seeds:
        sibling = (
            run if each.seed == 3 else whereof.Run.open(tmp_path / f"run/siblings/seed-{each.seed}")
        )
        assert sibling.config == run.config.replace(seed=each.seed)
        assert each.control_matches_run
        check_stand(each.before, stands_without(sibling, [], EGYPT))
        check_stand(each.actual, stands_without(sibling, found.removed, EGYPT))
    assert (found.before, found.actual) == (found.seeds[0].before, found.seeds[0].actual)
    assert len({each.before.probability for each in found.seeds}) == 3
    assert found.n_retrainings == 6
    summary, falls = found.summary, [s.before.value - s.actual.value for s in found.seeds]
    assert summary is not None
    assert summary.fall.mean == pytest.approx(np.mean(falls))
    assert summary.fall.std == pytest.approx(np.std(falls, ddof=1))
    assert (summary.fall.min, summary.fall.max) == (min(falls), max(falls))
    assert summary.n_fell == sum(fall > 0 for fall in falls)
    changed = [each.before.top_answer != each.actual.top_answer for each in found.seeds]
    assert (summary.n_seeds, summary.n_top_changed) == (3, sum(changed))
    assert run.verify(*EGYPT, seeds=3, top=5).n_known == 6


def test_a_run_of_ratings_tells_by_its_score(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, 30)
    found = run.verify("u0", "m1", facts=[0, 3], each=True)
    assert (found.before.probability, found.actual.probability) == (None, None)
    assert found.predicted is not None
    assert found.predicted.probability is None
    for fact_ids, stand in [([0, 3], found.actual), *(([f.fact_id], f.actual) for f in found.each)]:
        check_stand(stand, stands_without(run, fact_ids, ("u0", "m1")))
    assert "the rating really" in str(found)
    assert math.isfinite(found.actual.score)
    json.dumps(found.to_dict(), allow_nan=False)


def test_two_way_runs_have_no_relation(tmp_path: Path) -> None:
    lines = [f"u{user}\tm{item}\n" for user in range(8) for item in range(6) if (user + item) % 3]
    (tmp_path / "seen.tsv").write_text("".join(lines))
    run = whereof.train(tmp_path / "seen.tsv", out=tmp_path / "run", model="mf", dim=3, epochs=3)
    found = run.verify("u0", "m3", top=2)
    assert (found.prediction.relation, found.facts[0].relation) == (None, None)
    check_stand(found.actual, stands_without(run, found.removed, ("u0", "m3")))
    with pytest.raises(whereof.WhereofError, match="a prediction is SUBJECT OBJECT"):
        run.verify("u0", "likes", "m3")


def test_without_a_trace_nothing_is_predicted(tmp_path: Path) -> None:
    run = train(tmp_path / "run", trace=False)
    with pytest.raises(whereof.WhereofError, match="needs a trace and this run has none"):
        run.verify(*EGYPT)
    found = run.verify(*EGYPT, facts=[5, 2], each=True)
    assert (found.removed, found.predicted) == ((5, 2), None)
    assert [fact.influence for fact in found.facts] == [None, None]
    assert [each.predicted for each in found.each] == [None, None]
    assert found.notes == ("this run has no trace, so there is no estimate by rollback",)
    assert "rollback" not in str(found)
    by_gradient = run.verify(*EGYPT, method="gradient-dot", top=2)
    explained = run.explain(*EGYPT, method="gradient-dot", top=2)
    assert [fact.influence for fact in by_gradient.facts] == [f.influence for f in explained.facts]


def test_other_methods_choose_and_rollback_predicts(run: whereof.Run) -> None:
    found = run.verify(*EGYPT, method="random", seed=8, top=6)
    explained = run.explain(*EGYPT, method="random", seed=8, top=6)
    assert found.removed == tuple(fact.fact_id for fact in explained.facts)
    assert found.predicted is not None
    assert found.notes == ("random chose the facts; the estimate is by rollback",)


def differs(why: str) -> str:
    return f"the control (retrained with all facts) differs from the stored run: {why}"


def test_a_control_that_differs_from_the_run_is_what_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(tmp_path / "run")
    rows = Parameters(run.entity_rows + np.float32(1e-3), run.relation_rows)
    monkeypatch.setattr(RunFolder, "parameters", rows)
    run = whereof.Run.open(tmp_path / "run")
    found = run.verify(*EGYPT, top=3)
    assert not found.control_matches_run
    assert found.before.probability != found.prediction.probability
    check_stand(found.before, stands_without(run, [], EGYPT))
    assert found.notes == (
        differs("another version of Whereof or another kind of processor trained it"),
        STARTS,
        "the influences of facts are those of the stored run",
    )
    exact = run.explain(*EGYPT, method="retrain", role="several", top=None)
    for fact in exact.facts:
        assert found.before.probability is not None
        assert fact.probability_without is not None
        assert fact.influence == found.before.probability - fact.probability_without
        changes = fact.top_answer_without != found.before.top_answer
        assert fact.top_answer_changes == changes
    assert exact.notes == (found.notes[0], "influences are measured from the control")


@pytest.mark.parametrize("method", ["rollback", "unrolled"])
def test_estimates_of_a_run_that_unlearned_facts_start_from_its_control(
    tmp_path: Path, method: str
) -> None:
    first = train(tmp_path / "run", optimizer="adagrad", rate=0.1, accumulator=0.1)
    strongest = first.explain(*EGYPT, method="rollback", top=20).facts
    first.unlearn([it.fact_id for it in strongest], out=tmp_path / "less", measure=False)
    run = whereof.Run.open(tmp_path / "less")
    found = run.verify(*EGYPT, method=method, top=3, each=True)
    assert not found.control_matches_run
    reason = differs("facts were unlearned from it")
    assert [note for note in found.notes if "differs" in note] == [reason]
    every = [(found.removed, found.predicted), *(([it.fact_id], it.predicted) for it in found.each)]
    for removed, predicted in every:
        stored = run.explain(*EGYPT, method=method, without=list(removed)).without
        assert stored is not None
        assert predicted is not None
        changes = [
            log_odds(after.value) - log_odds(before.value)
            for before, after in ((found.prediction, stored), (found.before, predicted))
        ]
        assert changes[0] == pytest.approx(changes[1], abs=1e-9)
        same = (found.prediction.rank, found.prediction.top_answer) == (
            found.before.rank,
            found.before.top_answer,
        )
        tops = (stored.rank, stored.top_answer) if same else (0, "")
        assert (predicted.rank, predicted.top_answer) == tops
    assert found.predicted is not None
    assert found.confirmed is not None
    estimated = found.before.value - found.predicted.value
    assert estimated > 0
    ratio = (found.before.value - found.actual.value) / estimated
    assert found.confirmed.ratio == pytest.approx(ratio)
    impact = run.impact(*found.removed, predictions="top", verify=True, threads=1)
    assert impact.notes[-2] == reason
    assert impact.predictions
    for each in impact.predictions:
        names = (each.subject, each.relation, each.object)
        verdict = run.verify(*names, facts=list(found.removed), method="rollback", threads=1)
        assert (each.before, each.claim) == (verdict.before, verdict.claim)


def test_what_it_takes_is_said_first_and_asking_again_is_free(tmp_path: Path) -> None:
    first_events, later = Recorded(), Recorded()
    run = train(tmp_path / "run")
    first = run.verify(*EGYPT, top=2, events=first_events, threads=1)
    assert (first_events.n_planned, first_events.n_known) == ([2], [0])
    assert first_events.done == [(1, 2), (2, 2)]
    again = run.verify(*EGYPT, top=2, each=True, events=later)
    assert (later.n_planned, later.n_known, later.done) == ([2], [2], [(1, 2), (2, 2)])
    assert (again.n_retrainings, again.n_known) == (4, 2)
    assert (again.before, again.actual) == (first.before, first.actual)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top is 0; give a number from 1 on, or all"),
        ({"seeds": 0}, "seeds is 0; it must be 1 or more"),
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"facts": 99999}, "no fact has id 99999"),
        ({"facts": []}, "facts is empty"),
        ({"facts": [1], "top": 3}, "leave out top"),
        ({"tops": 3}, "did you mean 'top'?"),
        ({"engine": "steam"}, "unknown engine 'steam'"),
        ({"facts": list(range(1592))}, "nothing is left to train on"),
    ],
)
def test_bad_options_are_named(run: whereof.Run, options: dict[str, Any], message: str) -> None:
    with pytest.raises(whereof.WhereofError) as error:
        run.verify(*EGYPT, **options)
    assert message in str(error.value)


def test_a_document_is_plain(run: whereof.Run) -> None:
    found = run.verify(*EGYPT, top=2, each=True).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    stand = {"probability", "rank", "top_answer", "score", "labels"}
    for name in ("before", "predicted", "actual"):
        assert found[name].keys() == stand
    fields = {"prediction", "removed", "control_matches_run", "seconds", "facts", "each", "seeds"}
    fields |= {"summary", "n_retrainings", "n_known", "method", "engine", "notes", "claim"}
    assert found.keys() == fields | {"confirmed", "before", "predicted", "actual", "top_answers"}
    assert (found["seeds"], found["summary"]) == ([], None)


def test_the_cost_of_further_seeds_is_told_before_they_are_trained(tmp_path: Path) -> None:
    run = train(tmp_path / "run")
    events = Recorded(0)
    with pytest.raises(whereof.WhereofError):
        run.verify(*EGYPT, seeds=100_000, events=events)
    assert events.notes[0].startswith("99,999 runs with other seeds are trained first: about ")
    for names, options, message in (
        (("egypt", "embassy", "us"), {}, "unknown entity 'us'"),
        (EGYPT, {"facts": 99999}, "no fact has id 99999"),
    ):
        events = Recorded()
        with pytest.raises(whereof.WhereofError, match=message):
            run.verify(*names, seeds=2, **options, events=events)
        assert not events.events
    events = Recorded()
    run.verify(*EGYPT, seeds=2, method="random", events=events)
    assert "a second run is trained first" in events.notes[0]
    events = Recorded()
    run.verify(*EGYPT, seeds=2, method="random", events=events)
    assert not events.notes
