"""Many predictions: the same explanations as one at a time, in order; errors as records."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trained import train

import whereof
from whereof.explain.explain import explain_many, rank_many
from whereof.explain.explanation import Explanation
from whereof.explain.options import ExplainOptions
from whereof.predict.answers import Failed
from whereof.predict.prediction import Listed, find_predictions, list_predictions
from whereof.predict.scored import Trained

NAMES: list[tuple[str | None, ...]] = [
    ("egypt", "embassy", "usa"),
    ("egypt", "embassy", None),
    ("_", "embassy", "usa"),
    ("usa", "treaties", "cuba"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


def of_split(true: bool, trained: Trained, split: str, asks: str = "object") -> list[Listed]:
    return find_predictions(trained, "true" if true else "top", split, None, asks)


def timeless(results: Any) -> list[Any]:
    """Results without the time that they took, and the advice that only one prediction gets."""
    bare = {"seconds": 0.0, "reliability": None, "costs": (), "recommended": None}
    return [replace(r, **bare) if isinstance(r, Explanation) else r for r in results]


@pytest.mark.parametrize(
    "options", [{}, {"top": "all"}, {"candidates": "seen"}, {"of": "score", "opposing": True}]
)
def test_the_explanations_are_those_of_one_prediction(
    run: whereof.Run, options: dict[str, Any]
) -> None:
    expected = [run.explain(*names, method="rollback", **options) for names in NAMES]
    assert timeless(run.explain_many(NAMES, **options)) == timeless(expected)


@pytest.mark.parametrize("top", [3, "all", None])
@pytest.mark.parametrize("method", ["rollback", "random"])
def test_ids_alone_are_those_of_explanations(
    run: whereof.Run, method: str, top: int | str | None
) -> None:
    options = ExplainOptions(method=method, top=top)
    explained = explain_many(run._trained, list_predictions(NAMES), options)
    ranked = rank_many(run._trained, list_predictions(NAMES), options)
    for whole, alone in zip(explained, ranked, strict=True):
        assert not isinstance(whole, Failed)
        assert not isinstance(alone, Failed)
        assert alone.chosen.tolist() == [fact.fact_id for fact in whole.facts]
        assert alone.influences.tolist() == [fact.influence for fact in whole.facts]
        assert alone.notes == whole.notes


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads_gives_the_same(run: whereof.Run, threads: int) -> None:
    listed = of_split(True, run._trained, "test")[:40]
    found = explain_many(run._trained, listed, ExplainOptions(top=3), threads)
    facts = run.dataset.test[:40]
    names = [run.dataset.fact_names(fact) for fact in facts]
    expected = [run.explain(*each, top=3, method="rollback") for each in names]
    assert timeless(found) == timeless(expected)
    assert timeless(run.explain_many(names, threads=threads, top=3)) == timeless(expected)


def test_one_thread_is_one(run: whereof.Run) -> None:
    def explaining() -> int:
        return sum("ThreadPool" in thread.name for thread in threading.enumerate())

    before = explaining()
    found = run.explain_many(NAMES * 20, threads=1, top=1)
    next(found)
    assert explaining() - before == 1
    assert isinstance(list(found)[-1], whereof.Explanation)
    assert explaining() == before


def test_nations_has_143_top_predictions_and_201_true_ones(run: whereof.Run) -> None:
    listed = of_split(False, run._trained, "test")
    assert len(listed) == 143
    found = list(explain_many(run._trained, listed, ExplainOptions(top=1)))
    triples = [
        (r.prediction.subject, r.prediction.relation, r.prediction.object)
        for r in found
        if isinstance(r, Explanation)
    ]
    assert len(set(triples)) == len(triples) == 143
    queries = dict.fromkeys(run.dataset.fact_names(fact)[:2] for fact in run.dataset.test)
    assert [triple[:2] for triple in triples] == list(queries)
    assert {r.prediction.rank for r in found if isinstance(r, Explanation)} == {1}
    first = run.predict(*triples[0][:2], top=1, new=True).answers[0]
    assert first.entity == triples[0][2]
    assert len(of_split(True, run._trained, "test")) == 201


def test_subjects_may_be_asked_for(run: whereof.Run) -> None:
    pairs = {(int(r), int(o)) for _, r, o in run.dataset.valid}
    listed = of_split(False, run._trained, "valid", "subject")
    assert len(listed) == len(pairs)
    found = next(explain_many(run._trained, listed, ExplainOptions(asks="subject")))
    assert isinstance(found, Explanation)
    names = run.dataset.fact_names(run.dataset.valid[0])
    assert found.prediction.asks == "subject"
    assert (found.prediction.relation, found.prediction.object) == names[1:]


def test_a_triple_counts_once(run: whereof.Run) -> None:
    data = run.dataset
    twice = replace(data, test=np.concatenate([data.test[:5], data.test[:3]]))
    trained = replace(run._trained, dataset=twice)
    assert len(of_split(True, trained, "test")) == 5


def test_a_bad_prediction_is_a_record(run: whereof.Run) -> None:
    names = [("egypt", "embassy", "usa"), ("egyp", "embassy", "usa"), ("egypt", "usa"), NAMES[3]]
    found = list(run.explain_many(names))
    kinds = [type(result) for result in found]
    assert kinds == [Explanation, Failed, Failed, Explanation]
    assert whereof.Failed is Failed
    first, second = (result for result in found if isinstance(result, Failed))
    assert (first.line, first.prediction) == (2, ("egyp", "embassy", "usa"))
    assert "did you mean 'egypt'" in first.message
    assert second.line == 3
    assert "a prediction is SUBJECT RELATION OBJECT" in second.message


def test_a_failed_question_of_ids_has_names(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("a\tr\tb\na\tr\tc\na\tr\ta\nb\tr\tc\n")
    run = whereof.train(tmp_path / "facts.tsv", out=tmp_path / "run", dim=2, epochs=1)
    found = list(
        explain_many(run._trained, of_split(False, run._trained, "train"), ExplainOptions())
    )
    failed = next(result for result in found if isinstance(result, Failed))
    assert (failed.line, failed.prediction) == (1, ("a", "r", None))
    assert "every answer is known" in failed.message


def test_what_fails_for_all_is_refused_at_once(run: whereof.Run, tmp_path: Path) -> None:
    cases: dict[str, dict[str, Any]] = {
        "unknown relation 'embasy'": {"relation": "embasy"},
        "unknown entity 'egyp'": {"entity": ["egyp"]},
        "unknown entity 'us'": {"instead_of": "us"},
        "no fact has id 99999": {"without": 99999},
        "fewer than 2 entities": {"candidates": "egypt"},
        "threads is 0; give a number from 1 on": {"threads": 0},
    }
    for words, options in cases.items():
        with pytest.raises(whereof.WhereofError, match=words):
            run.explain_many(NAMES, **options)
    bare = train(tmp_path / "bare", trace=False)
    with pytest.raises(whereof.WhereofError, match="needs a trace"):
        bare.explain_many(NAMES)
    with pytest.raises(whereof.WhereofError, match="cannot predict subjects"):
        of_split(False, bare._trained, "test", "subject")
    with pytest.raises(whereof.WhereofError, match="unknown split 'tests'; did you mean 'test'"):
        of_split(False, run._trained, "tests")


def test_predictions_are_read_as_explanations_are_taken(run: whereof.Run) -> None:
    taken = 0

    def endless() -> Iterator[tuple[str | None, ...]]:
        nonlocal taken
        while True:
            taken += 1
            yield NAMES[0]

    found = run.explain_many(endless())
    assert taken == 0
    assert len(list(islice(found, 3))) == 3
    assert 3 <= taken < 1000
