"""Options of an evaluation, and error messages for bad ones."""

from typing import Any

import pytest

from whereof import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.variant import find_variant
from whereof.registry import METHODS, PROTOCOLS, names


def test_what_is_asked_by_default() -> None:
    options = EvaluateOptions()
    assert options.methods == ("rollback", "random")
    assert options.k == (1, 10, "all")
    assert options.protocols == ("removal", "steadiness")
    assert (options.baseline, options.constraints) == ("random", None)
    assert (options.predictions, options.split, options.limit, options.seeds) == (
        ("top", None, None, 1)
    )


@pytest.mark.parametrize("k", ["1, 3,all,3", [1, 3, "all"], ("1", "3", "all")])
def test_lists_are_texts_or_lists_and_each_counts_once(k: Any) -> None:
    assert EvaluateOptions(k=k).k == (1, 3, "all")
    assert EvaluateOptions(k=5).k == (5,)


def test_all_protocols() -> None:
    assert EvaluateOptions(protocols="all").protocols == names(PROTOCOLS)


def test_methods_are_those_of_explain() -> None:
    assert EvaluateOptions(methods=",".join(names(METHODS))).methods == names(METHODS)


def test_a_method_may_come_in_variants() -> None:
    asked = "unrolled, unrolled:sweep_epochs=1,rollback:credit=step ,unrolled:sweep-epochs=1"
    options = EvaluateOptions(methods=asked)
    assert options.methods == ("unrolled", "unrolled:sweep-epochs=1", "rollback:credit=step")
    last = find_variant("unrolled:sweep-epochs=1")
    assert (last.method.name, last.explained, last.trained) == ("unrolled", {"sweep_epochs": 1}, {})
    assert find_variant("rollback:credit=step").trained == {"credit": "step"}
    assert [find_variant(text).exact for text in ("retrain", "verified", "rollback")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("drop", ["1%,10%,50%", "0.01,0.1,0.5", [0.01, 0.1, 0.5]])
def test_shares_to_drop_are_fractions_or_percent(drop: Any) -> None:
    assert EvaluateOptions(drop=drop).shares == (0.01, 0.1, 0.5)
    assert EvaluateOptions(drop=0.25).shares == (0.25,)


def test_the_baseline_is_random_or_the_first_method() -> None:
    assert EvaluateOptions(methods="criage,rollback").baseline == "criage"
    assert EvaluateOptions(methods="criage,random,rollback").baseline == "random"
    assert EvaluateOptions(baseline="rollback").baseline == "rollback"


def test_options_come_back_from_their_dict() -> None:
    options = EvaluateOptions(k="1,all", protocols="approximation", constraints="unit,max:2")
    assert EvaluateOptions.from_dict(options.to_dict()) == options
    assert options.constraints == ("unit", "max:2")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"methods": "rolback"}, "unknown method 'rolback'; did you mean 'rollback'? choose from"),
        (
            {"methods": "rollback:sweep-epochs=1"},
            "method rollback has no setting 'sweep-epochs=1'; "
            "choose from credit, trace-precision, as rollback:NAME=VALUE",
        ),
        ({"methods": "gradient-dot:budget=3"}, "no setting 'budget=3'; leave it out"),
        ({"methods": "rollback:credit=all"}, "unknown credit 'all'; choose from step"),
        ({"methods": "verified:budget=1"}, "budget is 1; give 2 retrainings or more"),
        ({"drop": "0.1,2"}, "drop is '2'; give shares between 0 and 1"),
        ({"drop": "many"}, "drop is 'many'"),
        ({"facts": 10}, "facts requires the protocol leave-one-out"),
        ({"methods": " ,"}, "methods is empty"),
        ({"protocols": "removals"}, "unknown protocol 'removals'; did you mean 'removal'?"),
        ({"protocols": "removal,all"}, "unknown protocol 'all'; "),
        ({"k": "0"}, "k is '0'; give numbers from 1 on, or all"),
        ({"k": "1,some"}, "k is 'some'"),
        ({"baseline": "criage"}, "baseline 'criage' is not among the methods: rollback, random"),
        ({"constraints": "unit"}, "constraints requires the protocol approximation; add it"),
        ({"protocols": "approximation", "constraints": "tiny"}, "constraint is 'tiny'; choose"),
        ({"adjacent_only": True}, "adjacent_only requires the protocol leave-one-out"),
        (
            {"least_adjacent": 9, "most_adjacent": 8},
            "least_adjacent is 9 and most_adjacent 8; least_adjacent must not be larger",
        ),
        ({"most_adjacent": 0}, "most_adjacent is 0; it must be 1 or more"),
        ({"limit": 0}, "limit is 0; it must be 1 or more"),
        ({"seeds": 0}, "seeds is 0; it must be 1 or more"),
        ({"predictions": "p.tsv", "split": "valid"}, "split requires predictions top or true"),
        ({"split": "dev"}, "unknown split 'dev'; choose from test, valid, train"),
    ],
)
def test_bad_values_are_named_with_what_is_allowed(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(WhereofError) as error:
        EvaluateOptions(**settings)
    assert said in str(error.value)
