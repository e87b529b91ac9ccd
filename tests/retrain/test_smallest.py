"""The smallest set of facts that changes an answer, checked by retraining by hand."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from listening import Recorded
from trained import train, train_copies

import whereof
from retrain.by_hand import check_stand, stands_without
from whereof.errors import Interrupted
from whereof.events import Planned

QUERIES = [("egypt", "embassy"), ("uk", "treaties"), ("burma", "ngo"), ("china", "exports3")]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("smallest") / "run", inverse=True)


@pytest.mark.parametrize("query", QUERIES, ids="-".join)
def test_the_set_changes_the_answer_and_no_fact_can_be_left_out(
    run: whereof.Run, query: tuple[str, str]
) -> None:
    found = run.smallest(*query, None, budget=40)
    names = (*query, found.prediction.object)
    assert found.found
    assert found.n_retrainings <= 40
    assert (
        found.before.top_answer
        == found.prediction.object
        == run.predict(*query, top=1, new=True).answers[0].entity
    )
    check_stand(found.before, stands_without(run, [], names))
    check_stand(found.actual, stands_without(run, found.removed, names))
    assert found.actual.top_answer != found.before.top_answer
    assert sorted(fact.fact_id for fact in found.facts) == sorted(found.removed)
    for fact in found.facts:
        assert fact.alone is not None
        check_stand(fact.alone, stands_without(run, [fact.fact_id], names))
        others = [other for other in found.removed if other != fact.fact_id]
        if found.minimal and others:
            kept = stands_without(run, others, names)
            assert kept["top_answer"] == found.before.top_answer
            assert fact.kept is not None
            check_stand(fact.kept, kept)
    removed = list(found.removed)
    predicted = run.explain(*names, method=found.method, without=removed).without
    assert predicted is not None
    assert found.predicted is not None
    assert found.predicted.top_answer == predicted.top_answer
    assert found.predicted.probability == pytest.approx(predicted.probability)


@pytest.mark.parametrize("query", [("india", "intergovorgs"), ("ussr", "relngo")], ids="-".join)
def test_the_new_top_answer_is_among_the_top_answers(
    run: whereof.Run, query: tuple[str, str]
) -> None:
    found = run.smallest(*query, None, budget=12)
    assert found.found
    assert found.n_retrainings <= 12
    (top,) = (each for each in found.top_answers if each.entity == found.actual.top_answer)
    assert top.rank_actual == 1
    after = stands_without(run, found.removed, (*query, top.entity))
    assert top.actual == pytest.approx(after["probability"], rel=1e-5)


def test_asking_again_retrains_nothing_and_says_the_same(run: whereof.Run) -> None:
    first = run.smallest("egypt", "embassy", None, budget=30).to_dict()
    events = Recorded()
    again = run.smallest("egypt", "embassy", None, budget=30, events=events).to_dict()
    assert not any(isinstance(event, Planned) for event in events.events)
    assert again["n_known"] == again["n_retrainings"] == first["n_retrainings"]
    for name in ("seconds", "n_known"):
        del first[name], again[name]
    assert again == first


def test_interrupted_work_continues(tmp_path: Path) -> None:
    run = train(tmp_path / "run")
    asked = partial(run.smallest, "egypt", "embassy", None, method="rollback", budget=30)
    with pytest.raises(Interrupted):
        asked(threads=1, events=Recorded(5))
    found = asked()
    assert 5 <= found.n_known < found.n_retrainings


def test_a_budget_that_is_too_small_finds_nothing_and_says_what_came_closest(
    tmp_path: Path,
) -> None:
    run = train(tmp_path / "run", epochs=30, rate=0.02)
    best = run.predict("uk", "embassy", top=1).answers[0].entity
    found = run.smallest("uk", "embassy", best, budget=2)
    assert found.found is False
    assert found.minimal is False
    assert found.n_retrainings == 2
    assert found.limit_reached
    assert len(found.removed) == 1
    assert found.actual.top_answer == found.before.top_answer
    assert "No set of facts changed the top answer" in str(found)
    rated = tuple(replace(fact, rating=4.0) for fact in found.facts)
    same = str(replace(found, facts=rated, actual=found.before))
    assert "No set of ratings changed the top answer" in same
    assert f"of {found.before.top_label} stays at " in same


def test_a_search_says_whether_its_limit_ended_it(run: whereof.Run) -> None:
    queries = [("egypt", "embassy"), ("egypt", "timesinceally"), ("egypt", "exports3")]
    found = [run.smallest(*query, None, budget=30) for query in queries]
    several = [each for each in found if each.found and len(each.removed) > 1]
    assert several
    for each in found:
        single = each.found and len(each.removed) == 1
        assert each.limit_reached == (not single and each.n_retrainings == 30)
        limited = each in several and each.limit_reached
        said = "reached its limit after 30 retrainings: this is the smallest set found so far"
        assert (said in str(each)) == limited
    (one, *_) = several
    assert "limit" not in str(replace(one, limit_reached=False))
    assert said in str(replace(one, limit_reached=True, n_retrainings=30))


def test_an_answer_that_is_not_on_top_is_replaced_by_the_one_that_is(run: whereof.Run) -> None:
    answers = run.predict("egypt", "embassy", top=None, new=True).answers
    found = run.smallest("egypt", "embassy", answers[2].entity, budget=5)
    assert found.prediction.object == answers[0].entity
    assert f"{answers[2].entity} is not the top answer" in found.notes[0]


@pytest.mark.parametrize("method", ["rollback", "gradient-dot", "criage"])
def test_any_method_that_estimates_can_rank_facts(run: whereof.Run, method: str) -> None:
    found = run.smallest("egypt", "embassy", None, method=method, budget=10)
    assert found.method == method
    assert found.n_retrainings <= 10


@pytest.mark.parametrize("method", ["random", "retrain", "verified"])
def test_methods_without_estimates_are_refused(run: whereof.Run, method: str) -> None:
    with pytest.raises(whereof.WhereofError, match=f"{method} cannot rank facts .* rollback"):
        run.smallest("egypt", "embassy", None, method=method)


def test_subjects_ratings_and_runs_without_a_trace(run: whereof.Run, tmp_path: Path) -> None:
    subject = run.smallest("_", "embassy", "usa", budget=12)
    assert subject.prediction.asks == "subject"
    lines = [
        f"u{u}\tm{i}\t{1 + (u * i + u) % 5}\n" for u in range(6) for i in range(8) if (u + i) % 3
    ]
    (tmp_path / "ratings.tsv").write_text("".join(lines))
    settings = {"columns": "1,2", "rating": "3", "model": "mf-biased", "dim": 2, "epochs": 20}
    rated = whereof.train(tmp_path / "ratings.tsv", out=tmp_path / "rated", **settings)
    found = rated.smallest("u0", None, budget=20)
    assert found.before.probability is None
    assert (found.actual.top_answer != found.before.top_answer) == found.found
    untraced = train(tmp_path / "untraced", trace=False)
    plain = untraced.smallest("egypt", "embassy", None, method="gradient-dot", budget=6)
    assert plain.predicted is None
    assert plain.notes == ("rollback cannot estimate the set in this run",)


def test_a_role_says_what_to_remove_from_a_users_history(tmp_path: Path) -> None:
    pairs = [(u, i) for u in range(10) for i in range(12) if (u < 5) == (i < 6) and u != i]
    pairs += [(0, 7), (0, 8)]  # this user also likes items of the others
    films = {"user": [f"u{u}" for u, _ in pairs], "item": [f"m{i}" for _, i in pairs]}
    settings = {"model": "mf", "dim": 4, "epochs": 40, "optimizer": "adagrad", "rate": 0.1}
    run = whereof.train(films, out=tmp_path / "run", **settings)
    found = run.smallest("u0", None, budget=60, role="subject")
    assert "only the user's own facts were tried" in found.notes
    assert found.prediction.object == "m0"
    assert found.found
    assert {fact.subject for fact in found.facts} == {"u0"}
    assert found.actual.top_answer != "m0"
    with pytest.raises(whereof.WhereofError, match="no training fact has the role relation"):
        run.smallest("u0", None, role="relation")
    with pytest.raises(whereof.WhereofError, match="does not work with sufficient; leave it out"):
        run.sufficient("u0", None, role="subject")


def test_copies_that_replace_each_other_are_found_together(tmp_path: Path) -> None:
    """Three facts say the same: only without all of them e5 is not the answer."""
    run = train_copies(tmp_path)
    found = run.smallest("e0", "r0", None, method="rollback", budget=40)
    assert found.prediction.object == "e5"
    copies = [fact for fact in found.facts if (fact.subject, fact.object) == ("e0", "e5")]
    assert len(copies) == 3
    assert {fact.alone.top_answer for fact in copies if fact.alone} == {"e5"}
    (group,) = (it for it in found.interchangeable if len(it.fact_ids) == 3)
    assert {*group.fact_ids} == {fact.fact_id for fact in copies}
    assert group.fall > 2 * group.sum_of_single
    assert "replace each other" in str(found)
    assert "replace each other" in found._repr_html_()


def test_copies_are_tried_as_a_whole(tmp_path: Path) -> None:
    run = train_copies(tmp_path)
    found = run.smallest("e0", "r0", None, method="rollback", budget=40, role="subject")
    assert {(fact.subject, fact.object) for fact in found.facts} == {("e0", "e5")}
    assert len(found.facts) == 3


def test_a_search_goes_on_until_all_allowed_facts_or_the_budget_are_used(tmp_path: Path) -> None:
    """All facts together change the answer here, also those that alone support it."""
    run = train_copies(tmp_path)
    found = run.smallest("e10", "r0", None, method="rollback", budget=40, role="object")
    assert found.found
    assert found.actual.top_answer != found.before.top_answer


@pytest.mark.parametrize("method", [None, "rollback", "unrolled"])
def test_json_has_no_nan_for_any_method(run: whereof.Run, method: str | None) -> None:
    found = run.smallest("egypt", "embassy", None, method=method, budget=6).to_dict()
    json.dumps(found, allow_nan=False)
    verdict = run.verify("egypt", "embassy", None, method=method or "rollback", top=2).to_dict()
    json.dumps(verdict, allow_nan=False)
