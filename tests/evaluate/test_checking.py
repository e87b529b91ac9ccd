"""Missing requirements of a run are reported before anything is retrained."""

from pathlib import Path
from typing import Any

import pytest
from listening import Recorded
from trained import train

import whereof
from whereof.events import Advanced

TRACE = "this run has no trace, which .*{} requires"
CHECKPOINTS, AS_MANY = "tracin .*checkpoint", "random at k all removes as"
BACK = "going back through training"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    """Without a trace, and without kept checkpoints."""
    return train(tmp_path_factory.mktemp("runs") / "run", trace=False, epochs=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, TRACE.format("rollback")),
        ({"methods": "gradient-dot,random"}, AS_MANY),
        ({"methods": "gradient-dot,random", "protocols": "steadiness,kelpie"}, AS_MANY),
        (
            {"methods": "random", "protocols": "steadiness,approximation"},
            TRACE.format("approximation"),
        ),
        ({"methods": "random", "protocols": "steadiness,theory"}, TRACE.format("theory")),
        ({"methods": "tracin", "k": "1"}, CHECKPOINTS),
        ({"methods": "random,tracin", "protocols": "leave-one-out"}, CHECKPOINTS),
        (
            {"methods": "random,rollback-o", "protocols": "datamodelling"},
            TRACE.format("rollback-o"),
        ),
    ],
)
def test_what_is_missing_is_said_first(
    bare: whereof.Run, options: dict[str, Any], said: str
) -> None:
    assert bare.path is not None
    events = Recorded()
    with pytest.raises(whereof.WhereofError, match=said):
        bare.evaluate(events=events, limit=2, seeds=2, **options)
    assert events.n_planned == events.notes == []
    assert not (bare.path / "siblings").exists()


def test_what_does_without_a_trace_is_evaluated(bare: whereof.Run) -> None:
    options: dict[str, Any] = {"methods": "gradient-dot,random", "limit": 2, "removals": 2}
    found = bare.evaluate(k="1", protocols="removal,kelpie,steadiness", **options)
    assert len(found.removal) == 2
    assert bare.evaluate(k="all", methods="gradient-dot", limit=2, removals=2).removal
    # Steadiness asks no method.
    assert bare.evaluate(protocols="steadiness", limit=2, removals=2).steadiness is not None


@pytest.mark.parametrize(
    "options",
    [{"protocols": "leave-one-out", "facts": 2, "top_facts": 1}, {"protocols": "kelpie", "k": 1}],
)
def test_all_predictions_share_one_sweep(tmp_path: Path, options: dict[str, Any]) -> None:
    run = train(tmp_path / "run", optimizer="adagrad", rate=0.1, accumulator=0.1)
    events = Recorded()
    run.evaluate(methods="unrolled", predictions="true", limit=20, events=events, **options)
    swept = [each for each in events.events if isinstance(each, Advanced) and BACK in each.noun]
    assert sum(each.n_done == each.n_total for each in swept) == 1
