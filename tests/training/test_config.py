"""Settings: bad values give one-line errors, good ones survive JSON and back."""

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from whereof.errors import WhereofError
from whereof.training.config import TrainConfig
from whereof.training.defaults import PRESETS, preset_settings

BAD = [
    ("dim", 0, "dim is 0; it must be 1 or more"),
    ("dim", 2.5, "dim is 2.5; give a whole number"),
    ("dim", True, "dim is True; give a whole number"),
    ("seed", -1, f"seed is -1; it must be 0 or more, and below {2**63}"),
    ("seed", 2**63, f"seed is {2**63}; it must be 0 or more, and below {2**63}"),
    ("precision", "float16", "unknown precision 'float16'; did you mean 'float64'? choose from "
     "float32, float64"),
    ("init", -0.1, "init is -0.1; it must be 0 or more"),
    ("inverse", "yes", "inverse is 'yes'; give true or false"),
    ("inverse", 1, "inverse is 1; give true or false"),
    ("loss", "hinge", "unknown loss 'hinge'; choose from softmax, sigmoid, squared"),
    ("loss", None, "loss is None; give a word"),
    ("negatives", 0, "negatives is 0; give a number from 1 on, or all"),
    ("negatives", "many", "negatives is 'many'; give a number from 1 on, or all"),
    ("negatives", 1.5, "negatives is 1.5; give a whole number or a word"),
    ("negatives", False, "negatives is False; give a whole number or a word"),
    ("sampling", "unique", "unknown sampling 'unique'; choose from distinct, independent"),
    ("l2", -1, "l2 is -1; it must be 0 or more"),
    ("n3", float("nan"), "n3 is nan; it must be finite, and 0 or more"),
    ("optimizer", "Adam", "unknown optimizer 'Adam'; did you mean 'adam'? choose from sgd, "
     "adagrad, adam, adam-lazy"),
    ("rate", 0, "rate is 0; it must be above 0"),
    ("rate", "fast", "rate is 'fast'; give a number"),
    ("schedule", "cosine", "unknown schedule 'cosine'; choose from constant, exponential, inverse"),
    ("decay_steps", 0, "decay_steps is 0; it must be 1 or more"),
    ("epsilon", 0, "epsilon is 0; adam-lazy requires a value above 0"),
    ("beta1", 1.0, "beta1 is 1.0; it must be 0 or more, and below 1"),
    ("beta2", 1, "beta2 is 1; it must be 0 or more, and below 1"),
    ("beta2", -0.5, "beta2 is -0.5; it must be 0 or more, and below 1"),
    ("epsilon", -1e-9, "epsilon is -1e-09; it must be 0 or more"),
    ("batch_size", 0, "batch_size is 0; it must be 1 or more"),
    ("order", "random", "unknown order 'random'; choose from file, shuffle, blocks"),
    ("epochs", 0, "epochs is 0; it must be 1 or more"),
    ("keep_checkpoints", -1, "keep_checkpoints is -1; it must be 0 or more"),
    ("negatives_from", "x", "unknown negatives_from 'x'; choose from objects, entities"),
    ("credit", "both", "unknown credit 'both'; choose from step, source, forget"),
    ("trace_precision", "int8", "unknown trace_precision 'int8'; choose from float16, float32, "
     "float64"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "message"), BAD)
def test_a_bad_setting_is_named_in_one_line(name: str, value: Any, message: str) -> None:
    with pytest.raises(WhereofError) as error:
        TrainConfig(**{name: value})
    assert str(error.value) == message


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("name", ["rate", "init", "l2", "epsilon", "decay"])
def test_numbers_are_finite(name: str, value: float) -> None:
    with pytest.raises(WhereofError, match=f"^{name} is {value}; "):
        TrainConfig(**{name: value})


@pytest.mark.parametrize(
    "bad", ["", "none:1", "unit:2", "max", "max:", "max:0", "max:-1", "max:x", "max:inf", "max:nan"]
)
def test_a_bad_constraint_is_named(bad: str) -> None:
    with pytest.raises(WhereofError) as error:
        TrainConfig(constraint=bad)
    assert str(error.value) == (
        f"constraint is {bad!r}; choose from none, unit, max:C with C above 0"
    )


@pytest.mark.parametrize(
    ("constraint", "bound"), [("none", None), ("unit", 1.0), ("max:0.5", 0.5), ("max:3", 3.0)]
)
def test_a_constraint_has_its_norm(constraint: str, bound: float | None) -> None:
    assert TrainConfig(constraint=constraint).max_norm == bound


