"""Several facts rolled back together, the stability of a prediction, and contrasts."""

from itertools import compress
from pathlib import Path

import numpy as np
import pytest
from listening import Recorded
from trained import train, train_copies

import whereof
from explain.helpers import check_close, names_of, random_asks, random_run
from explain.oracle import Ask, Oracle, quantity, rank_of
from whereof.explain.explanation import Joint
from whereof.models import MODELS


@pytest.fixture(scope="module")
def nations(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    path = tmp_path_factory.mktemp("runs") / "run"
    return train(path, precision="float64", inverse=True, rate=0.02)


def _check_joint(run: whereof.Run, ask: Ask, joint: Joint, of: str = "probability") -> None:
    """A joint rollback against the definition."""
    oracle, place = Oracle(run), ask.place
    before, after = oracle.before(ask), oracle.scores(ask, [joint.fact_ids])[0]
    check_close(joint.influence, quantity(of, before, place) - quantity(of, after, place), 1e-12)
    single = oracle.scores(ask, [[fact_id] for fact_id in joint.fact_ids])
    total = (quantity(of, before, place) - quantity(of, single, place)).sum()
    check_close(joint.sum_of_single, total, 1e-11)
    check_close(joint.probability, quantity("probability", after, place), 1e-12)
    check_close(joint.score, after[place], 1e-12)
    new = oracle.new(ask)
    assert joint.rank == rank_of(after, place, new)
    best = ask.candidates[int(np.where(new, after, -np.inf).argmax())]
    assert joint.top_answer == run.dataset.entities.name(best)
    first = ask.candidates[int(np.where(new, before, -np.inf).argmax())]
    assert joint.top_answer_changes == (best != first)


@pytest.mark.parametrize("of", ["probability", "score", "loss"])
@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_group_is_rolled_back_as_one(model: str, of: str) -> None:
    run, rng = random_run(model, n_entities=5, n_facts=40), np.random.default_rng(0)
    for ask in random_asks(run, 12):
        group = rng.choice(40, rng.integers(1, 12), replace=False).tolist()
        names = names_of(run, ask)
        joint = run.explain(*names, asks=ask.asks, of=of, without=group).without
        assert joint is not None
        assert joint.fact_ids == tuple(group)
        _check_joint(run, ask, joint, of)


def test_one_fact_alone_is_its_own_influence(nations: whereof.Run) -> None:
    found = nations.explain("egypt", "embassy", "usa", top=5)
    for fact in found.facts:
        alone = nations.explain("egypt", "embassy", "usa", without=fact.fact_id)
        assert alone.without is not None
        assert alone.without.influence == alone.without.sum_of_single == fact.influence
        assert alone.without.probability == fact.probability_without
        assert [listed.fact_id for listed in alone.facts] == [fact.fact_id]


def test_together_is_not_the_sum(nations: whereof.Run) -> None:
    best = [fact.fact_id for fact in nations.explain("egypt", "embassy", "usa", top=40).facts]
    found = nations.explain("egypt", "embassy", "usa", without=best)
    assert found.without is not None
    singles = sum(fact.influence for fact in found.facts)
    assert found.without.sum_of_single == pytest.approx(singles, rel=1e-12)
    assert abs(found.without.influence - singles) > 1e-4 * abs(singles)
    assert {fact.fact_id for fact in found.facts} == set(best)


def test_a_group_may_hold_facts_that_are_not_adjacent(nations: whereof.Run) -> None:
    """Taken away alone, such a fact still changes a candidate."""
    data = nations.dataset
    ids = [data.entities.find("egypt"), data.relations.find("embassy"), data.entities.find("usa")]
    ask = Ask(*ids, data.objects)
    adjacent = set(Oracle(nations).adjacent(ask))
    far = [fact_id for fact_id in range(data.n_facts) if fact_id not in adjacent][:3]
    found = nations.explain("egypt", "embassy", "usa", without=far)
    assert [fact.role for fact in found.facts] == ["none"] * 3
    assert found.without is not None
    _check_joint(nations, ask, found.without)


def test_the_same_fact_named_twice_counts_once(nations: whereof.Run) -> None:
    names = ",".join(nations.dataset.fact_names(nations.dataset.train[7]))
    once = nations.explain("egypt", "embassy", "usa", without=[7]).without
    twice = nations.explain("egypt", "embassy", "usa", without=["7", names, 7]).without
    assert once == twice


def test_stability_takes_away_the_strongest(nations: whereof.Run) -> None:
    for ask in random_asks(nations, 12):
        found = nations.explain(*names_of(nations, ask), asks=ask.asks, top=10, stability=True)
        assert found.stability is not None
        best = tuple(fact.fact_id for fact in found.facts)
        assert [joint.fact_ids for joint in found.stability] == [best[:1], best[:3], best]
        for joint in found.stability:
            _check_joint(nations, ask, joint)


def test_stability_does_not_depend_on_what_is_listed(nations: whereof.Run) -> None:
    names = ("egypt", "embassy", "usa")
    plain = nations.explain(*names, stability=True).stability
    for options in ({"top": 1}, {"top": None}, {"opposing": True}):
        assert nations.explain(*names, stability=True, **options).stability == plain


def test_stability_goes_as_far_as_there_are_supporters() -> None:
    run = random_run("distmult", n_facts=8)
    found = run.explain("e0", "r0", "e1", top="all", stability=True)
    assert found.stability is not None
    sizes = [len(joint.fact_ids) for joint in found.stability]
    assert sizes == [size for size in (1, 3, 10) if size <= len(found.facts)]


@pytest.mark.parametrize("asks", ["object", "subject"])
@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_contrast_is_of_the_log_of_the_ratio(model: str, asks: str) -> None:
    run = random_run(model, n_entities=12)
    oracle, rival = Oracle(run), 7
    for subject, object_ in ((0, 1), (3, 3), (7, 2) if asks == "object" else (2, 7)):
        ask = Ask(subject, 0, object_, range(12), asks)
        found = run.explain(*names_of(run, ask), asks=asks, instead_of="e7", top=None)
        assert found.of == "log_ratio"
        ids = [fact.fact_id for fact in found.facts]
        assert sorted(ids) == oracle.adjacent(ask, rival)
        before, after = oracle.before(ask), oracle.scores(ask, [[fact_id] for fact_id in ids])
        wanted = quantity("log_ratio", before, ask.place, rival) - quantity(
            "log_ratio", after, ask.place, rival
        )
        check_close([fact.influence for fact in found.facts], wanted, 1e-11)
        assert found.contrast is not None
        check_close(
            found.contrast.log_ratio, quantity("log_ratio", before, ask.place, rival), 1e-12
        )
        check_close(found.contrast.probability, quantity("probability", before, rival), 1e-12)
        assert found.contrast.answer == "e7"


def test_facts_of_the_other_answer_are_adjacent_to_a_contrast(nations: whereof.Run) -> None:
    plain = nations.explain("egypt", "embassy", "usa", top=None)
    contrast = nations.explain("egypt", "embassy", "usa", instead_of="china", top=None)
    assert contrast.n_adjacent > plain.n_adjacent
    fresh = {f.fact_id for f in contrast.facts} - {f.fact_id for f in plain.facts}
    china = nations.dataset.entities.find("china")
    assert fresh
    for fact_id in fresh:
        assert china in nations.dataset.train[fact_id][[0, 2]]
    assert {fact.role for fact in contrast.facts if fact.fact_id in fresh} == {"rival"}


def test_a_group_in_a_contrast_is_on_the_ratio_too(nations: whereof.Run) -> None:
    found = nations.explain("egypt", "embassy", "usa", instead_of="china", without=[1, 2, 3])
    data = nations.dataset
    ids = [data.entities.find("egypt"), data.relations.find("embassy"), data.entities.find("usa")]
    ask, rival = Ask(*ids, data.objects), data.entities.find("china")
    oracle = Oracle(nations)
    logs = [oracle.before(ask), oracle.scores(ask, [[1, 2, 3]])[0]]
    before, after = (quantity("log_ratio", scores, ask.place, rival) for scores in logs)
    assert found.without is not None
    check_close(found.without.influence, before - after, 1e-11)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instead_of": "usa"}, "'usa' is the prediction itself"),
        ({"instead_of": "chin"}, "did you mean 'china'"),
        ({"instead_of": "china", "of": "score"}, "leave out of"),
        ({"instead_of": "china", "candidates": "usa,uk"}, "'china' is not among the 2"),
        ({"without": 99999}, "no fact has id 99999; ids go from 0 to 1591"),
        ({"without": "usa,embassy"}, "is not a fact; give its id, or SUBJECT,RELATION,OBJECT"),
        ({"without": "usa,embassy,usa"}, "usa embassy usa is not a training fact"),
    ],
)
def test_what_cannot_be_is_said(
    nations: whereof.Run, options: dict[str, object], message: str
) -> None:
    with pytest.raises(whereof.WhereofError, match=message):
        nations.explain("egypt", "embassy", "usa", **options)


