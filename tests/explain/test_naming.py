"""From names to predictions, candidates and facts."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from trained import train, train_numbers

import whereof
from explain.helpers import check_all_facts, random_asks, random_run
from explain.oracle import Ask
from whereof.explain.facts import find_facts
from whereof.explain.options import ExplainOptions


@pytest.fixture(scope="module")
def nations(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


@pytest.mark.parametrize("asks", ["object", "subject"])
@pytest.mark.parametrize("model", ["distmult", "transe", "rotate"])
def test_named_candidates_alone_compete(model: str, asks: str) -> None:
    run = random_run(model, n_entities=9)
    for listed in ([0, 1], [5, 2, 7, 1], [*range(9)]):
        for given in (1, 4):
            ends = (given, 1) if asks == "object" else (1, given)
            ask = Ask(ends[0], 0, ends[1], sorted(listed), asks)
            for candidates in (
                [f"e{entity}" for entity in listed],
                ", ".join(f"e{entity}" for entity in listed),
            ):
                check_all_facts(run, ask, "probability", 1e-12, candidates=candidates)


def test_words_for_candidates(tmp_path: Path) -> None:
    films = {"user": ["u0", "u0", "u1", "u1", "u2", "u3"], "item": [*"aba", *"cbc"]}
    run = whereof.train(films, out=tmp_path / "run", model="mf", dim=2, epochs=3, rate=0.1)
    for word, ids in (("objects", range(4, 7)), ("entities", range(7)), ("seen", range(4, 7))):
        check_all_facts(run, Ask(0, 0, 5, ids), "probability", 1e-6, candidates=word)
    with pytest.raises(whereof.WhereofError, match="'b' is not among the 4 candidates"):
        run.explain("u0", "b", candidates="subjects")


def test_candidates_seen_with_the_relation(nations: whereof.Run) -> None:
    data = nations.dataset
    for ask in random_asks(nations, 20):
        column = 2 if ask.asks == "object" else 0
        seen = sorted(set(data.train[data.train[:, 1] == ask.relation][:, column].tolist()))
        listed = Ask(ask.subject, ask.relation, ask.object, seen, ask.asks)
        if ask.target in seen:
            check_all_facts(nations, listed, "probability", 1e-6, candidates="seen")
        else:
            names = data.fact_names((ask.subject, ask.relation, ask.object))
            with pytest.raises(whereof.WhereofError, match=f"is not among the {len(seen)}"):
                nations.explain(*names, asks=ask.asks, candidates="seen")


@pytest.mark.parametrize("open_", ["_", None])
def test_an_open_place_stands_for_its_top_answer(nations: whereof.Run, open_: str | None) -> None:
    for subject in ("egypt", "usa", "china"):
        answer = nations.predict(subject, "embassy", top=1, new=True)
        found = nations.explain(subject, "embassy", open_).prediction
        assert found.object == found.top_answer == answer.answers[0].entity
        assert (found.rank, found.asks) == (1, "object")
    found = nations.explain(open_, "embassy", "usa").prediction
    assert (found.rank, found.asks, found.subject) == (1, "subject", found.top_answer)
    assert found == nations.explain(found.subject, "embassy", "usa", asks="subject").prediction


def test_probabilities_and_ranks_are_those_of_predicting(nations: whereof.Run) -> None:
    for answer in nations.predict("egypt", "embassy", top=None).answers:
        found = nations.explain("egypt", "embassy", answer.entity).prediction
        assert found.probability == pytest.approx(answer.probability, rel=1e-6)
        assert found.score == pytest.approx(answer.score, rel=1e-6)
        assert found.rank == answer.rank


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (("egypt", "embassy"), {}, "a prediction is SUBJECT RELATION OBJECT; got egypt embassy"),
        ((), {}, "got nothing"),
        (("egypt", "embasy", "usa"), {}, "unknown relation 'embasy'; did you mean 'embassy'"),
        (("egipt", "embassy", "usa"), {}, "unknown entity 'egipt'; did you mean 'egypt'"),
        (("_", "embassy", "_"), {}, "leave only the predicted place open"),
        (("egypt", "embassy", "_"), {"asks": "subject"}, "leave only the predicted place open"),
        (("egypt", "embassy", "usa"), {"candidates": "usa"}, "name 2 or more"),
        (("egypt", "embassy", "usa"), {"candidates": "usa,usa"}, "name 2 or more"),
        (("egypt", "embassy", "usa"), {"candidates": "uk,cuba"}, "'usa' is not among the 2"),
        (("egypt", "embassy", "usa"), {"candidates": "usa,ukk"}, "unknown entity 'ukk'"),
        (("egypt", "embassy", "usa"), {"candidates": []}, "name 2 or more"),
    ],
)
def test_names_that_cannot_be_are_said(
    nations: whereof.Run, names: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(whereof.WhereofError, match=message) as caught:
        nations.explain(*names, **options)
    assert len(str(caught.value).splitlines()) == 1


def test_a_run_without_inverse_relations_is_not_asked_for_subjects(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=1)
    for names, options in (
        (("_", "embassy", "usa"), {}),
        (("egypt", "embassy", "usa"), {"asks": "subject"}),
    ):
        with pytest.raises(whereof.WhereofError, match="train one with --inverse"):
            run.explain(*names, **options)


def test_an_open_place_whose_answers_are_all_known_is_said() -> None:
    run = whereof.Run.from_arrays(
        model="distmult",
        entities=["a", "b"],
        relations=["r"],
        facts=[[0, 0, 0], [0, 0, 1]],
        entity_rows=[[1.0], [2.0]],
        relation_rows=[[1.0]],
        trace=((0.1, 0.2), (0.1, 0.1), (0.0, 0.1)),
    )
    with pytest.raises(whereof.WhereofError, match="every answer is known"):
        run.explain("a", "r", "_")
    assert run.explain("a", "r", "b").prediction.rank == 1


@pytest.mark.parametrize(
    "spelled",
    [7, "7", [7], ["7"], "FACT", "COMMAS", ["TABS"], ["LIST"]],
)
def test_facts_by_id_or_names(nations: whereof.Run, spelled: Any) -> None:
    names = nations.dataset.fact_names(nations.dataset.train[7])
    texts = {"FACT": " ".join(names), "COMMAS": ", ".join(names), "TABS": "\t".join(names)}
    if isinstance(spelled, list) and spelled[0] == "LIST":
        spelled = [names]
    elif isinstance(spelled, list):
        spelled = [texts.get(item, item) for item in spelled]
    else:
        spelled = texts.get(spelled, spelled)
    assert find_facts(nations._trained, ExplainOptions(without=spelled).without).tolist() == [7]


def test_several_facts_in_one_text(nations: whereof.Run) -> None:
    for spelled in ("3,1,2", "3 1 2", ["3", "1,2"], [3, 1, 2, 3]):
        assert find_facts(nations._trained, spelled).tolist() == [3, 1, 2]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train_numbers(tmp_path_factory.mktemp("numbers"))


@pytest.mark.parametrize("form", ["{},{}", "{} {}", "WORDS", "LIST"])
def test_names_win_over_ids_and_a_note_says_so(
    numbers: whereof.Run, form: str, tmp_path: Path
) -> None:
    user, item = numbers.dataset.fact_names(numbers.dataset.train[20])
    text = form.format(user, item) if "{" in form else f"{user} {item}"
    given: Any = {"WORDS": (user, item), "LIST": ([user, item],)}.get(form, (text,))
    note = f"{text!r} was read as the names of a fact; to give ids, write 'id:{user} id:{item}'"
    removed = numbers.unlearn(*given, out=tmp_path / "new", measure=False)
    assert (removed.removed, removed.notes) == ((20,), (note,))
    impact = numbers.impact(*given)
    assert [it.fact_id for it in impact.facts] == [20]
    assert note in impact.notes


@pytest.mark.parametrize(
    "given", [("id:1,id:2",), ("id:1", "id:2"), (1, 2), ([1, 2],), ("1,2",), ("1", "2"), ("1,2,1",)]
)
def test_ids_can_be_given_where_names_are_numbers(numbers: whereof.Run, given: Any) -> None:
    """No user 1 clicked item 2."""
    found = numbers.impact(*given)
    assert [it.fact_id for it in found.facts] == [1, 2]
    assert not any("read as the names" in note for note in found.notes)


@pytest.mark.parametrize("form", ["TEXT", "TEXTS", "WORDS"])
def test_options_for_facts_take_numbers_as_ids(numbers: whereof.Run, form: str) -> None:
    """Also if they are the names of a fact: `--without 12,608` removes two facts."""
    names = numbers.dataset.fact_names(numbers.dataset.train[20])
    text = ",".join(names)
    given = {"TEXT": text, "TEXTS": [text], "WORDS": [*names]}[form]
    assert [*find_facts(numbers._trained, given)] == [int(name) for name in names]
    assert [*find_facts(numbers._trained, [given], names_win=True)] == [20]


@pytest.mark.parametrize("place", ["subject", "object"])
def test_a_place_tells_entities_of_one_name_apart(
    numbers: whereof.Run, place: str, tmp_path: Path
) -> None:
    data, at = numbers.dataset, 0 if place == "subject" else 1
    facts = [i for i, fact in enumerate(data.train) if data.fact_names(fact)[at] == "5"]
    name = f"{place}:5"
    removed = numbers.unlearn(entity=name, out=tmp_path / "new", measure=False)
    assert removed.removed == tuple(facts)
    user, item = data.fact_names(data.train[facts[0]])
    shown = numbers.explain(user, item, entity=name, top=None, method="rollback").facts
    assert {(it.subject, it.object)[at] for it in shown} == {"5"}
    assert numbers.card(name).place == place
    candidates = f"object:{item},object:7,object:2"
    assert numbers.explain(user, item, candidates=candidates, method="rollback").facts
    for call in (lambda: numbers.unlearn(entity="5"), lambda: numbers.card("5")):
        with pytest.raises(whereof.WhereofError, match="write subject:5 or object:5"):
            call()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("word", ["WORDS", "TUPLE", "LIST", "TEXT", "IDS", "FRAME", "ARROW"])
def test_impact_and_unlearn_name_facts_alike(
    nations: whereof.Run, word: str, tmp_path: Path
) -> None:
    data, frame = nations.dataset, pd.DataFrame({"fact_id": [7, 9]})
    seven, nine = (data.fact_names(data.train[fact]) for fact in (7, 9))
    given: Any = {
        "WORDS": seven,
        "TUPLE": (seven,),
        "LIST": ([seven, nine],),
        "TEXT": (",".join(seven), " ".join(nine)),
        "IDS": (7, 9),
        "FRAME": (frame,),
        "ARROW": (pa.Table.from_pandas(frame),),
    }[word]
    wanted = (7,) if word in ("WORDS", "TUPLE") else (7, 9)
    assert nations.unlearn(*given, out=tmp_path / "new", measure=False).removed == wanted
    assert tuple(it.fact_id for it in nations.impact(*given).facts) == wanted


def test_the_records_of_an_audit_name_facts(nations: whereof.Run, tmp_path: Path) -> None:
    found = nations.audit(top=3).suspicious
    wanted = sorted(it.fact_id for it in found)
    assert nations.unlearn(found, out=tmp_path / "new", measure=False).removed == tuple(wanted)
    assert sorted(it.fact_id for it in nations.impact(*found).facts) == wanted


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("egypt", "embasy", "usa"), "unknown relation 'embasy'; did you mean 'embassy'"),
        (("egypt", "usa"), "'egypt usa' is not a fact; give its id, or SUBJECT,RELATION,OBJECT"),
        ((7.5,), "7.5 is not a fact; give its id, or SUBJECT,RELATION,OBJECT"),
        ((-1,), "no fact has id -1; ids go from 0 to"),
        (
            (pd.DataFrame({"id": range(99)}),),
            "has no column fact_id, only .'id'.; rename the column",
        ),
    ],
)
def test_what_names_no_fact_is_said(nations: whereof.Run, given: Any, message: str) -> None:
    for call in (nations.impact, nations.unlearn):
        with pytest.raises(whereof.WhereofError, match=message) as caught:
            call(*given)
        assert len(str(caught.value).splitlines()) == 1
