"""Runs from arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from explain.helpers import check_all_facts, random_asks, random_run
from explain.oracle import Ask

import whereof
from whereof.models import MODELS


def _arrays(**changes: Any) -> dict[str, Any]:
    """Valid arrays for DistMult of width 3, with some of them changed."""
    rng = np.random.default_rng(0)
    arrays = {
        "model": "distmult",
        "entities": ["a", "b", "c", "d"],
        "relations": ["r", "q"],
        "facts": np.array([[0, 0, 1], [1, 1, 2], [2, 0, 0], [3, 1, 3], [0, 1, 2]]),
        "entity_rows": rng.normal(size=(4, 3)),
        "relation_rows": rng.normal(size=(2, 3)),
        "trace": 0.1 * rng.normal(size=(5, 3, 3)),
    }
    return {name: value for name, value in (arrays | changes).items() if value is not ...}


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_precision_stays(precision: str) -> None:
    arrays = _arrays()
    for name in ("entity_rows", "relation_rows", "trace"):
        arrays[name] = arrays[name].astype(precision)
    run = whereof.Run.from_arrays(**arrays)
    assert run.entity_rows.dtype == run.relation_rows.dtype == precision
    assert run.trace is not None
    assert run.trace.dtype == precision
    assert run.config.precision == precision
    check_all_facts(
        run, Ask(0, 0, 1, range(4)), "probability", 1e-6 if precision == "float32" else 1e-12
    )


def test_a_trace_of_slots_is_that_of_one_array() -> None:
    trace = _arrays()["trace"]
    whole = whereof.Run.from_arrays(**_arrays())
    slots = whereof.Run.from_arrays(**_arrays(trace=tuple(trace[:, i] for i in range(3))))
    flat = whereof.Run.from_arrays(**_arrays(trace=trace.reshape(5, 9)))
    wanted = whole.explain("a", "r", "b", top=None).facts
    for run in (slots, flat):
        assert run.explain("a", "r", "b", top=None).facts == wanted


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_takes_a_tuple_of_slots(model: str, inverse: bool) -> None:
    """Widths differ: a relation of RESCAL is a matrix, one of RotatE has angles only."""
    run = random_run(model, inverse=inverse, dim=3)
    assert run.config.inverse == inverse
    assert run.config.dim == 3
    for ask in random_asks(run, 4):
        check_all_facts(run, ask, "probability", 1e-12)


def test_matrices_of_rescal_may_come_as_matrices() -> None:
    rng = np.random.default_rng(0)
    matrices = 0.1 * rng.normal(size=(5, 3, 3))
    ends = 0.1 * rng.normal(size=(2, 5, 3))
    arrays = _arrays(model="rescal", relation_rows=rng.normal(size=(2, 9)))
    square = whereof.Run.from_arrays(**arrays | {"trace": (ends[0], matrices, ends[1])})
    check_all_facts(square, Ask(0, 0, 1, range(4)), "probability", 1e-12)


def test_a_memory_mapped_trace_stays_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "trace.npy", _arrays()["trace"])
    trace = np.load(tmp_path / "trace.npy", mmap_mode="r")
    run = whereof.Run.from_arrays(**_arrays(trace=trace))
    assert np.shares_memory(run.trace, trace)
    wanted = whereof.Run.from_arrays(**_arrays()).explain("a", "r", "b", top=None)
    assert run.explain("a", "r", "b", top=None).facts == wanted.facts


@pytest.mark.parametrize("order", ["fortran", "strided", "big-endian"])
def test_arrays_may_lie_in_memory_as_they_like(order: str) -> None:
    def laid(array: Any) -> Any:
        if order == "fortran":
            return np.asfortranarray(array)
        if order == "strided":
            return np.repeat(array, 2, axis=0)[::2]
        return array.astype(array.dtype.newbyteorder(">"))

    arrays = _arrays()
    names = ("facts", "entity_rows", "relation_rows")
    changed = {name: laid(arrays[name]) for name in names}
    changed["trace"] = laid(arrays["trace"].reshape(5, 9))
    wanted = whereof.Run.from_arrays(**arrays).explain("a", "r", "b", top=None)
    found = whereof.Run.from_arrays(**arrays | changed).explain("a", "r", "b", top=None)
    assert found.facts == wanted.facts


def test_lists_will_do() -> None:
    arrays = {
        name: value.tolist() if isinstance(value, np.ndarray) and name != "trace" else value
        for name, value in _arrays().items()
    }
    run = whereof.Run.from_arrays(**arrays)
    assert run.entity_rows.dtype == np.float64
    check_all_facts(run, Ask(0, 0, 1, range(4)), "probability", 1e-12)


def test_names_are_their_texts() -> None:
    run = whereof.Run.from_arrays(**_arrays(entities=[10, 20, 30, 40], relations=[1, 2]))
    wanted = whereof.Run.from_arrays(**_arrays()).explain("a", "r", "b", top=None)
    for names in ((10, 1, 20), ("10", "1", "20")):
        found = run.explain(*names, top=None)
        assert found.prediction.subject == "10"
        assert [fact.influence for fact in found.facts] == [f.influence for f in wanted.facts]


def test_names_may_be_arrays() -> None:
    names = {"entities": np.array(["a", "b", "c", "d"]), "relations": np.array(["r", "q"])}
    run = whereof.Run.from_arrays(**_arrays(**names))
    assert run.dataset.relations.names == ("r", "q")
    wanted = whereof.Run.from_arrays(**_arrays()).explain("a", "r", "b", top=None)
    assert run.explain("a", "r", "b", top=None).facts == wanted.facts


@pytest.mark.parametrize("slots", [False, True])
def test_more_than_double_precision_becomes_double(slots: bool) -> None:
    arrays = _arrays()
    wanted = whereof.Run.from_arrays(**arrays).explain("a", "r", "b", top=None)
    for name in ("entity_rows", "relation_rows", "trace"):
        arrays[name] = arrays[name].astype(np.longdouble)
    if slots:
        arrays["trace"] = tuple(arrays["trace"][:, i] for i in range(3))
    run = whereof.Run.from_arrays(**arrays)
    assert run.trace is not None
    assert run.entity_rows.dtype == run.trace.dtype == np.float64
    assert run.explain("a", "r", "b", top=None).facts == wanted.facts


def test_no_held_out_facts_may_be_an_empty_list() -> None:
    run = whereof.Run.from_arrays(**_arrays(valid=[], test=np.zeros((0, 3))))
    assert (run.info()["n_valid"], run.info()["n_test"]) == (0, 0)


def test_labels_may_be_a_series() -> None:
    run = whereof.Run.from_arrays(**_arrays(labels=pd.Series({"a": "Egypt"})))
    assert run.explain("Egypt", "r", "b").prediction.subject == "a"


def test_labels_are_shown_and_found() -> None:
    run = whereof.Run.from_arrays(**_arrays(labels={"a": "Egypt", "r": "embassy"}))
    found = run.explain("Egypt", "embassy", "b")
    assert found.prediction.subject == "a"
    labels = {"subject": "Egypt", "relation": "embassy", "object": "b"}
    assert found.prediction.labels.items() >= labels.items()


def test_without_a_trace_there_is_no_rollback_but_other_methods() -> None:
    run = whereof.Run.from_arrays(**_arrays(trace=None))
    assert run.trace is None
    with pytest.raises(whereof.WhereofError, match="other software trained it: record a trace"):
        run.explain("a", "r", "b", method="rollback")
    found = run.explain("a", "r", "b", top=None)
    assert (found.method, found.n_adjacent) == ("gradient-dot", 4)
    assert found.notes[-1].startswith("gradient-dot is the default for this run: ")


def test_what_needs_a_trace_suggests_no_method_that_it_refuses(tmp_path: Path) -> None:
    run = whereof.Run.from_arrays(**_arrays(trace=None))
    with pytest.raises(whereof.WhereofError, match=r"record a trace there$"):
        run.impact(0)
    own = whereof.train("nations", out=tmp_path / "run", dim=4, epochs=1, trace=False, search=False)
    with pytest.raises(whereof.WhereofError, match=r"or choose method unrolled$"):
        own.impact(0)


def test_such_a_run_predicts_and_tells_of_itself() -> None:
    run = whereof.Run.from_arrays(**_arrays())
    assert repr(run) == "Run(in memory, distmult, 5 facts)"
    info = run.info()
    assert info["n_entities"] == 4
    assert info["config"] == {
        "model": "distmult",
        "dim": 3,
        "inverse": False,
        "precision": "float64",
        "loss": "softmax",
        "trace": True,
    }
    assert len(run.predict("a", "r", top=None).answers) == 4


def test_two_way_facts_are_pairs() -> None:
    run = random_run("mf", inverse=False)
    assert run.dataset.two_way
    assert run.explain("e0", "e1").prediction.relation is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "distmul"}, "unknown model 'distmul'; did you mean 'distmult'"),
        (
            {"model": "mf"},
            "model mf takes facts of two columns, without a relation, and these have one",
        ),
        (
            {"relations": None, "relation_rows": np.zeros((1, 3))},
            "with a relation, and these have none; choose another model, such as mf",
        ),
        ({"relations": []}, "model distmult takes facts of three columns, with a relation"),
        ({"entities": ["a", "b", "c"]}, "4 rows for 3 entities"),
        ({"entities": ["a", "b", "c", "a"]}, "entities has a name twice"),
        ({"relations": ["r", "r"]}, "relations has a name twice"),
        ({"entity_rows": np.zeros(4)}, r"entity_rows has shape \(4,\)"),
        ({"entity_rows": np.full((4, 3), np.nan)}, "entity_rows has numbers that are not finite"),
        ({"entity_rows": np.ma.masked_less(np.ones((4, 3)), 2)}, "has masked numbers"),
        (
            {"relation_rows": np.zeros((2, 4))},
            "2 rows of width 4 for 2 relations",
        ),
        ({"relation_rows": np.zeros((3, 3))}, "3 rows of width 3 for 2 relations"),
        ({"relation_rows": None}, "relation_rows has 0 rows of width 3 for 2 relations"),
        ({"model": "complex"}, "entity_rows has width 3, which is impossible for complex"),
        ({"facts": np.zeros((5, 3))}, "facts is float64"),
        ({"facts": [(0, 0, 1), (0, 1)]}, "facts has rows of several lengths"),
        ({"valid": [("a", "r", "b")]}, "valid is <U1 of shape"),
        ({"test": [0, 0, 1]}, r"test is int64 of shape \(3,\)"),
        ({"facts": np.zeros((5, 4), int)}, r"of shape \(5, 4\); give \(n, 3\)"),
        ({"facts": np.zeros((5, 2), int)}, r"of shape \(5, 2\); give \(n, 3\)"),
        ({"facts": np.array([[0, 0, 4]] * 5)}, "4"),
        ({"facts": np.array([[-1, 0, 1]] * 5)}, "-1"),
        ({"facts": np.array([[0, 2, 1]] * 5)}, "relation id 2 is not one of 0 to 1"),
        ({"facts": np.array([[1 << 32, 0, 1]] * 5)}, "4294967296"),
        ({"trace": np.zeros((6, 3, 3))}, "belongs to other data or another model"),
        ({"trace": np.zeros((5, 3, 4))}, "belongs to other data or another model"),
        ({"trace": np.zeros((5, 4, 3))}, "belongs to other data or another model"),
        ({"trace": np.zeros(())}, "trace"),
        ({"trace": (np.zeros((5, 3)),) * 2}, "belongs to other data or another model"),
        ({"trace": (np.zeros((5, 3)),) * 4}, "belongs to other data or another model"),
        ({"trace": (np.zeros((4, 3)),) * 3}, "belongs to other data or another model"),
        ({"loss": "hinge"}, "unknown loss 'hinge'"),
        ({"entities": ["a", None, "c", "d"]}, "entities has None at position 1; give every row"),
        ({"entities": ["a", "b", np.nan, "d"]}, "entities has nan at position 2"),
        ({"relations": ["r", " "]}, "relations has ' ' at position 1"),
        ({"entities": pa.array(["a", "b", "c", None])}, "entities has None at position 3"),
        ({"retrain": "train"}, "retrain is 'train'; give your training function"),
        ({"entities": {"d": 3, "a": 0, "b": 1, "c": 2}}, "entities is a dict; give a list"),
        ({"relations": {"r", "q"}}, "relations is a set; give a list"),
        ({"entities": ["a", "b", "c", "\ud800"]}, "which is not text"),
        ({"labels": {"a": "\ud800"}}, "which is not text"),
        ({"labels": {"a": 5}}, "entity label 5 for 'a'; give both as text"),
        ({"trace": (1, 2, 3)}, "the trace is 3 slots of"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(whereof.WhereofError, match=message) as caught:
        whereof.Run.from_arrays(**_arrays(**changes))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("number", [np.nan, 1e308])
def test_a_trace_that_is_not_finite_is_noticed_by_all_that_read_it(number: float) -> None:
    run = whereof.Run.from_arrays(**_arrays(trace=np.full((5, 3, 3), number)))
    with pytest.raises(whereof.WhereofError, match="influences are not finite"):
        run.explain("a", "r", "b")
    with pytest.raises(whereof.WhereofError, match="influences are not finite"):
        run.impact(0, predictions="true", split="train")
    with pytest.raises(whereof.WhereofError, match="influences are not finite"):
        run.audit()


def test_slots_in_the_wrong_place_are_noticed() -> None:
    """As many numbers as are needed, but not (n, 3, width)."""
    arrays = _arrays(entity_rows=np.zeros((4, 4)), relation_rows=np.zeros((2, 4)))
    with pytest.raises(whereof.WhereofError, match=r"\(5, 4, 3\)"):
        whereof.Run.from_arrays(**arrays | {"trace": np.zeros((5, 4, 3))})


def test_however_many_slots_are_given_the_line_stays_short() -> None:
    """A trace as nested lists looks like one slot a fact."""
    trace = np.zeros((200, 3, 3)).tolist()
    with pytest.raises(
        whereof.WhereofError, match="belongs to other data or another model"
    ) as caught:
        whereof.Run.from_arrays(**_arrays(trace=trace))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("form", ["slots", "tuple", "flat"])
def test_of_users_and_items_only_items_compete(form: str) -> None:
    rng = np.random.default_rng(0)
    trace = rng.normal(scale=0.1, size=(3, 2, 4))
    run = whereof.Run.from_arrays(
        model="mf",
        entities=["1", "2", "3", "1", "2"],  # user 1 is not item 1
        facts=[(0, 3), (1, 3), (2, 4)],
        entity_rows=rng.normal(size=(5, 4)),
        trace={"slots": trace, "tuple": tuple(trace.swapaxes(0, 1)), "flat": trace.reshape(3, 8)}[
            form
        ],
        n_subjects=3,
    )
    explanation = run.explain("1", "_", top=None)
    assert explanation.prediction.n_candidates == 2
    assert explanation.prediction.object == "2"
    assert [fact.fact_id for fact in explanation.facts if "object" in fact.parts] == [2]
    np.testing.assert_array_equal(run.trace, trace.reshape(3, 8))


def test_a_run_may_have_no_facts_to_explain_by() -> None:
    empty = {"facts": np.zeros((0, 3), int), "trace": np.zeros((0, 3, 3))}
    run = whereof.Run.from_arrays(**_arrays() | empty)
    with pytest.raises(whereof.WhereofError, match="no training fact shares"):
        run.explain("a", "r", "b")


def test_facts_that_occur_twice_are_noted(tmp_path: Path) -> None:
    facts = [(0, 0, 1), (1, 0, 2), (0, 0, 1)]
    rows = np.ones((3, 2))
    run = whereof.Run.from_arrays(
        model="distmult",
        entities=["a", "b", "c"],
        relations=["r"],
        facts=facts,
        valid=[(2, 0, 0)],
        test=[(1, 0, 2), (2, 0, 1)],
        entity_rows=rows,
        relation_rows=rows[:1],
    )
    assert run.dataset.n_facts == len(facts)
    notes = [
        "facts: 1 duplicate; every fact keeps its own id",
        "test: 1 of 2 facts can also be found in training, so the metrics look too good",
    ]
    assert run.info()["notes"] == notes
    assert run.save(tmp_path / "run").info()["notes"] == notes


def test_more_subjects_than_entities_are_refused() -> None:
    with pytest.raises(whereof.WhereofError, match="n_subjects is 9; choose 1 to 3"):
        whereof.Run.from_arrays(**_arrays(), n_subjects=9)
