"""Method unrolled: its numbers are close to those of retraining where training is steady."""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from listening import Recorded

import whereof
from whereof.errors import Interrupted
from whereof.evaluate.statistics import spearman
from whereof.events import Advanced, Event, Events, SweepsPlanned
from whereof.explain.explain import find_scored
from whereof.explain.method import (
    N_RIVALS,
    Aim,
    Context,
    Goal,
    Sets,
    get_method,
    prepare,
    standings_without,
)
from whereof.explain.options import ExplainOptions
from whereof.present.explanation import explanation_page
from whereof.retrain.methods.unrolled import find_rivals, log_odds, quantity_slopes
from whereof.retrain.retrainer import control_differs
from whereof.retrain.size import correct_falls
from whereof.run.files import Store
from whereof.run.reliability import Claims, Reliability

STEADY = {"model": "distmult", "dim": 10, "accumulator": 0.1, "optimizer": "adagrad", "rate": 0.1}
FACT = ("brazil", "commonbloc1", "israel")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    out = tmp_path_factory.mktemp("unrolled") / "run"
    return whereof.train("nations", out=out, **STEADY, epochs=3, precision="float64", init=0.3)


def test_influences_are_those_of_retraining(run: whereof.Run) -> None:
    fact_ids = np.arange(0, run.dataset.n_facts, 40)
    scored = find_scored(run._trained, FACT, ExplainOptions())
    method, context = get_method("unrolled"), Context(Aim("probability"))
    prepared = prepare(method, run._trained, [scored.prediction], context)[scored.prediction]
    context = replace(context, prepared=prepared)
    estimated = method.estimate(scored, fact_ids, context)
    control, *without = run.retrain([[fact] for fact in fact_ids], [FACT])
    before = control.standings[0].probability
    true = np.array([before - each.standings[0].probability for each in without])
    assert spearman(estimated, true) > 0.97
    strongest = np.abs(true) > 0.2 * np.abs(true).max()
    assert np.median(estimated[strongest] / true[strongest]) == pytest.approx(1, abs=0.15)


def test_explanations_list_facts_that_are_not_adjacent(run: whereof.Run) -> None:
    found = run.explain(*FACT, method="unrolled", top=None)
    assert len(found.facts) == run.dataset.n_facts > found.n_adjacent
    distant = [fact for fact in found.facts if fact.role == "none"]
    assert len(distant) == run.dataset.n_facts - found.n_adjacent
    assert any(fact.influence for fact in distant)
    first = found.facts[0]
    before = found.prediction.probability
    assert first.probability_without == pytest.approx(before - first.influence)


def test_a_second_question_reads_what_was_swept(run: whereof.Run) -> None:
    asked = ("uk", "embassy", "usa")
    first = run.explain(*asked, method="unrolled")
    again = whereof.Run.open(run.path)
    stored = {file: file.stat().st_mtime_ns for file in (run.path / "prepared").iterdir()}
    assert again.explain(*asked, method="unrolled").facts == first.facts
    assert stored == {file: file.stat().st_mtime_ns for file in (run.path / "prepared").iterdir()}


def test_sizes_are_corrected_as_soon_as_there_is_memory(run: whereof.Run) -> None:
    asked = ("egypt", "embassy", "uk")
    events = Recorded()
    small = run.explain(*asked, method="unrolled", sweep_memory=3e-4, events=events)
    enough = float(re.findall(r"choose --sweep-memory (\S+) or more", " ".join(events.notes))[0])
    corrected = run.explain(*asked, method="unrolled", sweep_memory=enough)
    assert any("too small" in note for note in small.notes)
    assert not any("too small" in note for note in corrected.notes)
    assert [each.influence for each in small.facts] != [each.influence for each in corrected.facts]


class Stopping(Events):
    """Asks to stop after some steps of the way back."""

    def __init__(self, after: int | None) -> None:
        self.after, self.told = after, list[int]()

    def emit(self, event: Event) -> None:
        if isinstance(event, Advanced) and "going back" in event.noun:
            self.told.append(event.n_done)

    def should_stop(self) -> bool:
        return self.after is not None and len(self.told) >= self.after


