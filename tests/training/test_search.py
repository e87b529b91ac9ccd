"""Adagrad's start by its rule, and the search for settings before training."""

import json
import operator
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from listening import Recorded
from trained import outcome

import whereof
from whereof.errors import Interrupted
from whereof.events import Advanced, Events, Note
from whereof.models import MODELS
from whereof.training.defaults import choose_config
from whereof.training.problem import Problem
from whereof.training.results import Parameters, Validation
from whereof.training.search import SearchResult, adagrad_start, settle_steps
from whereof.training.trainer import Trainer

NATIONS = whereof.read("nations")
SMALL: dict[str, Any] = {"dim": 8, "epochs": 4, "trace": False}


def start_of(**settings: Any) -> float:
    config = choose_config(NATIONS, None, SMALL | {"optimizer": "adagrad"} | settings)
    return adagrad_start(Problem.of(NATIONS, config), Trainer)


@pytest.mark.parametrize("loss", ["softmax", "sigmoid"])
@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if not model.two_way])
def test_every_model_and_loss_gets_a_start(name: str, loss: str) -> None:
    start = start_of(model=name, loss=loss)
    assert 0 < start < 100
    assert start == float(f"{start:.2g}") == start_of(model=name, loss=loss)


def test_the_start_follows_the_scale_of_the_gradients() -> None:
    # The sigmoid loss is a mean over 14 candidates, so that its gradients are smaller.
    assert start_of(loss="sigmoid") < start_of() / 14
    # If entities have many facts, the start no longer grows with the epochs after the fifth.
    assert start_of(epochs=1) < start_of(epochs=5) == start_of(epochs=60)


@pytest.mark.parametrize("epochs", [1, 90])
def test_no_single_fact_decides_the_first_steps_of_an_entity_with_few_facts(epochs: int) -> None:
    """In a chain every entity has two facts."""
    names = [f"e{number}" for number in range(401)]
    chain = {"subject": names[:-1], "relation": ["next"] * 400, "object": names[1:]}
    data = whereof.read(chain)
    problem = Problem.of(data, choose_config(data, None, SMALL | {"epochs": epochs}))
    trainer = Trainer(problem)
    trainer.advance(400)
    sums = trainer.read()[0].state[:, problem.widths.entity :].mean(axis=1)
    of_fact = epochs * sums.sum() / 800
    assert np.median(sums) < 5 * of_fact
    assert adagrad_start(problem, Trainer) == pytest.approx(of_fact / 12, rel=0.05)


def test_the_start_is_a_plain_number_in_the_run_and_in_those_with_other_seeds(
    tmp_path: Path,
) -> None:
    run = whereof.train(NATIONS, out=tmp_path / "run", search=False, **SMALL | {"trace": True})
    stored = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert run.config.accumulator == stored["config"]["accumulator"] == start_of(trace=True)
    assert stored["search"] is None
    run.verify("usa", "embassy", "uk", top=1, seeds=2)
    (other,) = (tmp_path / "run" / "siblings").iterdir()
    assert whereof.Run.open(other).config.accumulator == run.config.accumulator


def test_a_given_start_is_kept_and_other_optimizers_have_none(tmp_path: Path) -> None:
    given = whereof.train(NATIONS, out=tmp_path / "given", accumulator=0, search=False, **SMALL)
    assert given.config.accumulator == 0
    lazy = {"optimizer": "adam-lazy"} | SMALL
    assert whereof.train(NATIONS, out=tmp_path / "lazy", **lazy).config.accumulator is None
    paper = whereof.train(NATIONS, out=tmp_path / "paper", preset="paper", epochs=1)
    assert paper.config.accumulator is None
    assert paper.manifest.search is None


def search_by(
    gain: Callable[[float], float], given: dict[str, Any], data: whereof.Dataset = NATIONS
) -> tuple[Problem, SearchResult | None]:
    """A search where the size of the rows is good, or bad."""
    config = choose_config(data, None, SMALL | given)
    problem = Problem.of(data, config)

    def validate(rows: Parameters) -> Validation:
        size = float(np.linalg.norm(rows.entity_rows))
        return Validation("size", size, gain(size), Validation.count_cases(data, rated=False))

    return settle_steps(
        problem, config, Trainer, Events(), given, data, lambda part: validate, np.inf
    )


def test_the_search_goes_where_validation_is_better() -> None:
    wanted = {"rate": 0.1, "accumulator": 0.1}
    (less, found), (more, _) = (search_by(gain, wanted) for gain in (operator.pos, operator.neg))
    assert less.config.n3 < 0.03 < more.config.n3
    assert found is not None
    assert found.chosen == {"n3": less.config.n3}
    assert found.tried[0]["n3"] == 0.03
    by_n3 = {trial["n3"]: trial["value"] for trial in found.tried}
    assert by_n3[less.config.n3] > by_n3[0.03]
    assert (less.config.rate, less.config.accumulator) == (0.1, 0.1)


def test_the_search_never_tries_a_smaller_start_or_a_larger_rate() -> None:
    for gain in (operator.pos, operator.neg):
        problem, found = search_by(gain, {"n3": 0.0})
        assert found is not None
        first, *others = found.tried
        assert all(trial["accumulator"] >= first["accumulator"] for trial in others)
        assert all(trial["rate"] <= first["rate"] for trial in others)
        assert problem.config.accumulator >= first["accumulator"]


