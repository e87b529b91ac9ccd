"""Runs from elsewhere: saved, opened, and retrained by a function of the user's own."""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from listening import Recorded
from trained import train

import whereof
from retrain.by_hand import EGYPT
from whereof.models import own_model
from whereof.models.scoring import Scorer
from whereof.retrain.function import FunctionEngine
from whereof.types import FactIds

NEED_NO_TRACE = ("random", "gradient-dot", "gradient-cos", "influence-function", "criage")


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("native") / "run", inverse=True)


class Training:
    """A training function that counts its calls: that of another run."""

    def __init__(self, run: whereof.Run) -> None:
        self.run, self.skipped = run, list[tuple[int, ...]]()

    def __call__(self, skip: FactIds) -> tuple[Any, Any]:
        self.skipped.append(tuple(skip.tolist()))
        rows = self.run._recipe.retrain(skip)
        return rows.entity_rows, rows.relation_rows


class Tensor:
    """A parameter of PyTorch, which is no array as it is."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("use tensor.detach().numpy()")


def elsewhere(native: whereof.Run, retrain: Any = None, **changes: Any) -> whereof.Run:
    """The same model as arrays."""
    data = native.dataset
    arrays = {
        "model": native.config.model,
        "entities": data.entities.names,
        "relations": data.relations.names,
        "facts": data.train,
        "valid": data.valid,
        "test": data.test,
        "entity_rows": native.entity_rows,
        "relation_rows": native.relation_rows,
        "trace": native.trace,
        "loss": native.config.loss,
    }
    return whereof.Run.from_arrays(**arrays | changes, retrain=retrain)


def test_held_out_facts_are_measured_and_saved(native: whereof.Run, tmp_path: Path) -> None:
    run = elsewhere(native, name="mine")
    assert run.metrics == native.metrics
    kept = run.save(tmp_path / "kept")
    for each in (kept, whereof.Run.open(tmp_path / "kept", check=True)):
        assert each.metrics == native.metrics
        assert each.dataset.hash == native.dataset.hash
        assert np.array_equal(each.trace, native.trace)  # type: ignore[arg-type]
        info = each.info()
        assert (info["dataset"], info["n_test"]) == ("mine", len(native.dataset.test))
        assert "best_epoch" not in info
    with pytest.raises(whereof.WhereofError, match="exists"):
        run.save(tmp_path / "kept")


@pytest.mark.parametrize("method", [*NEED_NO_TRACE, "rollback", "rollback-o"])
def test_a_saved_run_explains_like_the_native_one(
    native: whereof.Run, tmp_path: Path, method: str
) -> None:
    lacks = {} if method.startswith("rollback") else {"trace": None}
    kept = elsewhere(native, **lacks).save(tmp_path / "kept")
    found, wanted = (run.explain(*EGYPT, method=method, top=5).facts for run in (kept, native))
    assert found == wanted


def test_verify_calls_the_function_and_the_journal_keeps_what_it_returned(
    native: whereof.Run, tmp_path: Path
) -> None:
    again = Training(native)
    wanted = native.verify(*EGYPT, method="rollback", top=3, each=True)
    kept = elsewhere(native, again).save(tmp_path / "kept")
    found = kept.verify(*EGYPT, method="rollback", top=3, each=True)
    assert (found.before, found.actual, found.each) == (wanted.before, wanted.actual, wanted.each)
    assert found.control_matches_run
    assert found.engine == "function"
    assert again.skipped == [(), tuple(sorted(found.removed)), *((it,) for it in found.removed)]
    again.skipped.clear()
    opened = whereof.Run.open(tmp_path / "kept", retrain=again)
    assert opened.verify(*EGYPT, method="rollback", top=3, each=True).actual == wanted.actual
    assert again.skipped == []


def test_a_saved_run_has_the_retrainings_made_before(native: whereof.Run, tmp_path: Path) -> None:
    again = Training(native)
    run = elsewhere(native, again)
    wanted = run.verify(*EGYPT, method="rollback", top=3)
    assert wanted.n_known == 0
    run.save(tmp_path / "kept")
    again.skipped.clear()
    opened = whereof.Run.open(tmp_path / "kept", retrain=again)
    found = opened.verify(*EGYPT, method="rollback", top=3)
    assert (found.actual, found.n_known) == (wanted.actual, found.n_retrainings)
    assert again.skipped == []


@pytest.mark.parametrize("method", ["verified", "retrain"])
def test_methods_that_retrain_call_the_function(native: whereof.Run, method: str) -> None:
    again = Training(native)
    run = elsewhere(native, again)
    asked = {"method": method, "budget": 5, "top": 3, "relation": EGYPT[1]}
    asked = {name: it for name, it in asked.items() if method == "verified" or name != "budget"}
    found, wanted = (each.explain(*EGYPT, **asked) for each in (run, native))
    if method == "retrain":  # of native, unrolled nominates other candidates
        assert [it.influence for it in found.facts] == [it.influence for it in wanted.facts]
    assert not found.estimate
    n_calls = len(again.skipped)
    assert n_calls > 1
    run.explain(*EGYPT, **asked)
    assert len(again.skipped) == n_calls  # a run in memory has a journal too


def test_smallest_and_evaluate_call_the_function(native: whereof.Run) -> None:
    again = Training(native)
    run = elsewhere(native, again)
    found, wanted = (it.smallest(*EGYPT, budget=20, method="rollback") for it in (run, native))
    assert (found.facts, found.actual) == (wanted.facts, wanted.actual)
    assert len(again.skipped) > 1
    rates = [each.evaluate(methods="rollback", k="1", limit=2).removal for each in (run, native)]
    assert rates[0] == rates[1]


def test_a_model_of_its_own_is_scored_by_itself(native: whereof.Run) -> None:
    """A retrained model may bring its scoring function: here one that doubles every score."""
    scorer = Scorer(native.model, 2 * native.entity_rows, native.relation_rows)
    run = elsewhere(native, lambda skip: scorer)
    (control,) = [each.standings[0] for each in run.retrain([], [EGYPT]) if each.standings]
    assert control.score == pytest.approx(4 * run.explain(*EGYPT).prediction.score, rel=1e-6)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda rows: (rows[0][:3], rows[1]), r"entity_rows of shape \(3, 6\); this run has"),
        (lambda rows: (np.full_like(rows[0], np.nan), rows[1]), "training with all facts diverged"),
        (lambda rows: None, "returned nothing; return entity rows and relation rows"),
        (lambda rows: rows[0], "returned 1 value; return entity rows and relation rows"),
        (lambda rows: (*rows, rows[0]), "returned 3 values; return entity rows and"),
        (lambda rows: ("a", "b"), "returned str; return arrays of rows"),
        (lambda rows: (rows[0], None), "returned NoneType; return arrays of rows"),
        (lambda rows: (Tensor(), rows[1]), "returned is not an array: use tensor.detach"),
    ],
)
def test_what_the_function_returns_is_checked(
    native: whereof.Run, returned: Callable[[Any], Any], said: str
) -> None:
    rows = (native.entity_rows, native.relation_rows)
    run = elsewhere(native, lambda skip: returned(rows))
    with pytest.raises(whereof.WhereofError, match=said):
        run.verify(*EGYPT, top=2)


def test_a_function_that_returns_other_rows_is_named(native: whereof.Run, tmp_path: Path) -> None:
    def moved(skip: FactIds) -> tuple[Any, Any]:
        rows = native._recipe.retrain(skip)
        return rows.entity_rows * 1.01, rows.relation_rows

    run = elsewhere(native, moved)
    (note,) = (it for it in run.verify(*EGYPT, top=2, method="rollback").notes if "differs" in it)
    assert note.endswith("differs from the stored run: your training function returns other rows")
    (note,) = (it for it in run.evaluate(limit=2, methods="random").notes if "differs" in it)
    assert note.endswith("your training function returns other rows")


def test_a_run_without_a_trace_is_evaluated_reported_and_shown(
    native: whereof.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = elsewhere(native, Training(native), trace=None)
    found = run.evaluate(limit=1, removals=2)
    assert {row.method for row in found.removal} == {"gradient-dot", "random"}
    events = Recorded()
    options = {"protocols": "removal", "k": 1, "events": events}
    suite = run.evaluate(suite="faithfulness", limit=1, **options)
    assert {row.method for row in suite.removal} == {*NEED_NO_TRACE, "verified", "retrain"}
    left_out = "retrain:precision=float64 is left out: other software trained this run"
    assert any(note.startswith(left_out) for note in events.notes)
    assert "Examples" in run.report(tmp_path / "report.html").read_text()
    pages = list[str]()
    monkeypatch.setattr("whereof.present.notebook.show", lambda page, height: pages.append(page))
    run.show(*EGYPT, top=3)
    assert "gradient-dot" in pages[0]


def test_a_run_from_elsewhere_unlearns_by_its_trace(native: whereof.Run, tmp_path: Path) -> None:
    burma = np.flatnonzero((native.dataset.train[:, ::2] == 1).any(axis=1)).tolist()
    gone = {"entity": native.dataset.entities.name(1)}
    wanted = native.unlearn([3], **gone, out=tmp_path / "native")
    again = Training(native)
    found = elsewhere(native, again).unlearn([3], **gone, out=tmp_path / "mine")
    assert found.removed == wanted.removed == tuple(sorted({3, *burma}))
    assert (found.distance, found.n_entities_gone) == (wanted.distance, 1)
    assert again.skipped == [found.removed]
    one, other = (whereof.Run.open(tmp_path / name) for name in ("native", "mine"))
    assert np.array_equal(one.entity_rows, other.entity_rows)
    assert np.array_equal(one.relation_rows, other.relation_rows)
    assert np.array_equal(one.trace, other.trace)  # type: ignore[arg-type]
    assert one.dataset.hash == other.dataset.hash
    assert one.metrics == other.metrics
    kept = elsewhere(native).save(tmp_path / "kept")
    plain = kept.unlearn([3], out=tmp_path / "plain")
    assert plain.distance is None
    (note,) = plain.notes
    assert note.startswith("the distance to retraining is not measured")
    assert not elsewhere(native).unlearn([3], out=tmp_path / "quiet", measure=False).notes
    opened = whereof.Run.open(tmp_path / "plain")
    assert opened.unlearn([3], out=tmp_path / "twice", measure=False).n_removed == 1


def test_the_distance_is_that_of_a_model_with_its_own_function(
    native: whereof.Run, tmp_path: Path
) -> None:
    """The retrained model doubles every score; so do rows of which the relations are doubled."""

    def score(given: Any, relations: Any, candidates: Any) -> Any:
        return 2 * (given * relations) @ candidates.T

    own = own_model("doubled", 6, 6, score)
    found = [
        elsewhere(native, lambda skip, it=it: it).unlearn([3], out=tmp_path / str(i)).distance
        for i, it in enumerate(
            (
                (native.entity_rows, 2 * native.relation_rows),
                Scorer(own, native.entity_rows, native.relation_rows),
            )
        )
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].probability
    assert found[0].probability == pytest.approx(found[1].probability)
    assert found[0].retrained == found[1].retrained


def test_what_cannot_be_done_is_said_in_one_line(native: whereof.Run, tmp_path: Path) -> None:
    run = elsewhere(native, Training(native))
    elsewhere(native).save(tmp_path / "saved")
    for call, said in (
        (lambda: elsewhere(native).verify(*EGYPT), "pass your own training function"),
        (lambda: run.explain(*EGYPT, method="tracin"), "runs of other software have none; train a"),
        (lambda: run.verify(*EGYPT, seeds=2), "cannot be trained with another seed"),
        (lambda: run.verify(*EGYPT, engine="ray"), "called in this process"),
        (lambda: run.sufficient(*EGYPT), "can only leave facts out"),
        (lambda: run.unlearn([1], method="warm"), "so method warm cannot continue its training"),
        (lambda: run.update({"subject": ["egypt"]}), "so update cannot continue its training"),
        (lambda: whereof.resume(tmp_path / "saved"), "so whereof cannot continue its training"),
        (lambda: elsewhere(native, trace=None).unlearn([1]), "trained it: record a trace there"),
        (lambda: run.evaluate(protocols="theory", limit=2), "did not record norms"),
    ):
        with pytest.raises(whereof.WhereofError, match=said) as caught:
            call()  # type: ignore[no-untyped-call]
        assert "\n" not in str(caught.value)


def test_a_journal_belongs_to_the_code_of_the_function() -> None:
    def one(skip: FactIds) -> int:
        return 1

    def two(skip: FactIds) -> int:
        return 2

    first, same, second = one, one, two
    second.__qualname__ = one.__qualname__
    for wrapped in (lambda it: it, passed_on, partial):
        names = [FunctionEngine(wrapped(it)).identity for it in (first, same, second)]
        assert names[0] == names[1] != names[2]


def passed_on(function: Callable[[FactIds], int]) -> Callable[[FactIds], int]:
    """A function as an integration passes it on."""

    @wraps(function, updated=())
    def again(skip: FactIds) -> int:
        return function(skip)

    return again


def test_without_a_trace_an_audit_ranks_by_loss(native: whereof.Run) -> None:
    run = elsewhere(native, Training(native), trace=None)
    found, usual = run.audit(top=4), native.audit(top=4, ranking="loss", method="rollback")
    assert (found.ranking, found.method, found.blamed, found.groups) == ("loss", None, (), ())
    assert [it.fact_id for it in found.suspicious] == [it.fact_id for it in usual.suspicious]
    assert (found.held_out, found.consistency) == (usual.held_out, usual.consistency)
    assert {it.probability_without for it in found.suspicious} == {None}
    assert "no trace, and how it was trained is not known" in found.notes[0]
    tested = run.audit(top=2, by="relation", verify=True)
    (checked,) = tested.verified
    assert (checked.kind, checked.influence) == ("suspicious", None)
    assert checked.actual is not None
    assert [it.influence for it in tested.groups] == [None, None]
    actual = [it.actual or 0.0 for it in tested.groups]
    assert actual == sorted(actual, reverse=True)
    assert min(actual) < max(actual)
    sizes = np.sort(np.bincount(run.dataset.train[:, 1]))[-2:]
    assert sorted(it.n_facts for it in tested.groups) == sizes.tolist()
    assert "are listed: those with the most facts." in tested._repr_html_()
    for options in ({"ranking": "loss-without"}, {"method": "rollback"}):
        with pytest.raises(whereof.WhereofError, match="rollback needs a trace"):
            run.audit(**options)
