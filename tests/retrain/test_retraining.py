"""Exact explanations and `Run.retrain`, compared with training by hand."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from explain.helpers import random_run
from listening import Recorded
from trained import train, train_ratings

import whereof
from retrain.by_hand import EGYPT, check_stand, rows_without, stands, stands_without
from whereof.errors import Interrupted


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[whereof.Run]:
    return train(tmp_path_factory.mktemp("retraining") / "run", inverse=True, epochs=2)


@pytest.mark.parametrize("of", ["probability", "score", "loss"])
@pytest.mark.parametrize("asks", ["object", "subject"])
def test_influence_is_what_retraining_without_the_fact_takes_away(
    run: whereof.Run, of: str, asks: str
) -> None:
    options = {"role": "several", "asks": asks}
    found = run.explain(*EGYPT, method="retrain", of=of, top=None, **options)
    among = run.explain(*EGYPT, top=None, **options)
    assert {fact.fact_id for fact in found.facts} == {fact.fact_id for fact in among.facts}
    assert len(found.facts) > 5
    assert found.notes == ()
    before = worth(of, stands_without(run, [], EGYPT, asks))
    for fact in found.facts[:: len(found.facts) // 6]:
        after = stands_without(run, [fact.fact_id], EGYPT, asks)
        assert fact.influence == pytest.approx(before - worth(of, after), rel=1e-3, abs=1e-5)
        assert fact.probability_without == pytest.approx(after["probability"], rel=1e-5)
        assert fact.top_answer_without == after["top_answer"]
        changes = after["top_answer"] != found.prediction.top_answer
        assert fact.top_answer_changes == changes
    influences = [fact.influence for fact in found.facts]
    assert influences == sorted(influences, reverse=True)


def worth(of: str, stand: dict[str, float]) -> float:
    return float(np.log(stand["probability"])) if of == "loss" else stand[of]


def test_sigmoid_losses_and_contrasts(tmp_path: Path) -> None:
    run = train(tmp_path / "run", loss="sigmoid", epochs=2)
    options = {"role": "several", "top": None, "method": "retrain"}
    losses = {f.fact_id: f.influence for f in run.explain(*EGYPT, of="loss", **options).facts}
    rather = run.explain(*EGYPT, instead_of="china", **options)
    control = rows_without(run, [])
    china = ("egypt", "embassy", "china")
    for fact in rather.facts[:4]:
        rows = rows_without(run, [fact.fact_id])
        before, after = stands(run, control, EGYPT), stands(run, rows, EGYPT)
        loss = np.logaddexp(0, -after["score"]) - np.logaddexp(0, -before["score"])
        if fact.fact_id in losses:
            assert losses[fact.fact_id] == pytest.approx(loss, rel=1e-3, abs=1e-5)
        ratios = (
            mine["score"] - stands(run, by, china)["score"]
            for mine, by in ((before, control), (after, rows))
        )
        assert fact.influence == pytest.approx(next(ratios) - next(ratios), rel=1e-3, abs=1e-5)
    assert losses


def test_ratings_are_explained_by_their_score(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, 20)
    found = run.explain("u0", "m1", method="retrain", top=None)
    before = stands_without(run, [], ("u0", "m1"))
    assert found.of == "score"
    for fact in found.facts:
        after = stands_without(run, [fact.fact_id], ("u0", "m1"))
        assert fact.influence == pytest.approx(before["score"] - after["score"], abs=1e-5)
        assert (fact.probability_without, fact.score_without) == (
            None,
            pytest.approx(after["score"], rel=1e-5),
        )


def test_a_verdict_may_take_its_facts_from_it(run: whereof.Run) -> None:
    options = {"method": "retrain", "role": "several", "top": 1}
    found = run.verify(*EGYPT, **options, each=True)
    assert found.facts[0].probability_without == found.actual.probability
    assert found.each[0].actual == found.actual
    best = run.explain(*EGYPT, **options).facts[0]
    assert found.removed == (best.fact_id,)
    n_facts = len(run.explain(*EGYPT, role="several", top=None).facts)
    assert found.n_retrainings > n_facts  # those of the method count too


def test_what_cannot_be_retrained_is_refused_in_one_line(run: whereof.Run, tmp_path: Path) -> None:
    arrays = random_run("distmult")
    for ask in (arrays.explain, arrays.verify):
        with pytest.raises(whereof.WhereofError, match="other software trained this run"):
            ask("e0", "r0", "e1", method="retrain")
    with pytest.raises(
        whereof.WhereofError, match="requires all objects as candidates; leave out candidates"
    ):
        run.explain(*EGYPT, method="retrain", candidates="usa,uk")
    with pytest.raises(whereof.WhereofError, match="explains one prediction at a time"):
        run.explain_many([EGYPT], method="retrain")
    with pytest.raises(whereof.WhereofError, match="explains one prediction at a time"):
        run.explain_file("top", tmp_path / "all.jsonl", method="retrain")
    with pytest.raises(whereof.WhereofError, match="unknown setting 'engine'"):
        run.explain(*EGYPT, engine="local")


def test_what_is_finished_is_kept_when_it_is_stopped(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=1)

    first, second = Recorded(stop_after=5), Recorded()
    options = {"method": "retrain", "role": "several"}
    with pytest.raises(Interrupted):
        run.explain(*EGYPT, **options, events=first, threads=2)
    run.explain(*EGYPT, **options, events=second)
    assert second.n_known == [len(first.done)]


def test_retraining_gives_rows_in_the_order_asked_for(run: whereof.Run) -> None:
    sets = [[7, 3], ["burma,embassy,uk"], 11]
    found = list(run.retrain(sets, threads=2))
    assert [each.removed[:2] for each in found[:2]] == [(), (3, 7)]
    assert [len(each.removed) for each in found] == [0, 2, 1, 1]
    for each in found:
        rows = rows_without(run, each.removed)
        assert each.parameters is not None
        assert np.array_equal(each.parameters.entity_rows, rows.entity_rows)
        assert np.array_equal(each.parameters.relation_rows, rows.relation_rows)
        assert each.standings is None
    assert np.array_equal(found[0].parameters.entity_rows, run.entity_rows)


def test_retraining_looks_at_predictions(run: whereof.Run) -> None:
    asked = [EGYPT, ("usa", "embassy", "uk"), ("_", "embassy", "usa")]
    found = list(run.retrain([[7, 3]], asked))
    top = run.predict("_", "embassy", "usa", top=1, new=True).answers[0].entity
    for each in found:
        rows = rows_without(run, each.removed)
        assert each.parameters is None
        assert each.standings is not None
        for names, stand in zip(asked[:2], each.standings, strict=False):
            check_stand(stand, stands(run, rows, names))
        asked_for = (top, "embassy", "usa")
        wanted = stands(run, rows, asked_for, "subject")
        check_stand(each.standings[2], wanted)
    with pytest.raises(whereof.WhereofError, match="no fact has id 5000"):
        run.retrain([5000])
    with pytest.raises(whereof.WhereofError, match="unknown setting 'steam'"):
        run.retrain([1], steam=1)
