"""GPU memory: addresses are aligned, and no more is used than there is."""

from pathlib import Path
from typing import Any

import pytest
from training.helpers import make_problem

from retrain.cuda.conftest import MakeCard
from retrain.cuda.helpers import trained_fleet
from retrain.cuda.test_engine import free_for
from retrain.helpers import make_subject, never
from whereof.retrain.cuda.engine import CudaEngine
from whereof.retrain.cuda.layout import Sizes, plan_layout
from whereof.retrain.engine import Job


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adam", "negatives": 4},
        {"optimizer": "adagrad", "negatives": 6, "sampling": "independent"},
        {"optimizer": "sgd", "negatives": 6, "model": "mf-biased", "dim": 2},
    ],
    ids=lambda it: it["optimizer"],
)
def test_an_odd_number_of_candidates_leaves_all_in_line(
    cpu_card: MakeCard,
    capfd: pytest.CaptureFixture[str],
    settings: dict[str, Any],
    precision: str,
) -> None:
    """Shared memory has no room for what is kept of candidates, or it has."""
    problem = make_problem(**settings, precision=precision, epochs=1)
    sizes = Sizes.of(problem)
    assert sizes.most % 2 == 1
    whole = plan_layout(sizes, cpu_card(lanes=2, threads=2).limits, holds=False)
    for shared_bytes in (200_000, whole.shared_bytes - sizes.room + 1024):
        card = cpu_card(lanes=2, threads=2, shared_bytes=shared_bytes, aligned=True)
        fleet = trained_fleet(card, problem, [], [1], [2, 3])
        assert fleet.layout.room_shared == (shared_bytes == 200_000)
        assert fleet.finite().all()
    assert capfd.readouterr().err == ""


def test_waves_never_have_memory_at_the_same_time(cpu_card: MakeCard, tmp_path: Path) -> None:
    subject = make_subject(tmp_path, epochs=1)
    jobs, most = [Job.of([fact], [0]) for fact in range(6)], []
    for wanted in (subject.predictions, None):
        for n_jobs in (2, 6):
            card = cpu_card(free=free_for(2, subject))
            found = dict(CudaEngine(card).retrain(subject.recipe, jobs[:n_jobs], wanted, never))
            assert len(found) == n_jobs
            most.append(card.xp.most_bytes)
            assert card.xp.n_bytes == 0
    assert most[0] == most[1]
    assert most[2] == most[3]
    assert most[0] >= 2 * subject.recipe.problem.n_entities * subject.recipe.problem.widths.entity
