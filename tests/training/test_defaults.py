"""Default settings: they fit the data and the given settings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whereof
from whereof.data.dataset import Dataset, Ratings
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.models import MODELS
from whereof.training.defaults import CHOSEN, choose_config, default_settings


def make_dataset(
    n_facts: int = 50,
    n_entities: int = 20,
    *,
    n_valid: int = 5,
    two_way: bool = False,
    rated: bool = False,
    apart: bool = False,
) -> Dataset:
    """A dataset of that size; what its facts say does not matter here."""
    half = n_entities // 2
    subjects = range(half) if two_way or apart else range(n_entities)
    objects = range(half, n_entities) if two_way or apart else range(n_entities)
    fact = [subjects.start, 0, objects.start]
    splits = [np.tile(np.array(fact, np.int32), (n, 1)) for n in (n_facts, n_valid, 0)]
    ratings = Ratings(*(np.ones(len(split), np.float32) for split in splits)) if rated else None
    return Dataset(
        "made",
        Vocabulary(tuple(map(str, range(n_entities)))),
        Vocabulary(() if two_way else ("r",), kind="relation"),
        *splits,
        subjects=subjects,
        objects=objects,
        ratings=ratings,
    )


def test_graphs_get_a_model_that_answers_both_ways() -> None:
    config = choose_config(make_dataset(), None, {})
    assert (config.model, config.inverse, config.loss) == ("complex", True, "softmax")
    assert config.patience
    assert config.credit == "forget"
    assert choose_config(make_dataset(), "paper", {}).credit == "step"


@pytest.mark.parametrize(
    ("n_facts", "n_entities", "n3"), [(900, 1000, 0.03), (5005, 1001, 0.1), (5004, 1001, 0.15)]
)
def test_large_and_thin_graphs_are_penalised_more(n_facts: int, n_entities: int, n3: float) -> None:
    assert choose_config(make_dataset(n_facts, n_entities), None, {}).n3 == n3


def test_pairs_get_a_recommender_and_ratings_a_squared_loss() -> None:
    pairs = choose_config(make_dataset(two_way=True), None, {})
    assert (pairs.model, pairs.loss, pairs.inverse) == ("mf", "softmax", False)
    rated = choose_config(make_dataset(two_way=True, rated=True), None, {})
    assert (rated.model, rated.loss) == ("mf-biased", "squared")
    asked = choose_config(make_dataset(two_way=True, rated=True), None, {"loss": "sigmoid"})
    assert (asked.model, asked.loss) == ("mf", "sigmoid")


def test_objects_that_are_no_subjects_are_asked_for_one_way() -> None:
    assert not choose_config(make_dataset(apart=True), None, {}).inverse


@given(
    n_facts=st.sampled_from([1, 1_000, 300_000]),
    n_valid=st.sampled_from([0, 1, 100_000]),
    n_entities=st.sampled_from([4, 5_000]),
    two_way=st.booleans(),
    rated=st.booleans(),
    settings=st.fixed_dictionaries(
        {},
        optional={
            "optimizer": st.sampled_from(["sgd", "adagrad", "adam", "adam-lazy"]),
            "epochs": st.sampled_from([1, 7]),
            "validate_every": st.sampled_from([0, 2]),
            "dim": st.just(3),
        },
    ),
)
def test_choices_make_a_config_with_what_is_given(
    n_facts: int, n_valid: int, n_entities: int, two_way: bool, rated: bool, settings: dict
) -> None:
    dataset = make_dataset(
        n_facts, n_entities, n_valid=n_valid, two_way=two_way, rated=rated and two_way
    )
    config = choose_config(dataset, None, settings)
    assert {name: getattr(config, name) for name in settings} == settings
    assert 1 <= config.epochs <= 100
    assert bool(config.patience) == bool(n_valid and settings.get("validate_every", 1))
    assert set(default_settings(dataset, settings)) == set(CHOSEN) - settings.keys()


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if not model.two_way])
def test_every_model_gets_settings_that_it_can_be_trained_with(name: str, tmp_path: Any) -> None:
    dataset = whereof.read("nations")
    run = whereof.train(dataset, model=name, out=tmp_path / "run", epochs=4)
    assert run.metrics["test"]["mrr"] > 0.5


def test_a_larger_trace_makes_for_fewer_dimensions() -> None:
    small, large = (default_settings(make_dataset(n), {})["dim"] for n in (1_000, 3_000_000))
    assert small > large >= 16


def test_a_bad_setting_is_named_before_anything_is_made_of_it() -> None:
    with pytest.raises(WhereofError, match="epochs is 'many'; give a whole number"):
        choose_config(make_dataset(), None, {"epochs": "many"})


def test_numbers_of_numpy_are_numbers() -> None:
    settings = {"dim": np.int64(8), "rate": np.float32(0.5), "negatives": np.int32(3)}
    config = choose_config(make_dataset(), None, settings)
    assert (config.dim, config.rate, config.negatives) == (8, 0.5, 3)
    assert {type(config.dim), type(config.rate), type(config.negatives)} == {int, float}


def test_few_ratings_are_learned(tmp_path: Path) -> None:
    """Their validation error rises for some epochs before it falls."""
    random = np.random.default_rng(0)
    users, items = np.divmod(random.permutation(80 * 100)[:2500], 100)
    tastes = np.where(users % 4 == items % 4, 4.5, 2.0)
    ratings = np.clip(tastes + random.normal(0, 0.5, 2500), 1, 5).round()
    frame = {"user": users.tolist(), "item": items.tolist(), "rating": ratings.tolist()}
    data = whereof.read(frame, valid_fraction=0.1, test_fraction=0.1)
    found = whereof.train(data, out=tmp_path / "run").metrics["test"]["rmse"]
    assert found < 0.8 * ratings.std()
