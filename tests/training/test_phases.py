"""The calendar of phases: which facts every epoch has, and how many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whereof.errors import WhereofError
from whereof.training.config import Phase, TrainConfig
from whereof.training.phases import Calendar

SEED = np.uint64(7)


@st.composite
def calendars(draw: st.DrawFn) -> Calendar:
    phases, n_facts = list[Phase](), 0
    for number in range(draw(st.integers(1, 3))):
        n_facts += draw(st.integers(1, 20))
        n_replayed = draw(st.integers(0, 30)) if number else 0
        phases.append(Phase(n_facts, 5, 2, draw(st.integers(1, 90)), n_replayed))
    return Calendar(n_facts, tuple(phases))


@given(calendars())
def test_epochs_of_all_phases_add_up(calendar: Calendar) -> None:
    total = sum(phase.n_trained for phase in calendar.phases)
    n_epochs = calendar.n_epochs(total)
    sizes = [calendar.size(epoch) for epoch in range(n_epochs)]
    assert all(size > 0 for size in sizes)
    assert [calendar.before(epoch) for epoch in range(n_epochs)] == [0, *np.cumsum(sizes)][:-1]
    assert sum(sizes) >= total > sum(sizes[:-1])  # the last phase may go on
    before = 0
    for number, phase in enumerate(calendar.phases[:-1]):
        before += phase.n_trained
        first = calendar.n_epochs(before)
        assert calendar.before(first) == before  # phases never share an epoch
        assert calendar.phase(first - 1) == phase
        assert calendar.phase(first) == calendar.phases[number + 1]


@given(calendars())
def test_an_epoch_has_the_new_facts_and_some_earlier_ones(calendar: Calendar) -> None:
    first = 0
    for number, phase in enumerate(calendar.phases):
        n_earlier = calendar.phases[number - 1].n_facts if number else 0
        facts = calendar.facts(first, SEED)
        assert (np.diff(facts) > 0).all()
        assert facts[facts >= n_earlier].tolist() == [*range(n_earlier, phase.n_facts)]
        assert (facts < n_earlier).sum() == min(phase.n_replayed, n_earlier)
        first += -(-phase.n_trained // len(facts))


def test_epochs_replay_different_facts() -> None:
    calendar = Calendar(110, (Phase(100, 5, 2, 300), Phase(110, 5, 2, 60, 20)))
    one, two = (set(calendar.facts(epoch, SEED).tolist()) for epoch in (3, 4))
    assert one != two
    assert {*range(100, 110)} <= one & two


def test_without_phases_every_epoch_has_all_facts() -> None:
    calendar = Calendar(10)
    assert (calendar.size(3), calendar.before(3), calendar.n_epochs(21)) == (10, 30, 3)
    assert calendar.phase(0) is None


def test_phases_survive_a_manifest() -> None:
    config = TrainConfig(phases=(Phase(10, 5, 2, 30), Phase(12, 6, 2, 20, 8)))
    assert TrainConfig.from_dict(config.to_dict()) == config
    assert "phases" not in TrainConfig().to_dict()
    with pytest.raises(WhereofError, match="phases are not those of a run that was updated"):
        TrainConfig(phases=[{"n_facts": 3}])
