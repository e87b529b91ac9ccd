"""Many queries: the same answers as one at a time, in order, computed while iterating."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from trained import train

import whereof
from whereof.models import MODELS
from whereof.models.scoring import Scorer
from whereof.predict.answers import predict, predict_many
from whereof.predict.prediction import find_prediction

NAMES = [
    ("egypt", "embassy"),
    ("_", "embassy", "usa"),
    ("egypt", "embassy", "cuba"),
    ("usa", "treaties", "_"),
    (None, "students", "india"),
]
TWO_WAY = [name for name, model in MODELS.items() if model.two_way]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


@pytest.mark.parametrize("top", [1, 5, None])
@pytest.mark.parametrize("new", [False, True])
def test_the_answers_are_those_of_one_query(run: whereof.Run, new: bool, top: int | None) -> None:
    answers = list(run.predict_many(NAMES, top=top, new=new))
    assert answers == [run.predict(*names, top=top, new=new) for names in NAMES]


@pytest.mark.parametrize("model", TWO_WAY)
def test_the_answers_are_those_of_one_two_way_query(tmp_path: Path, model: str) -> None:
    (tmp_path / "ratings.tsv").write_text("ann\tjaws\nann\tup\nbob\tup\nbob\tbig\ncy\tjaws\n")
    run = whereof.train(
        tmp_path / "ratings.tsv", out=tmp_path / "run", model=model, dim=3, inverse=True
    )
    queries = [("ann",), ("_", "up"), ("bob", "jaws"), ("cy", None)]
    answers = list(run.predict_many(queries))
    assert answers == [run.predict(*names) for names in queries]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads_gives_the_same(run: whereof.Run, threads: int) -> None:
    data = run.dataset
    names = [data.fact_names(fact)[: 2 + i % 2] for i, fact in enumerate(data.test)]
    answers = list(predict_many(run._trained, names, 3, threads))
    assert answers == [run.predict(*each, top=3) for each in names]


def test_queries_are_read_as_answers_are_taken(run: whereof.Run) -> None:
    taken = 0

    def endless() -> Iterator[tuple[str, str]]:
        nonlocal taken
        while True:
            taken += 1
            yield "egypt", "embassy"

    answers = run.predict_many(endless())
    assert taken == 0
    assert len(list(islice(answers, 3))) == 3
    assert 3 <= taken < 10_000


def test_ties_stand_in_the_order_of_ids(run: whereof.Run) -> None:
    rows = run.entity_rows
    same = Scorer(run.model, rows * 0, run.relation_rows)
    asked = find_prediction(run._trained, ("egypt", "embassy"), query=True)
    found = predict(replace(run._trained, scorer=same), asked, 4)
    assert [answer.entity for answer in found.answers] == list(run.dataset.entities.names[:4])
    assert {answer.rank for answer in found.answers} == {1}


def test_top_may_be_a_number_of_numpy(run: whereof.Run) -> None:
    assert run.predict(*NAMES[0], top=np.int64(2)) == run.predict(*NAMES[0], top=2)


@pytest.mark.parametrize("top", [0, -1, 2.5, True])
def test_a_bad_top_is_refused_at_once(run: whereof.Run, top: object) -> None:
    with pytest.raises(whereof.WhereofError, match=r"top is .*; give a (whole )?number"):
        run.predict_many(NAMES, top=top)


def test_a_bad_query_does_not_lose_the_others(run: whereof.Run) -> None:
    queries = [NAMES[0], ("egipt", "embassy"), ("egypt",), NAMES[1]]
    found = list(run.predict_many(queries))
    assert [found[0], found[3]] == [run.predict(*names) for names in NAMES[:2]]
    for line, bad in ((2, found[1]), (3, found[2])):
        assert isinstance(bad, whereof.Failed)
        assert (bad.line, bad.prediction) == (line, queries[line - 1])
    assert "egypt" in found[1].message
    assert "a query is SUBJECT RELATION, _ RELATION OBJECT or" in found[2].message


def test_a_text_is_one_name_and_is_never_taken_apart(tmp_path: Path, run: whereof.Run) -> None:
    (refused,) = run.predict_many(["12"])
    assert isinstance(refused, whereof.Failed)
    assert refused.prediction == ("12",)
    (tmp_path / "ratings.tsv").write_text("1\t5\n1\t6\n12\t6\n12\t7\n13\t5\n")
    rated = whereof.train(tmp_path / "ratings.tsv", out=tmp_path / "run", model="mf", dim=3)
    assert list(rated.predict_many(["12", "13"])) == [rated.predict("12"), rated.predict("13")]
    (explained,) = run.explain_many(["12"])
    assert isinstance(explained, whereof.Failed)
