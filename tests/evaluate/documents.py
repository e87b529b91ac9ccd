"""A complete evaluation with made-up results."""

from dataclasses import replace
from typing import Any

from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.protocol import no_results
from whereof.evaluate.protocols.approximation import Approximation
from whereof.evaluate.protocols.datamodelling import Datamodelling
from whereof.evaluate.protocols.kelpie import Kelpie
from whereof.evaluate.protocols.leave_one_out import LeaveOneOut, SizeError
from whereof.evaluate.protocols.removal import Change, Removal, Significance
from whereof.evaluate.protocols.steadiness import Steadiness
from whereof.evaluate.protocols.theory import Theory
from whereof.evaluate.statistics import Spread

SIZES: tuple[int | str, ...] = (1, 10, "all")


def removal(method: str, k: int | str, pd: float, tc: float, removed: float) -> Removal:
    return Removal(
        method=method,
        k=k,
        pd=pd,
        pd_interval=(pd - 0.05, min(pd + 0.05, 1.0)),
        pd_seeds=(pd - 0.02, pd),
        tc=tc,
        tc_interval=(tc - 0.05, tc + 0.05),
        tc_seeds=(tc, tc + 0.01),
        tc_released=tc and tc + 0.02,
        n_predictions=143,
        n_seeds=2,
        removed_mean=removed,
        removed_std=0.0,
    )


def removals() -> tuple[Removal, ...]:
    shares = {
        "rollback": ((0.916, 0.34), (0.97, 0.83), (0.99, 0.96)),
        "random": ((0.54, 0.12), (0.66, 0.36), (0.82, 0.7)),
    }
    return tuple(
        removal(method, k, *pair, removed)
        for method, pairs in shares.items()
        for k, pair, removed in zip(SIZES, pairs, (1.0, 10.0, 261.4), strict=True)
    )


def approximation(constraint: str, r: float, lipschitz: float) -> Approximation:
    points = tuple((n / 20, n / 22, n / 21) for n in range(20))
    return Approximation(constraint, len(points), r, r - 0.5, lipschitz, points)


THEORY = Theory(
    model="distmult",
    largest_norm=2.0,
    lipschitz=8.0,
    lipschitz_met=6.93,
    smoothness=8.0,
    n_facts=1592,
    n_steps=15920,
    rate=47.8,
    stability_bound=12.5,
    recurrence_bound=3.0,
    rollback_error=0.0123,
    original_error=0.0456,
    n_pairs=143,
    normaliser_mean=3.1,
    normaliser_std=0.2,
    score_std=1.4,
)


def change(found: Evaluation, **changes: Any) -> Evaluation:
    """An evaluation with other fields, or other results of protocols."""
    results = {name: changes.pop(name) for name in no_results() if name in changes}
    return replace(found, **changes, results=found.results | results)


FULL = change(
    Evaluation(
        run="runs/nations",
        dataset="nations",
        model="distmult",
        config={"model": "distmult", "dim": 10},
        seeds=(42, 43),
        predictions="top",
        split="test",
        options={"baseline": "random"},
        n_predictions=143,
        n_adjacent_mean=508.0,
        n_adjacent_std=101.0,
        results=no_results(),
        explain_seconds={"rollback": 0.0021, "random": 1.5},
        n_retrainings=900,
        seconds=61.0,
        notes=("a note of the evaluation",),
    ),
    removal=removals(),
    significance=(
        Significance("rollback", "random", 1, "pd", 0.376, 0.0001),
        Significance("rollback", "random", 1, "tc", 0.22, 0.21),
    ),
    changes=(
        Change("rollback", "random", 1, Spread(-0.1, 0.0, 0.02, 0.1, 0.3, 0.05, 0.1), 1.0),
        Change("rollback", "random", "all", Spread(-0.1, 0.1, 0.2, 0.3, 0.6, 0.25, 0.1), 261.4),
    ),
    steadiness=Steadiness(40, 0.065, (0.05, 0.08), 0.0123),
    approximation=(approximation("none", 0.93, 6.93), approximation("unit", 0.99, 0.67)),
    leave_one_out=(
        LeaveOneOut(
            "rollback",
            0.14,
            (0.1, 0.2),
            0.07,
            (0.05, 0.1),
            0.33,
            143,
            1,
            1592,
            size_error=1.3,
            size_worst=2.5,
            seconds=0.01,
            size_by_degree=(SizeError(12.0, 2.5, 700), SizeError(80.5, 1.2, 700)),
        ),
        LeaveOneOut("tracin", 0.44, (0.4, 0.5), 0.25, (0.2, 0.3), 0.2, 143, 1, 1592),
    ),
    datamodelling=(Datamodelling("rollback", 0.21, (0.15, 0.25), 100, 143, 1),),
    kelpie=(Kelpie("rollback", 1, 100, 2, 95.0, 1.0, 0.35, 0.65, 1.0, 0.5, 0.5),),
    theory=THEORY,
)

RATED_CONFIG = {"model": "mf-biased", "dim": 4, "loss": "squared"}

RATED = change(
    FULL,
    run="runs/ratings",
    dataset="ratings",
    model="mf-biased",
    config=RATED_CONFIG,
    changes=(
        Change("rollback", "random", 1, Spread(-0.5, 0.0, 0.1, 0.3, 1.2, 0.2, 0.3), 1.0),
        Change("rollback", "random", "all", Spread(-0.2, 0.2, 0.5, 0.9, 2.5, 0.6, 0.4), 21.4),
    ),
    approximation=(
        Approximation("none", 3, 0.9, 0.5, 2.1, ((4.1, 3.9, 3.8), (3.5, 3.1, 3.3), (2.2, 2.1, 2))),
    ),
    theory=replace(
        THEORY,
        model="mf-biased",
        lipschitz=None,
        smoothness=None,
        stability_bound=None,
        recurrence_bound=None,
        normaliser_mean=None,
        normaliser_std=None,
        score_std=None,
    ),
)
"""An evaluation of a rating model, which has no probabilities."""

INFO: dict[str, Any] = {
    "run": "runs/nations",
    "dataset": "nations",
    "model": "distmult",
    "whereof": "0.1.0",
    "created": "2026-01-02T03:04:05+00:00",
    "n_facts": 1592,
    "n_valid": 199,
    "n_test": 201,
    "n_entities": 14,
    "n_relations": 55,
    "epochs": 10,
    "best_epoch": 9,
    "steps": 15920,
    "seconds": 0.034,
    "lipschitz": 5.38,
    "metrics": {"test": {"mrr": 0.7109, "hits@1": 0.5622, "paper_filter": {"mrr": 0.6256}}},
    "dataset_hash": "6bc3",
    "notes": ["2 facts were dropped"],
    "read": {"data": "nations"},
    "config": {"model": "distmult", "dim": 10},
    "history": [
        {"epoch": 1, "loss": 2.6, "facts": 1592},
        {"epoch": 2, "loss": 2.1, "facts": 3184, "mrr": 0.7},
    ],
}

RATED_INFO = INFO | {
    "run": "runs/ratings",
    "dataset": "ratings",
    "model": "mf-biased",
    "config": RATED_CONFIG,
    "read": {"data": "ratings.tsv"},
    "metrics": {"test": {"rmse": 0.91, "mae": 0.71}},
    "history": [{"epoch": 1, "loss": 1.2, "facts": 100}],
}


def document(**changes: Any) -> dict[str, Any]:
    """What `Evaluation.to_dict()` gives."""
    return change(FULL, **changes).to_dict()