def test_patience_needs_validation() -> None:
    with pytest.raises(WhereofError, match="patience needs validation"):
        TrainConfig(patience=2, validate_every=0)


def test_a_traces_precision_needs_a_trace() -> None:
    with pytest.raises(WhereofError, match="trace_precision needs a trace"):
        TrainConfig(trace=False, trace_precision="float32")


def test_whole_numbers_stand_for_numbers() -> None:
    assert TrainConfig(rate=1) == TrainConfig(rate=1.0)
    assert isinstance(TrainConfig(rate=1).rate, float)


def test_settings_survive_json() -> None:
    config = TrainConfig(
        model="complex", negatives="all", rate=1, trace_precision="float16", inverse=True, l2=0.1
    )
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(WhereofError, match="unknown setting 'epoch'; did you mean 'epochs'"):
        TrainConfig.from_dict({"epoch": 1})
    with pytest.raises(
        WhereofError, match="unknown setting 'lr'; choose from accumulator, batch_size"
    ):
        TrainConfig.from_dict({"lr": 0.1})


def test_replacing_a_setting_checks_it() -> None:
    config = TrainConfig()
    assert config.replace(dim=7).dim == 7
    assert config.dim != 7
    with pytest.raises(WhereofError, match="dim is -7"):
        config.replace(dim=-7)


@pytest.mark.parametrize("field", fields(TrainConfig), ids=lambda field: field.name)
def test_every_setting_says_what_it_is_for(field: Any) -> None:
    assert field.metadata["about"]
    assert field.metadata["group"] or field.name == "phases"  # recorded, not chosen


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dataset", ["nations", "fb15k-237", "movielens-100k", "another"])
def test_presets_are_settings(preset: str, dataset: str) -> None:
    chosen = preset_settings(preset, dataset)
    config = TrainConfig.from_dict(chosen)
    assert chosen.items() <= config.to_dict().items()


def test_the_papers_preset_is_the_papers_step() -> None:
    config = TrainConfig.from_dict(preset_settings("paper", "nations"))
    assert (config.optimizer, config.credit, config.sampling) == ("adam", "step", "independent")
    assert (config.batch_size, config.negatives, config.dim, config.redraw) == (1, 13, 10, False)
    assert preset_settings("paper", "movielens-100k")["loss"] == "sigmoid"


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(WhereofError) as error:
        preset_settings("papr", "nations")
    assert str(error.value) == "unknown preset 'papr'; did you mean 'paper'? choose from paper"


def test_adam_refuses_betas_that_its_series_does_not_reach() -> None:
    for settings in ({"beta2": 0.995}, {"beta1": 0.99}):
        with pytest.raises(WhereofError, match=r"adam requires .* adam-lazy"):
            TrainConfig(optimizer="adam", **settings)
    assert TrainConfig(optimizer="adam-lazy", beta2=0.9).beta2 == 0.9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"negatives": 5}, "loss squared takes no negatives: leave them out, or choose softmax"),
        ({"inverse": True}, "loss squared has no inverse direction: leave out inverse"),
    ],
)
def test_squared_loss_refuses_what_it_has_no_use_for(settings: dict, message: str) -> None:
    with pytest.raises(WhereofError) as error:
        TrainConfig(loss="squared", **settings)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("given", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("7", 7), (7, 7), (0.5, 0.5)]
)
def test_a_time_budget_is_kept_in_seconds(given: Any, seconds: float) -> None:
    assert TrainConfig(time_budget=given).time_budget == seconds


@pytest.mark.parametrize(
    "given", ["", "m", "soon", "-1", 0, "0s", "inf", "nan", float("nan"), "5d"]
)
def test_a_time_budget_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(
        WhereofError, match="give seconds above 0, or a text such as 90s, 10m or 2h"
    ):
        TrainConfig(time_budget=given)


def test_numbers_of_numpy_become_plain_ones() -> None:
    config = TrainConfig(
        dim=np.int64(7), rate=np.float32(0.5), l2=np.int8(1), negatives=np.uint8(3)
    )
    found = (config.dim, config.rate, config.l2, config.negatives)
    assert found == (7, 0.5, 1.0, 3)
    assert [type(value) for value in found] == [int, float, float, int]
    assert json.loads(json.dumps(config.to_dict())) == config.to_dict()
    with pytest.raises(WhereofError, match=r"dim is 2\.0; give a whole number"):
        TrainConfig(dim=np.float64(2))