@pytest.mark.parametrize("work", [{"method": "unrolled"}, {"method": "retrain"}, {"seeds": 2}])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"without": 99999}, "no fact has id 99999"),
        ({"relation": "embasy"}, "unknown relation 'embasy'"),
        ({"relation": "tourism", "role": "relation"}, "passes the filters"),
        ({"instead_of": "usa"}, "is the prediction itself"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_the_work(
    tmp_path: Path, work: dict[str, object], options: dict[str, object], message: str
) -> None:
    run, events = train(tmp_path / "run", credit="step"), Recorded()
    with pytest.raises(whereof.WhereofError, match=message):
        run.explain("egypt", "embassy", "usa", **work, **options, events=events)
    assert not events.events
    assert not (tmp_path / "run/siblings").exists()


def test_ratings_are_without_probabilities_here_too(tmp_path: Path) -> None:
    films = {"user": [0, 0, 1, 1, 2], "item": [0, 1, 0, 1, 0], "rating": [1.0, 2, 3, 4, 5]}
    run = whereof.train(films, out=tmp_path / "run", model="mf", dim=2, epochs=2)
    found = run.explain("2", "1", without=[0, 1], stability=True, graph=True)
    assert found.without is not None
    assert found.stability is not None
    assert found.graph is not None
    assert found.without.probability is None
    assert {joint.probability for joint in found.stability} <= {None}
    assert {path.probability_without for path in found.graph.paths} <= {None}


@pytest.mark.parametrize("options", [{"method": "rollback"}, {"method": "unrolled"}])
def test_facts_that_say_nearly_the_same_are_noted(
    tmp_path: Path, options: dict[str, object]
) -> None:
    run = train_copies(tmp_path, accumulator=None)
    found = run.explain("e0", "r0", "e5", **options)
    copies = [
        fact_id
        for fact_id, (subject, _, object_) in enumerate(run.dataset.train.tolist())
        if (run.dataset.entities.name(subject), run.dataset.entities.name(object_)) == ("e0", "e5")
    ]
    (group,) = found.groups
    assert sorted(group.fact_ids) == copies
    assert len(copies) == 3
    first = next(fact.fact_id for fact in found.facts if fact.fact_id in copies)
    assert group.fact_ids[0] == first
    same = run.explain("e0", "r0", "e5", method="rollback", without=list(group.fact_ids)).without
    assert same == group
    page = found._repr_html_()
    assert "3 facts between e0 and e5 say nearly the same" in page
    assert "one alone may matter less than estimated, and all together may matter more" in page
    # Copies need not be listed themselves, and numbers of a partial sweep do not matter.
    one = run.explain("e0", "r0", "e5", **options, top=1)
    assert one.groups == ((group,) if options["method"] == "rollback" else ())
    if options["method"] == "unrolled":
        assert run.explain("e0", "r0", "e5", **options, sweep_epochs=1).groups == (group,)
    assert run.explain("e0", "r0", "e5", **options, opposing=True).groups == ()


def test_a_joint_estimate_of_copies_is_said_to_be_too_small(tmp_path: Path) -> None:
    run = train_copies(tmp_path, accumulator=None)
    (group,) = run.explain("e0", "r0", "e5").groups
    two = sorted(group.fact_ids)[:2]
    other = next(fact for fact in range(run.dataset.n_facts) if fact not in group.fact_ids)
    notes = run.explain("e0", "r0", "e5", without=[other, *two]).notes
    ids = f"{two[0]}, {two[1]}"
    assert any(note.startswith(f"facts {ids} say nearly the same") for note in notes)
    notes = run.explain("e0", "r0", "e5", without=[other, two[0]]).notes
    assert not any("nearly the same" in note for note in notes)


def test_facts_that_only_add_up_are_not_said_to_replace_each_other(tmp_path: Path) -> None:
    run = whereof.train("nations", out=tmp_path / "run", dim=8, epochs=5, search=False)
    asked = "egypt", "embassy", "uk"
    found = run.explain(*asked, method="unrolled", top=20)
    pairs = [{fact.subject, fact.object} for fact in found.facts]
    alone = [*compress(found.facts, (pairs.count(pair) > 1 for pair in pairs))]
    without = [fact.fact_id for fact in alone]
    joint = run.explain(*asked, method="unrolled", without=without).without
    assert joint is not None
    assert joint.influence > 1.5 * max(fact.influence for fact in alone)
    assert found.groups == ()
