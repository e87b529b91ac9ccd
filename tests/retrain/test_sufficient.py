"""Facts that give other entities the same answer, checked by adding them by hand."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from listening import Recorded
from trained import train

import whereof
from whereof.api.run import make_scorer
from whereof.api.runs import open_cases
from whereof.events import Planned
from whereof.predict.answers import predict
from whereof.predict.prediction import find_prediction
from whereof.retrain.options import EngineOptions, SmallestOptions
from whereof.retrain.sufficient import Gifts

ASKED = ("poland", "weightedunvote", None)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    folder = tmp_path_factory.mktemp("sufficient") / "run"
    return train(folder, inverse=True, epochs=12, rate=0.02, credit="source")


def gifts_of(run: whereof.Run) -> Gifts:
    with open_cases(run, EngineOptions(threads=1), None) as open_seeds:
        return Gifts.of(open_seeds()[0], ASKED, SmallestOptions(method="rollback"))


def top_answers(run: whereof.Run, gifts: Gifts, given: set[int]) -> list[str]:
    """The top new answer of every receiver after training with copies of the given facts."""
    recipe, n_facts = run._recipe.extended(gifts.facts, gifts.origins), run.dataset.n_facts
    left_out = [i for i, origin in enumerate(gifts.origins.tolist()) if origin not in given]
    rows = recipe.retrain(n_facts + np.array(left_out, np.int64))
    trained = replace(run._trained, scorer=make_scorer(rows, run.dataset, run.config))
    data, (subject, relation, _) = run.dataset, gifts.scored.prediction.triple
    facts = data.train[gifts.fact_ids]
    mine = (facts[:, 0] == subject) & (facts[:, 1] == relation)
    may_have = {data.entities.name(each) for each in facts[mine, 2].tolist()}
    found = []
    for receiver in gifts.receivers:
        asked = find_prediction(trained, (data.entities.name(receiver), ASKED[1], "_"))
        answers = predict(trained, asked, None, new=True).answers
        found.append(next(each.entity for each in answers if each.entity not in may_have))
    return found


def test_without_copies_the_same_model_is_trained_to_the_bit(run: whereof.Run) -> None:
    gifts, recipe = gifts_of(run), run._recipe
    extended = recipe.extended(gifts.facts, gifts.origins)
    copies = len(recipe.problem.facts) + np.arange(len(gifts.facts))
    for mine, its in zip(extended.retrain(copies), recipe.retrain(copies[:0]), strict=True):
        assert np.array_equal(mine, its)


def test_copies_have_the_receiver_in_place_of_the_entity(run: whereof.Run) -> None:
    gifts, data = gifts_of(run), run.dataset
    poland, facts = data.entities.find("poland"), set(map(tuple, data.train.tolist()))
    assert 0 < len(gifts.fact_ids) <= 20
    assert (data.train[gifts.fact_ids][:, [0, 2]] == poland).any(axis=1).all()
    for copy, origin in zip(gifts.facts.tolist(), gifts.origins.tolist(), strict=True):
        (receiver,) = {*copy[::2]} & {*gifts.receivers} - {*data.train[origin][::2].tolist()}
        assert [poland if i != 1 and e == receiver else e for i, e in enumerate(copy)] == [
            *data.train[origin].tolist()
        ]
        assert tuple(copy) not in facts
    relation, answer = gifts.scored.prediction.relation, gifts.scored.target
    known = {
        tuple(each)
        for split in ("train", "valid", "test")
        for each in getattr(data, split).tolist()
    }
    assert all((each, relation, answer) not in known for each in gifts.receivers)
    assert poland not in gifts.receivers


def test_the_facts_give_others_the_answer_and_none_can_be_left_out(run: whereof.Run) -> None:
    gifts = gifts_of(run)
    found = run.sufficient(*ASKED, method="rollback", budget=50)
    answer = found.prediction.object
    assert found.found
    assert [each.before.top_answer for each in found.receivers] == top_answers(run, gifts, set())
    after = top_answers(run, gifts, {*found.given})
    assert [each.actual.top_answer for each in found.receivers] == after
    assert answer not in [each.before.top_answer for each in found.receivers]
    assert found.n_converted == after.count(answer) > 0
    everything = top_answers(run, gifts, {*gifts.fact_ids.tolist()})
    assert found.n_possible == everything.count(answer)
    assert found.minimal
    for fact in found.given if len(found.given) > 1 else ():
        left = top_answers(run, gifts, {*found.given} - {fact})
        assert left.count(answer) < found.n_possible
    assert f"{answer} becomes the top answer for {found.n_converted} of" in str(found)


def test_asking_again_retrains_nothing(run: whereof.Run) -> None:
    events = Recorded()
    first = run.sufficient(*ASKED, method="rollback", budget=20).to_dict()
    again = run.sufficient(*ASKED, method="rollback", budget=20, events=events).to_dict()
    assert not any(isinstance(event, Planned) for event in events.events)
    for name in ("seconds", "n_known"):
        del first[name], again[name]
    assert again == first
    json.dumps(first, allow_nan=False)


def test_subjects_and_two_columns(run: whereof.Run, tmp_path: Path) -> None:
    found = run.sufficient("_", "embassy", "usa", budget=6)
    assert found.prediction.asks == "subject"
    lines = [f"u{u}\tm{i}\n" for u in range(12) for i in range(8) if (u + i) % 3]
    (tmp_path / "pairs.tsv").write_text("".join(lines))
    pairs = whereof.train(
        tmp_path / "pairs.tsv", out=tmp_path / "run", columns="1,2", epochs=3, accumulator=0.0
    )
    found = pairs.sufficient("u0", None, budget=6)
    assert {each.entity[0] for each in found.receivers} == {"u"}


def test_an_answer_that_all_others_have_is_refused(tmp_path: Path) -> None:
    lines = [f"{s}\tlikes\tz\n" for s in "abcde"] + ["a\tlikes\tb\n", "b\tknows\tc\n"]
    (tmp_path / "facts.tsv").write_text("".join(lines))
    settings = {"valid_fraction": 0, "test_fraction": 0, "epochs": 2, "dim": 2}
    run = whereof.train(tmp_path / "facts.tsv", out=tmp_path / "run", **settings)
    with pytest.raises(whereof.WhereofError, match="z is the answer for all other entities"):
        run.sufficient("a", "likes", "z")
