"""An audit adds up what explanations say of every held-out fact, and checks it by retraining."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explain.helpers import random_run, sized_as_strong
from listening import Recorded
from trained import FAST, train, train_ratings

import whereof
from whereof.data.dataset import Sources
from whereof.errors import WhereofError
from whereof.events import SweepsPlanned
from whereof.explain.method import Aim
from whereof.present.audit import audit_file
from whereof.types import PLACES

STEADY = {"epochs": 8, "inverse": True, "optimizer": "adagrad", "accumulator": 0.1, "rate": 0.1}
LIMIT = 6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("audit") / "run", **STEADY)


def goals(run: whereof.Run) -> list[tuple[tuple[Any, ...], str, str, bool]]:
    """The held-out facts of an audit: names, side, strongest rival, and whether it wins."""
    data, found = run.dataset, []
    chosen = np.linspace(0, len(data.test) - 1, LIMIT).astype(int)
    for asks in ("object", "subject"):
        for fact in data.test[chosen]:
            subject, relation, object_ = data.fact_names(fact)
            true = object_ if asks == "object" else subject
            query = (subject, relation, None) if asks == "object" else (None, relation, object_)
            answers = run.predict(*query, top=None, new=True).answers
            false = [answer for answer in answers if answer.known is None]
            order = [answer.entity for answer in answers]
            wrong = order.index(false[0].entity) < order.index(true)
            found.append(((subject, relation, object_), asks, false[0].entity, wrong))
    return found


def influences(run: whereof.Run, method: str, goal: Any) -> np.ndarray[Any, Any]:
    """(n_facts,) on a margin, as an audit adds them up."""
    names, asks, rival, _ = goal
    if method == "unrolled":
        return sized_as_strong(
            run, names, Aim("log_ratio", run.dataset.entities.names.index(rival)), asks
        )
    why = run.explain(*names, asks=asks, instead_of=rival, method=method, top=None)
    found = np.zeros(run.dataset.n_facts)
    for fact in why.facts:
        found[fact.fact_id] = fact.influence
    return found


@pytest.mark.parametrize("method", ["rollback", "unrolled"])
def test_influences_are_added_up(run: whereof.Run, method: str) -> None:
    found = run.audit(method=method, limit=LIMIT, top="all")
    each = [influences(run, method, goal) for goal in goals(run)]
    wrong = [goal[3] for goal in goals(run)]
    blame = -sum(it for it, is_wrong in zip(each, wrong, strict=True) if is_wrong)
    every = np.sum(each, axis=0)
    assert found.held_out is not None
    assert (found.held_out.n_predictions, found.held_out.n_wrong) == (2 * LIMIT, sum(wrong))
    assert len(found.blamed) == (blame > 0).sum()
    scale = np.abs(every).max()
    for fact in found.blamed[::50]:
        assert fact.blame == pytest.approx(blame[fact.fact_id], abs=1e-4 * scale)
        assert fact.influence == pytest.approx(every[fact.fact_id], abs=1e-4 * scale)
    assert [it.blame for it in found.blamed] == sorted(it.blame for it in found.blamed)[::-1]
    assert (found.held_out.n_facts, found.held_out.n_all) == (LIMIT, len(run.dataset.test))


def test_a_repeated_audit_does_not_sweep_again(tmp_path: Path) -> None:
    def sweeps(run: whereof.Run, **options: Any) -> tuple[int, whereof.Audit]:
        events = Recorded()
        found = run.audit(method="unrolled", limit=2, events=events, **options)
        return sum(isinstance(each, SweepsPlanned) for each in events.events), found

    train(tmp_path / "run", **STEADY)
    (first, found), (second, again), (third, _) = (
        sweeps(whereof.Run.open(tmp_path / "run"), **options)
        for options in ({"top": 3}, {"top": 3}, {"top": 1, "by": "entity", "split": "valid"})
    )
    assert (first, second, third) == (1, 0, 1)
    assert (again.blamed, again.groups) == (found.blamed, found.groups)


def test_idle_facts_raise_no_margin(run: whereof.Run) -> None:
    found = run.audit(method="rollback", limit=LIMIT, top="all")
    largest = np.max([influences(run, "rollback", goal) for goal in goals(run)], axis=0)
    assert [fact.fact_id for fact in found.idle] == np.flatnonzero(largest < 0.01).tolist()
    assert found.n_idle == len(found.idle) > 0


def test_an_audit_prints_itself_in_words(run: whereof.Run) -> None:
    found = run.audit(method="rollback", limit=10)
    assert found.held_out is not None
    assert str(found).startswith(
        f"The model predicts the object and the subject of 10 of {found.held_out.n_all} test facts."
        f" {found.held_out.n_wrong} of these 20 predictions are wrong. "
    )
    text = audit_file(found)
    assert (
        text.count("how far the mean probability of the true answers falls") == 1
    )  # below the first table of groups


def test_groups_and_listed_facts_are_retrained(run: whereof.Run) -> None:
    found = run.audit(limit=LIMIT, top=2, by="relation", verify=True, threads=1)
    assert {it.kind for it in found.groups} == {"relation"}
    assert sorted(np.sign([it.influence for it in found.groups])) == [-1, -1, 1, 1]
    assert [it.kind for it in found.verified] == ["suspicious", "blamed"]
    again = run.audit(limit=LIMIT, top=2, by="relation", verify=True, threads=1)
    assert again.groups == found.groups
    assert all(it.actual is not None for it in (*found.groups, *found.verified))


def test_groups_at_both_ends_are_listed(run: whereof.Run) -> None:
    every = run.audit(method="rollback", limit=LIMIT, top="all", by="relation,entity")
    found = run.audit(method="rollback", limit=LIMIT, top=2, by="relation,entity")
    for kind, n_all in (("relation", run.dataset.n_relations), ("entity", 14)):
        ends = [it for it in every.groups if it.kind == kind]
        assert len(ends) == every.n_groups[kind] == found.n_groups[kind] == n_all
        assert ends[1].influence > 0 > ends[-2].influence  # type: ignore[operator]
        assert [it for it in found.groups if it.kind == kind] == ends[:2] + ends[-2:]
    said = f"4 of {run.dataset.n_relations} are listed: 2 that help most, and 2 that harm most."
    assert said in found._repr_html_()


def new_answers(run: whereof.Run) -> list[list[tuple[str, ...]]]:
    """For some held-out facts, the fact and then all other new answers to the same question."""
    data, found = run.dataset, []
    for fact in data.test[np.linspace(0, len(data.test) - 1, LIMIT).astype(int)]:
        subject, relation, true = data.fact_names(fact)
        answers = run.predict(subject, relation, top=None, new=True).answers
        others = [answer.entity for answer in answers if answer.entity != true]
        found.append([(subject, relation, answer) for answer in (true, *others)])
    return found


def quality(answers: list[list[tuple[str, ...]]], standings: Any) -> float:
    """The mean share of the true answers in the probability of all new answers."""
    probabilities, shares = iter([it.probability for it in standings]), []
    for each in answers:
        mine = [next(probabilities) for _ in each]
        shares.append(mine[0] / sum(mine))
    return float(np.mean(shares))


def test_actual_influence_is_that_of_retraining(tmp_path: Path) -> None:
    run = train(tmp_path / "run", **STEADY | {"inverse": False})
    found = run.audit(limit=LIMIT, top=1, by="relation", verify=True, threads=1)
    group, _ = found.groups
    ids = np.flatnonzero(run.dataset.train[:, 1] == run.dataset.relations.find(group.name))
    answers = new_answers(run)
    asked = [names for each in answers for names in each]
    control, without = run.retrain([ids.tolist()], asked, threads=1)
    before, after = (quality(answers, it.standings) for it in (control, without))
    assert found.held_out is not None
    assert found.held_out.mean_probability == pytest.approx(before)
    assert group.actual == pytest.approx(before - after)
    assert without.standings is not None
    firsts = np.cumsum([0, *map(len, answers[:-1])])
    ranks = [without.standings[first].rank for first in firsts]
    assert group.mrr == pytest.approx(np.mean([1 / rank for rank in ranks]))


def test_a_group_is_rolled_back_as_a_whole(tmp_path: Path) -> None:
    run = train(tmp_path / "run", **STEADY | {"inverse": False})
    found = run.audit(limit=LIMIT, top="all", by="relation", method="unrolled")
    assert found.group_method == "rollback"
    group = found.groups[0]
    ids = np.flatnonzero(run.dataset.train[:, 1] == run.dataset.relations.find(group.name))
    answers, before, after = new_answers(run), [], []
    for names in (names for each in answers for names in each):
        why = run.explain(*names, without=ids.tolist(), method="rollback")
        before.append(why.prediction)
        after.append(why.without)
    assert group.influence == pytest.approx(quality(answers, before) - quality(answers, after))
    assert [it.influence for it in found.groups] == sorted(
        (it.influence for it in found.groups), reverse=True
    )


def test_without_a_trace_the_sweep_adds_up_a_group(tmp_path: Path) -> None:
    data = whereof.read("nations")
    codes = np.maximum(np.arange(data.n_facts) // 5 - 290, 0)  # the last facts, five at a time
    sources = Sources(codes.astype(np.int32), [str(i) for i in range(codes.max() + 1)])
    settings: dict[str, Any] = FAST | STEADY | {"trace": False, "dim": 10}
    run = whereof.train(replace(data, sources=sources), out=tmp_path / "run", **settings)
    found = run.audit(by="source", top="all", verify=True, threads=1)
    assert found.group_method == found.method == "unrolled"
    few = [it for it in found.groups if it.n_facts <= 5]
    assert len(few) > 20
    estimates, actual = np.array([(it.influence, it.actual) for it in few], float).T
    assert np.corrcoef(estimates, actual)[0, 1] > 0.8


def test_sources_and_groups_of_entities(tmp_path: Path) -> None:
    lines = ["subject\trelation\tobject\tsource\n"]
    for i in range(40):
        lines.append(f"e{i % 10}\tr{i % 3}\te{(i * 7 + 1) % 10}\t{'web' if i % 4 else 'hand'}\n")
    (tmp_path / "facts.tsv").write_text("".join(lines))
    settings: dict[str, Any] = FAST | {"validate_every": 0, "test_fraction": 0.2, "negatives": 3}
    data = tmp_path / "facts.tsv"
    run = whereof.train(data, out=tmp_path / "run", source="source", **settings)
    groups = {f"e{i}": "even" if i % 2 == 0 else "odd" for i in range(10)}
    found = run.audit(by="source,group", groups=groups, method="rollback")
    sizes = {(it.kind, it.name): it.n_facts for it in found.groups}
    assert sizes["source", "hand"] + sizes["source", "web"] == run.dataset.n_facts
    ends = run.dataset.train[:, [0, 2]]
    names = np.array([int(name[1:]) for name in run.dataset.entities.names])[ends]
    assert sizes["group", "odd"] == (names % 2 == 1).any(axis=1).sum()
    lines = [f"{a}\t{b}\n" for a, b in groups.items()]
    (tmp_path / "groups.tsv").write_text("".join(["entity\tgroup\n", *lines]))
    assert run.audit(by=["group"], groups=tmp_path / "groups.tsv").groups == tuple(
        it for it in found.groups if it.kind == "group"
    )


def test_names_of_groups_that_are_not_in_the_run(run: whereof.Run, tmp_path: Path) -> None:
    (file := tmp_path / "blocs.csv").write_text("country,bloc\negypt,a\nusa,b\nuk,b\n")
    found = run.audit(method="rollback", limit=2, top=2, by="relation", groups=file)
    assert {it.name for it in found.groups if it.kind == "group"} == {"a", "b"}
    said = "left out 1 of 4 names in the groups, because the run does not have them: 'country'"
    assert said in found.notes
    file.write_text("country,bloc\negypt,a\nnowhere,b\nelsewhere,b\n")
    message = r"blocs.csv:1: 'country' is not an entity of this run \(3 of 4 names are not\)"
    with pytest.raises(WhereofError, match=message):
        run.audit(limit=2, groups=file)
    with pytest.raises(WhereofError, match=r"blocs.csv:3: 'nowhere' is .*; give names or labels"):
        run.audit(limit=2, groups=f"{file}:country,bloc")


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    """Users and items that share their names; no test facts."""
    folder = tmp_path_factory.mktemp("chosen")
    pairs = [(user, item) for user in range(12) for item in range(8) if (user * item) % 3 == 0]
    (folder / "chosen.tsv").write_text("".join(f"{user}\t{item}\n" for user, item in pairs))
    settings: dict[str, Any] = {"epochs": 3, "dim": 4, "search": False}
    return whereof.train(
        folder / "chosen.tsv", columns="1,2", out=folder / "run", valid_fraction=0.2, **settings
    )


def test_without_test_facts_validation_facts_are_held_out(chosen: whereof.Run) -> None:
    found = chosen.audit(method="rollback", top=2)
    assert found.held_out is not None
    assert found.held_out.split == "valid"
    assert "split test has no facts, so the audit uses the facts of split valid" in found.notes
    usual = chosen.audit(method="rollback", top=2, split="valid")
    assert (found.blamed, found.groups) == (usual.blamed, usual.groups)
    assert not any("split" in note for note in usual.notes)
    none = chosen.audit(method="rollback", top=2, split="test")
    assert none.notes[0].endswith("cannot measure which facts help; choose --split valid")
    assert (none.method, none.group_method, none.held_out) == (None, None, None)
    assert "methods: rollback (suspicious facts).</p>" in audit_file(none)


def test_suspicious_facts_are_retrained_without_held_out_facts(chosen: whereof.Run) -> None:
    found = chosen.audit(method="rollback", top=2, split="test", verify=True, threads=1)
    assert (found.n_retrainings, found.groups, found.verified) == (2, (), ())
    ids = [fact.fact_id for fact in found.suspicious]
    first = found.suspicious[0]
    others = chosen.predict(first.subject, top=None).answers
    known = {it.entity for it in others if it.known == "train"} - {first.object}
    asked = [(first.subject, it.entity) for it in others if it.entity not in known]
    _, without = chosen.retrain([ids], asked, threads=1)
    assert without.standings is not None
    probabilities = {
        names[1]: it.probability for names, it in zip(asked, without.standings, strict=True)
    }
    share = probabilities[first.object] / sum(probabilities.values())
    assert first.actual_probability == pytest.approx(share, rel=1e-4)
    again = chosen.audit(method="rollback", top=2, split="test", verify=True, threads=1)
    assert again.suspicious == found.suspicious
    every = chosen.audit(method="rollback", top="all", split="test", verify=True, threads=1)
    assert every.n_retrainings == 0
    assert "nothing was retrained: without all" in every.notes[-1]


def test_two_way_groups_say_whether_they_are_users_or_items(chosen: whereof.Run) -> None:
    found = chosen.audit(method="rollback", split="valid", top="all")
    users, items = ([it for it in found.groups if it.place == each] for each in PLACES[2])
    assert len(users) + len(items) == len(found.groups) == found.n_groups["entity"]
    (first,) = (it for it in users if it.name == "0")
    assert (
        first.n_facts
        == (
            chosen.dataset.train[:, 0] == chosen.dataset.entities.find("0", chosen.dataset.subjects)
        ).sum()
    )
    assert "user or item" in found._repr_html_()


def test_ratings(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, 20)
    found = run.audit(method="rollback")
    assert found.held_out is None  # too few facts to hold some out
    first = found.suspicious[0]
    assert first.probability is None
    (answer,) = run.predict(first.subject, first.object).answers
    assert first.predicted_rating == pytest.approx(answer.score, rel=1e-5)
    assert "predicted rating" in found._repr_html_()
    assert found.suspicious[0].suspicion >= found.suspicious[1].suspicion
    assert "split test has no facts" in found.notes[0]


def test_a_run_from_arrays_is_audited_without_retraining() -> None:
    run = random_run("complex")
    found = run.audit(top=3)
    assert len(found.suspicious) == 3
    with pytest.raises(WhereofError, match="other software trained this run"):
        run.audit(verify=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "source"}, "by source requires a column of sources"),
        ({"by": "group"}, "by group requires groups of entities"),
        ({"by": "relations"}, "unknown grouping 'relations'; did you mean 'relation'"),
        ({"method": "random"}, "unknown method 'random'; choose from rollback, unrolled"),
        ({"ranking_method": "tracin"}, "unknown ranking_method 'tracin'; choose from rollback"),
        ({"groups": {"nowhere": "a"}}, "'nowhere' is not an entity.*--groups FILE:nowhere,a"),
    ],
)
def test_bad_input(run: whereof.Run, options: dict[str, Any], message: str) -> None:
    with pytest.raises(WhereofError, match=message):
        run.audit(limit=2, **options)
