"""Which predictions are evaluated: top answers, true facts, files, limits, seeds."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from trained import train

import whereof
from evaluate.helpers import Naive, case_of
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.sample import pick
from whereof.retrain.methods.unrolled import Unrolled


@pytest.fixture(scope="module")
def run(nations: whereof.Run) -> whereof.Run:
    return nations


@pytest.fixture(scope="module")
def inverse(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


def picked(run: whereof.Run, **options: object) -> list[tuple[int, int, int]]:
    with case_of(run) as case:
        sample = pick(case, EvaluateOptions.from_dict(options))
        return [(each.subject, each.relation, each.object) for each in sample.predictions]


def test_top_is_the_top_new_answer_of_every_query(run: whereof.Run) -> None:
    found = picked(run)
    assert found == Naive(run).top_predictions()
    assert len(found) == 143  # of 201 test facts
    known = {*map(tuple, run.dataset.train.tolist()), *map(tuple, run.dataset.valid.tolist())}
    assert not known & set(found)


def test_true_is_the_split_itself(run: whereof.Run) -> None:
    assert picked(run, predictions="true") == [*map(tuple, run.dataset.test.tolist())]
    valid = list(dict.fromkeys(map(tuple, run.dataset.valid.tolist())))
    assert picked(run, predictions="true", split="valid") == valid


def test_a_limit_draws_by_the_seed_and_keeps_the_order(run: whereof.Run) -> None:
    everything = picked(run)
    found = picked(run, limit=20, seed=1)
    places = [everything.index(each) for each in found]
    assert len(places) == 20
    assert places == sorted(places)
    assert places != list(range(20))
    assert picked(run, limit=20, seed=1) == found
    assert picked(run, limit=20, seed=2) != found
    assert picked(run, limit=1000) == everything


def test_predictions_may_be_chosen_by_how_many_facts_are_adjacent(run: whereof.Run) -> None:
    def n_adjacent(s: int, r: int, o: int) -> int:
        facts = run.dataset.train
        ends = np.isin(facts[:, [0, 2]], [s, o]).any(axis=1)
        return int((ends | (facts[:, 1] == r)).sum())

    everything = picked(run)
    wanted = [each for each in everything if 450 <= n_adjacent(*each) <= 500]
    assert 5 < len(wanted) < len(everything)
    assert picked(run, least_adjacent=450, most_adjacent=500) == wanted
    drawn = picked(run, least_adjacent=450, most_adjacent=500, limit=5)
    assert len(drawn) == 5
    assert set(drawn) < set(wanted)
    counts = [n_adjacent(*each) for each in everything]
    they_have = f"they have {min(counts)} to {max(counts)}"
    with pytest.raises(whereof.WhereofError, match=f"has 0 to 3 adjacent facts; {they_have}"):
        picked(run, most_adjacent=3)
    with pytest.raises(whereof.WhereofError, match="no prediction has 2000 or more adjacent facts"):
        picked(run, least_adjacent=2000)


def test_the_same_queries_are_drawn_from_every_model(run: whereof.Run, tmp_path: Path) -> None:
    other = train(tmp_path / "other", seed=8)
    mine, others = picked(run, limit=30), picked(other, limit=30)
    assert [each[:2] for each in mine] == [each[:2] for each in others]
    assert mine != others  # each its own answers


def test_a_file_is_read_as_explain_reads_it(run: whereof.Run, tmp_path: Path) -> None:
    path = tmp_path / "asked.tsv"
    path.write_text("egypt\tembassy\tuk\n\nburma\tembassy\t_\negypt\tembassy\tuk\n")
    found = picked(run, predictions=str(path))
    names = [Naive(run).names(each) for each in found]
    assert names[0] == ("egypt", "embassy", "uk")
    top = run.predict("burma", "embassy", top=1, new=True).answers[0].entity
    assert names[1:] == [("burma", "embassy", top)]


def test_a_bad_line_is_named(run: whereof.Run, tmp_path: Path) -> None:
    path = tmp_path / "asked.csv"
    path.write_text("egypt,embassy,uk\negypt,embassi,uk\n")
    with pytest.raises(whereof.WhereofError, match=r"asked\.csv:2: .*embassi.*embassy"):
        picked(run, predictions=str(path))
    with pytest.raises(whereof.WhereofError, match=r"nowhere\.tsv"):
        picked(run, predictions=str(tmp_path / "nowhere.tsv"))


def test_runs_with_inverse_relations_are_asked_for_objects(
    inverse: whereof.Run, tmp_path: Path
) -> None:
    with case_of(inverse) as case:
        sample = pick(case, EvaluateOptions(limit=5))
        assert {each.asks for each in sample.predictions} == {"object"}
        path = tmp_path / "asked.tsv"
        path.write_text("_\tembassy\tuk\n")
        sample = pick(case, EvaluateOptions(predictions=str(path)))
    assert [each.asks for each in sample.predictions] == ["subject"]
    found = inverse.evaluate(predictions=path, k="1", protocols="removal")
    assert {row.asks for row in found.retrainings} == {"subject"}
    assert {row.object for row in found.retrainings} == {"uk"}
    assert found.control_matches_run


def test_two_way_runs_leave_the_relation_out(ratings: whereof.Run, tmp_path: Path) -> None:
    run = ratings
    path = tmp_path / "asked.tsv"
    path.write_text("u0\tm2\n")
    entities = run.dataset.entities
    assert picked(run, predictions=str(path)) == [(entities.find("u0"), 0, entities.find("m2"))]
    with pytest.raises(whereof.WhereofError, match="split test of this run has no facts"):
        picked(run, split="test")


def test_unless_it_is_named_the_split_is_the_first_with_facts(ratings: whereof.Run) -> None:
    found = ratings.evaluate(protocols="steadiness", removals=1, limit=2)  # only train has facts
    assert (found.split, found.options["split"]) == ("train", "train")
    assert "(top new answers of train)" in found.heading()[1]


def test_queries_without_a_new_answer_are_passed_over(tmp_path: Path) -> None:
    names = ["a", "b", "c"]
    every = [(s, "r", o) for s in names for o in names]
    folder = tmp_path / "data"
    folder.mkdir()
    for split, facts in {
        "train": [fact for fact in every if fact != ("b", "r", "c")],
        "valid": [("a", "r", "b")],
        "test": [("b", "r", "c"), ("a", "r", "c")],
    }.items():
        lines = ["\t".join(fact) + "\n" for fact in facts]
        (folder / f"{split}.txt").write_text("".join(lines))
    run = whereof.train(folder, out=tmp_path / "run", model="distmult", dim=3, epochs=2)
    assert [Naive(run).names(each) for each in picked(run)] == [("b", "r", "c")]
    assert len(picked(run, limit=1)) == 1
    (tmp_path / "asked.tsv").write_text("a\tr\t_\n")
    with pytest.raises(whereof.WhereofError, match=r"asked\.tsv:1: every answer is known"):
        picked(run, predictions=str(tmp_path / "asked.tsv"))


def test_all_predictions_share_one_sweep(
    inverse: whereof.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept, prepare = list[int](), Unrolled.prepare

    def counted(
        self: Unrolled, trained: object, predictions: list[object], *given: object
    ) -> object:
        swept.append(len(predictions))
        return prepare(self, trained, predictions, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Unrolled, "prepare", counted)
    with case_of(inverse) as case:
        sample = pick(case, EvaluateOptions(limit=3))
        sample.rank("unrolled", 2)
        assert swept == [len(sample)] == [3]
        assert sample.seconds["unrolled"] > 0


def test_the_time_to_read_what_is_stored_is_no_time_of_a_method(
    inverse: whereof.Run, tmp_path: Path
) -> None:
    run = whereof.Run.open(shutil.copytree(inverse.file(""), tmp_path / "copy"))
    shutil.rmtree(tmp_path / "copy" / "prepared", ignore_errors=True)
    with case_of(run) as case:
        first = pick(case, EvaluateOptions(limit=3))
        first.only([0]).rank("unrolled", 2)
        assert first.seconds["unrolled"] > 0
        again, part = (pick(case, EvaluateOptions(limit=3)) for _ in range(2))
        again.only([0]).rank("unrolled", 2)
        assert again.seconds == first.seconds
        part.rank("unrolled", 2)  # one of three is stored
        assert part.seconds == {}