@pytest.mark.parametrize("n_users", [49, 50])
def test_few_validation_users_decide_nothing(n_users: int) -> None:
    """The metric is a mean over users, however many facts they have."""
    pairs = [(f"u{user}", f"i{item}") for user in range(200) for item in range(5)]
    data = whereof.read(pd.DataFrame(pairs, columns=["user", "item"]))
    valid = np.array([(at % n_users, 0, 200 + at % 5) for at in range(600)], np.int32)
    trials = iter([1.0, *[1.5] * 9])
    given = {"rate": 0.1, "accumulator": 0.1, "epochs": 1}
    problem, found = search_by(lambda _: next(trials), given, replace(data, valid=valid))
    assert (found is None) is (n_users < 50)
    assert (problem.config.l2 == 0.1) is (n_users < 50)


def test_nothing_is_searched_when_all_is_given() -> None:
    problem, found = search_by(operator.pos, {"n3": 0.01, "rate": 0.2, "accumulator": 0.5})
    assert found is None
    assert (problem.config.n3, problem.config.rate, problem.config.accumulator) == (0.01, 0.2, 0.5)


def test_what_was_searched_is_told_and_kept_and_twice_the_same(tmp_path: Path) -> None:
    settings, said = {"dim": 8, "epochs": 4}, Recorded()
    one = whereof.train(NATIONS, out=tmp_path / "one", events=said, **settings)
    two = whereof.train(NATIONS, out=tmp_path / "two", **settings)
    assert outcome(tmp_path / "one") == outcome(tmp_path / "two")
    search = one.manifest.search
    assert search is not None
    assert search["tried"] == two.manifest.search["tried"]
    assert search == one.summary()["search"]
    assert all(getattr(one.config, name) == value for name, value in search["chosen"].items())
    (line,) = (note for note in said.notes if note.startswith("searched"))
    assert f"n3 {one.config.n3:g}, rate {one.config.rate:g}, accumulator" in line


def test_a_search_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="search"):
        whereof.train(NATIONS, out=tmp_path / "run", events=Recorded(1, Advanced), **SMALL)
    assert not list(tmp_path.iterdir())


def test_without_validation_facts_nothing_is_searched(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("a\tr\tb\nb\tr\tc\nc\tr\ta\n")
    run = whereof.train(tmp_path / "facts.tsv", out=tmp_path / "run", dim=2, epochs=1)
    assert run.manifest.search is None
    assert run.config.accumulator > 0


@pytest.mark.parametrize("rated", [False, True])
def test_recommenders_search_for_l2_only_with_adagrad(tmp_path: Path, rated: bool) -> None:
    lines = [f"u{u}\ti{i}\t{1 + (u + i) % 5}\n" for u in range(60) for i in range(12)]
    (tmp_path / "data.tsv").write_text("".join(lines))
    columns = {"rating": "3"} if rated else {}
    settings = {"columns": "1,2", "valid_fraction": 0.2, "dim": 2, "epochs": 2} | columns
    data, default, adagrad = (tmp_path / name for name in ("data.tsv", "default", "adagrad"))
    run = whereof.train(data, out=default, **settings)
    assert (run.manifest.search is None) is rated  # trained with sgd
    search = whereof.train(data, out=adagrad, optimizer="adagrad", **settings).manifest.search
    assert search is not None
    assert set(search["chosen"]) == {"l2", "rate", "accumulator"}
    assert search["metric"] == ("rmse" if rated else "ndcg@10")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "fewer than 50 validation facts"),
        ({"optimizer": "sgd"}, "it needs the optimizer adagrad, not sgd"),
        ({"validate_every": 0}, "training is not validated"),
        (
            {"n3": 0.1, "accumulator": 0.1, "rate": 0.1},
            "all settings that it could change are given",
        ),
    ],
)
def test_a_search_that_is_skipped_is_no_secret(
    settings: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    events, facts = Recorded(), [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")]
    data = whereof.read(pd.DataFrame(facts, columns=["subject", "relation", "object"]))
    options: dict[str, Any] = {"dim": 4, "epochs": 1, **settings}
    run = whereof.train(data, out=tmp_path / "run", events=events, **options)
    notes = [each.text for each in events.events if isinstance(each, Note)]
    assert any(it.startswith(f"no search for settings: {reason}") for it in notes)
    assert run.info().get("search") is None
    events = Recorded()
    whereof.train(data, out=tmp_path / "other", events=events, search=False, **options)
    assert not any("search" in each.text for each in events.events if isinstance(each, Note))


def test_a_skipped_search_names_a_fraction_that_gives_enough_validation_facts(
    tmp_path: Path,
) -> None:
    facts = [(f"e{i % 40}", "r", f"e{(i * 7 + i // 40) % 40}") for i in range(1000)]
    names = ["subject", "relation", "object"]
    data = whereof.read(pd.DataFrame(facts, columns=names), valid_fraction=0.01)
    events = Recorded()
    whereof.train(data, out=tmp_path / "run", dim=4, epochs=1, events=events)
    (note,) = (it for it in events.notes if it.startswith("no search"))
    fraction = float(note.split("--valid-fraction ")[1])
    assert 50 <= fraction * (data.n_facts + len(data.valid)) < 62
