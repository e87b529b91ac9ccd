"""The maximum number of retrainings is announced once, before the first."""

from pathlib import Path
from typing import Any

import pytest
from listening import Recorded

import whereof
from evaluate.small import N_FACTS, train
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import SampleSize, count_retrainings
from whereof.evaluate.protocol import protocols as all_protocols
from whereof.registry import PROTOCOLS, names

WEIGHED = 2 * 7 + 7 + 2 * 7 + 1
"""For claims and linearity of 7 predictions: listed facts; near facts, their weights, a nudge."""


@pytest.mark.parametrize(
    ("protocols", "wanted"),
    [
        ("removal", 2 * 3 * 7),
        ("steadiness", 20 + WEIGHED),
        ("removal,steadiness", 2 * 3 * 7 + 20 + WEIGHED),
        ("approximation", 7),
        ("theory", 4 * 7),
        ("kelpie", 2 * 3),
        ("datamodelling", 100),
        ("leave-one-out", 500),
        # What is removed alone is among those of leave-one-out.
        ("leave-one-out,removal,steadiness,approximation,theory", 500 + 2 * 2 * 7 + 15),
    ],
)
def test_the_most_there_can_be(protocols: str, wanted: int) -> None:
    options = EvaluateOptions(protocols=protocols)
    size = SampleSize(7, 500, 500, "rollback")
    assert count_retrainings(options.protocols, options, size) == 1 + wanted


def test_all_protocols_share_the_retrainings_without_one_fact() -> None:
    options, size = EvaluateOptions(protocols="all"), SampleSize(7, 500, 500, "rollback")
    n_sets = sum(each.count(options, size).sets for each in all_protocols())
    assert n_sets >= 2 * 2 * 7 + 2 * 3 + 100
    assert count_retrainings(options.protocols, options, size) == 1 + 500 + n_sets


@pytest.mark.parametrize(
    ("protocols", "wanted"),
    [
        ("leave-one-out", 90),
        # Random facts need not be adjacent to anything; what methods remove is.
        ("leave-one-out,steadiness,removal", 90 + 20 + 2 * 2 * 7 + 15),
    ],
)
def test_adjacent_facts_are_fewer(protocols: str, wanted: int) -> None:
    options = EvaluateOptions(protocols=protocols, adjacent_only=True)
    size = SampleSize(7, 500, 90, "rollback")
    assert count_retrainings(options.protocols, options, size) == 1 + wanted


def test_no_more_facts_are_removed_alone_than_there_are() -> None:
    options = EvaluateOptions(protocols="steadiness", removals=50)
    size = SampleSize(7, 30, 30, "rollback")
    assert count_retrainings(options.protocols, options, size) == 31 + 15


@pytest.mark.parametrize("protocols", [*names(PROTOCOLS), "all"])
def test_no_more_are_done_than_were_foreseen(tmp_path: Path, protocols: str) -> None:
    run, events = train(tmp_path), Recorded()
    found = run.evaluate(
        events=events, protocols=protocols, seeds=2, k="1,2", subsets=4, removals=3, limit=3
    )
    (n_foreseen,) = events.n_foreseen
    assert found.n_retrainings == sum(events.n_planned) <= n_foreseen
    if protocols in ("leave-one-out", "all"):
        assert n_foreseen >= 2 * (N_FACTS + 1)
    if protocols in ("datamodelling", "leave-one-out"):
        assert found.n_retrainings == n_foreseen


def test_adjacent_facts_are_foreseen(tmp_path: Path) -> None:
    run, events = train(tmp_path), Recorded()
    found = run.evaluate(
        events=events,
        protocols="leave-one-out,steadiness,removal",
        adjacent_only=True,
        most_adjacent=25,
        k="1",
        removals=3,
        limit=1,
    )
    (left_out,) = found.leave_one_out[0].orders
    assert left_out.n_adjacent <= 25
    assert events.n_foreseen == [1 + left_out.n_adjacent + 3 + 3]
    assert found.n_retrainings == sum(events.n_planned) <= events.n_foreseen[0]


def test_other_constraints_are_foreseen_too(tmp_path: Path) -> None:
    run, events = train(tmp_path), Recorded()
    asked: dict[str, Any] = {"protocols": "approximation", "limit": 3}
    run.evaluate(events=events, constraints="unit,max:2", **asked)
    # A control for the run itself, and for each constraint a control and three predictions.
    assert events.n_foreseen == [1 + 2 * (1 + 3)]
    events = Recorded()
    whereof.Run.open(run.path).evaluate(events=events, **asked)  # type: ignore[arg-type]
    assert events.n_foreseen == [1 + 3]


def test_all_protocols_are_retrained_in_one_go(tmp_path: Path) -> None:
    run, events = train(tmp_path), Recorded()
    protocols = "removal,steadiness,approximation"
    found = run.evaluate(events=events, protocols=protocols, seeds=2, k="1,2", removals=3, limit=3)
    assert len(events.n_planned) == 2  # a seed each
    assert found.n_retrainings == sum(events.n_planned)