@pytest.mark.parametrize("memory", [0.001, 1.0], ids=["rounds", "together"])
def test_an_interrupted_sweep_goes_on(
    run: whereof.Run, memory: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whereof.retrain.sweep._LEAST_SECONDS", 0.0)
    monkeypatch.setattr("whereof.training.timeline._BLOCK", 300)
    answers = ("usa", "uk", "china", "israel", "india")
    asked = [
        find_scored(run._trained, ("egypt", "embassy", it), ExplainOptions()) for it in answers
    ]
    predictions = [each.prediction for each in asked]
    method, context = get_method("unrolled"), Context(Aim("probability"), sweep_memory=memory)
    found, steps = [], []
    for name, stops in (("straight", []), ("stopped", [3, 2, 4])):
        copy = whereof.Run.open(shutil.copytree(run.path, tmp_path / name))
        kept, n_done = copy.path / "prepared" / "unrolled-progress.npz", 0
        for after in stops:
            events = Stopping(after)
            with pytest.raises(Interrupted, match="ask again to continue"):
                prepare(method, copy._trained, predictions, context, events)
            assert kept.is_file()
            assert n_done < events.told[-1]
            n_done = events.told[-1]
        events = Stopping(None)
        found.append(prepare(method, copy._trained, predictions, context, events))
        assert not kept.exists()
        steps.append(len(events.told))
    straight, stopped = found
    assert steps[1] < steps[0] - 3
    for prediction in predictions:
        for key, array in straight[prediction].items():
            assert np.array_equal(array, stopped[prediction][key])


@pytest.fixture
def copy(run: whereof.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> whereof.Run:
    """The run without stored results, which stores the state of every sweep that stops."""
    monkeypatch.setattr("whereof.retrain.sweep._LEAST_SECONDS", 0.0)
    without = shutil.ignore_patterns("prepared")
    return whereof.Run.open(shutil.copytree(run.path, tmp_path / "run", ignore=without))


def test_a_sweep_is_kept_until_its_size_is_measured(
    run: whereof.Run, copy: whereof.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = find_scored(copy._trained, ("china", "embassy", "usa"), ExplainOptions()).prediction
    method, context = get_method("unrolled"), Context(Aim("probability"))

    def stop(*_: object) -> float:
        raise Interrupted("while it retrains")

    with monkeypatch.context() as patch:
        patch.setattr("whereof.retrain.methods.unrolled.measure_sizes", stop)
        with pytest.raises(Interrupted, match="while it retrains"):
            prepare(method, copy._trained, [asked], context)
    events = Stopping(None)
    again = prepare(method, copy._trained, [asked], context, events)[asked]
    assert len(events.told) == 1  # nothing is swept again
    wanted = prepare(method, run._trained, [asked], context)[asked]
    assert np.array_equal(again["changes"], wanted["changes"])


@pytest.mark.parametrize(
    "change",
    [
        {"done": np.zeros((0, 3))},
        {"done": np.array("x")},
        {"done": np.zeros((99, 1592))},
        {"differs": np.zeros(3)},
        {"n_done": np.array([1, 2])},
        {"entities": None},
        {"influence": np.nan},
    ],
    ids=["shape", "text", "rows", "answer", "count", "missing", "nan"],
)
def test_an_impossible_state_of_a_sweep_is_not_continued(
    run: whereof.Run, copy: whereof.Run, change: dict[str, Any]
) -> None:
    asked = find_scored(copy._trained, ("egypt", "embassy", "cuba"), ExplainOptions()).prediction
    method, context = get_method("unrolled"), Context(Aim("probability"))
    with pytest.raises(Interrupted):
        prepare(method, copy._trained, [asked], context, Stopping(2))
    store, key = copy._trained.store, "unrolled-progress"
    state = dict(store.find(key, lambda _: True) or {})
    for name, value in change.items():
        array = state.pop(name)
        if value is not None:
            state[name] = np.full_like(array, value) if value is np.nan else value
    store.put(key, state)
    found = prepare(method, copy._trained, [asked], context)[asked]
    wanted = prepare(method, run._trained, [asked], context)[asked]
    assert np.array_equal(found["changes"], wanted["changes"])


def test_a_short_sweep_leaves_what_another_kept(
    run: whereof.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = whereof.Run.open(shutil.copytree(run.path, tmp_path / "run"))
    method, context = get_method("unrolled"), Context(Aim("probability"))
    one, other = (
        find_scored(copy._trained, ("cuba", "embassy", it), ExplainOptions()).prediction
        for it in ("usa", "uk")
    )
    with monkeypatch.context() as patch:
        patch.setattr("whereof.retrain.sweep._LEAST_SECONDS", 0.0)
        with pytest.raises(Interrupted):
            prepare(method, copy._trained, [one], context, Stopping(1))
    kept = (copy.path / "prepared" / "unrolled-progress.npz").read_bytes()
    prepare(method, copy._trained, [other], context)
    assert (copy.path / "prepared" / "unrolled-progress.npz").read_bytes() == kept


def test_the_price_of_a_sweep_is_known_before_it_starts(run: whereof.Run) -> None:
    trained, aim = replace(run._trained, training_seconds=3.0, store=Store()), Aim("score")
    scored = find_scored(trained, FACT, ExplainOptions())
    events, method = Recorded(), get_method("unrolled")
    method.total(trained, [[Goal(scored, aim)], [Goal(scored, aim)]], events)
    planned = [each for each in events.events if isinstance(each, SweepsPlanned)]
    n_columns = 2 + 8  # and those that measure the size
    each = 3.0 / (os.cpu_count() or 1)
    n_after = 2 * 8 + 1  # retrainings that measure the size
    assert planned == [
        SweepsPlanned(1, pytest.approx((20 * (1 + 0.1 * (n_columns - 1)) + n_after) * each))
    ]
    assert events.events.index(planned[0]) == 0
    short, silent = Recorded(), Recorded()
    method.prepare(trained, [scored.prediction], short, Context(Aim("probability"), sweep_epochs=1))
    assert short.events[0] == SweepsPlanned(
        1, pytest.approx(20 * each / run.manifest.result["best_epoch"])
    )
    unknown = replace(trained, training_seconds=None)
    method.total(unknown, [[Goal(find_scored(unknown, FACT, ExplainOptions()), aim)]], silent)
    assert not any(isinstance(it, SweepsPlanned) for it in silent.events)


def test_the_price_of_an_explanation_is_that_of_its_sweep(run: whereof.Run) -> None:
    trained = replace(run._trained, training_seconds=3.0, store=Store())
    method = get_method("unrolled")
    scored, each = find_scored(trained, FACT, ExplainOptions()), 3.0 / (os.cpu_count() or 1)
    for of, epochs in (("probability", 1), ("probability", None), ("score", None)):
        context, events = Context(Aim(of), rivals=N_RIVALS, sweep_epochs=epochs), Recorded()
        cost = method.cost(trained, 100, context)
        prepare(method, trained, [scored.prediction], context, events)
        assert events.events[0] == SweepsPlanned(1, pytest.approx(cost * each))


def test_many_predictions_share_a_sweep(run: whereof.Run) -> None:
    asked = [("uk", "embassy", "usa"), ("china", "embassy", "ussr")]
    many = list(run.explain_many(asked, method="unrolled", top=5))
    for names, found in zip(asked, many, strict=True):
        alone = run.explain(*names, method="unrolled", top=5)
        assert [fact.fact_id for fact in alone.facts] == [fact.fact_id for fact in found.facts]
        assert {fact.top_answer_changes for fact in found.facts} == {None}
    followed = next(iter(run.explain_many(asked[:1], method="unrolled", rivals=1)))
    assert {type(fact.top_answer_changes) for fact in followed.facts} == {bool}


def test_an_answer_without_rivals_leaves_those_of_others_as_they_are(tmp_path: Path) -> None:
    """In bulk, predictions with few other new answers share a sweep with those that have many."""
    lines = [f"e{s}\tr\te{o}\n" for s in range(6) for o in range(6) if s < 4 or o < 2 or s == o]
    (tmp_path / "train.txt").write_text("".join(lines))
    settings = STEADY | {"dim": 4, "epochs": 2, "n3": 0.0}
    run = whereof.train(tmp_path / "train.txt", out=tmp_path / "run", **settings)
    asked = [("e0", "r", "e1"), ("e5", "r", "e3")]
    lone, other = run.explain_many(asked, method="unrolled", rivals=3, without=[0])
    assert lone.without.rank == 1
    assert {fact.top_answer_changes for fact in lone.facts} == {False}
    single = run.explain(*asked[1], method="unrolled", without=[0])
    assert single.without.rank == other.without.rank
    assert single.without.top_answer == other.without.top_answer


def test_what_is_not_known_is_not_shown(run: whereof.Run) -> None:
    found = run.explain(*FACT, method="unrolled", rivals=0, without=[3, 5])
    assert found.without.top_answer_changes is None
    assert not found.without.top_answer
    told = replace(found, reliability=Reliability(claims=(Claims("unrolled", 9, 1.0, 9, 9, 9),)))
    page = explanation_page(told)
    assert "top answer</th>" in page
    assert "None" not in page


def test_changes_of_a_set_add_up_before_their_size_is_corrected(run: whereof.Run) -> None:
    found = run.explain(*FACT, method="unrolled", top=3, stability=True)
    assert found.stability is not None
    single, three = found.stability[0], found.stability[1]
    assert single.influence == pytest.approx(found.facts[0].influence)
    scored = find_scored(run._trained, FACT, ExplainOptions())
    context = Context(Aim("probability"))
    prepared = prepare(get_method("unrolled"), run._trained, [scored.prediction], context)
    changes, curve = (prepared[scored.prediction][name] for name in ("changes", "curve"))
    total = changes[0][[fact.fact_id for fact in found.facts]].sum(dtype=np.float64)
    falls = log_odds(scored) - correct_falls(total, curve)
    assert three.probability == pytest.approx(1 / (1 + np.exp(-falls)))


def test_the_winner_comes_from_the_margins(run: whereof.Run) -> None:
    """A set that closes the margin to the strongest rival hands it the top answer."""
    scored = find_scored(run._trained, (*FACT[:2], None), ExplainOptions())
    method, context = get_method("unrolled"), Context(Aim("probability"), rivals=3)
    prepared = prepare(method, run._trained, [scored.prediction], context)[scored.prediction]
    context, rival = replace(context, prepared=prepared), find_rivals(scored, 3)[0]
    margins = prepared["changes"][1]
    strongest = np.argsort(-margins)
    places = scored.candidates.places
    margin = scored.plain_scores[scored.place] - scored.plain_scores[places[rival]]
    n = int(np.searchsorted(np.cumsum(margins[strongest]), margin)) + 1
    sets = Sets.of([np.sort(strongest[: n + 3]), strongest[:0]])
    without = method.remove(scored, sets, context).standings
    assert without["top"][0] != scored.target
    assert without["top"][1] == scored.target
    assert without["rank"].tolist()[1] == 1
    assert without["probability"][1] == pytest.approx(scored.probability)


def test_the_rank_is_not_known_where_every_followed_rival_wins(run: whereof.Run) -> None:
    scored, method = (
        find_scored(run._trained, ("uk", "embassy", "usa"), ExplainOptions()),
        "unrolled",
    )
    found = run.explain("uk", "embassy", "usa", method=method, top="all")
    facts = Sets.of([np.array(sorted(fact.fact_id for fact in found.facts), np.int64)])
    few, many = (standings_without(get_method(method), scored, facts, rivals=n)[0] for n in (1, 13))
    assert few["top"] != scored.target
    assert few["rank"] == 0
    assert many["rank"] > 1


@pytest.mark.parametrize("of", ["probability", "loss", "score"])
def test_slopes_are_those_of_the_quantity(run: whereof.Run, of: str) -> None:
    scored = find_scored(run._trained, FACT, ExplainOptions())
    slopes, step = quantity_slopes(scored, Aim(of)), 1e-6

    def quantity(scores: np.ndarray) -> float:
        if of == "score":
            return float(scores[scored.place])
        others = np.delete(scores, scored.place)
        return float(scores[scored.place] - np.log(np.exp(others).sum()))

    for place in range(len(slopes)):
        change = step * (np.arange(len(slopes)) == place)
        sides = [quantity(scored.plain_scores + sign * change) for sign in (1, -1)]
        assert (sides[0] - sides[1]) / (2 * step) == pytest.approx(slopes[place], abs=1e-6)


def test_the_last_epochs_are_a_screen(run: whereof.Run) -> None:
    whole = run.explain(*FACT, method="unrolled", top=None)
    last = run.explain(*FACT, method="unrolled", top=None, sweep_epochs=1)
    assert last.facts[0].fact_id in {fact.fact_id for fact in whole.facts[:10]}
    assert [fact.influence for fact in last.facts] != [fact.influence for fact in whole.facts]
    assert any("only the end of training (1 epoch)" in note for note in last.notes)
    assert (last.sweep_epochs, whole.sweep_epochs) == (1, None)
    every = run.explain(*FACT, method="unrolled", top=None, sweep_epochs=1000)
    assert replace(every, seconds=0) == replace(whole, seconds=0)


@pytest.mark.parametrize(
    ("settings", "steady"),
    [
        ({}, True),
        ({"accumulator": 0.0}, False),
        ({"optimizer": "adam-lazy"}, False),
        ({"model": "transe-l2"}, True),
        ({"model": "transe"}, False),
    ],
)
def test_unsteady_training_is_said(run: whereof.Run, settings: dict, steady: bool) -> None:
    trained = replace(run._trained, config=run.config.replace(**settings))
    notes = get_method("unrolled").notes(trained)
    assert any("was not trained steadily" in note for note in notes) != steady


def test_a_replay_that_differs_is_said_again(run: whereof.Run) -> None:
    scored = find_scored(run._trained, FACT, ExplainOptions())
    method, context = get_method("unrolled"), Context(Aim("probability"))
    prepared = prepare(method, run._trained, [scored.prediction], context)[scored.prediction]
    for differs in (False, True):
        its = replace(context, prepared={**prepared, "differs": np.array(differs)})
        ranked = method.rank(scored, Sets.each(np.arange(5)), its)
        assert (control_differs(run._trained) in ranked.notes) == differs


def test_a_run_whose_training_is_unknown_is_refused(run: whereof.Run) -> None:
    unknown = replace(run._trained, n_trained=None)
    with pytest.raises(whereof.WhereofError, match="how this run was trained is not known"):
        get_method("unrolled").check(unknown)


def test_candidates_must_be_complete(run: whereof.Run) -> None:
    with pytest.raises(whereof.WhereofError, match="requires all objects as candidates"):
        run.explain(*FACT, method="unrolled", candidates="israel,usa")


def test_ratings(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [
        f"u{u}\ti{i}\t{rng.integers(1, 6)}" for u in range(12) for i in range(8) if (u + i) % 3
    ]
    data = tmp_path / "ratings.tsv"
    data.write_text("user\titem\trating\n" + "\n".join(lines))
    run = whereof.train(
        data, out=tmp_path / "run", dim=4, epochs=20, rate=0.05, precision="float64"
    )
    found = run.explain("u0", "i1", method="unrolled", top=None)
    first = max(found.facts, key=lambda fact: abs(fact.influence))
    verdict = run.verify("u0", "i1", facts=[first.fact_id], method="unrolled")
    actual = verdict.before.score - verdict.actual.score
    assert np.sign(first.influence) == np.sign(actual)
    assert first.score_without == pytest.approx(found.prediction.score - first.influence)
