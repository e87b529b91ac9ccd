"""Evaluations with figures that can be checked by eye."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whereof.evaluate.evaluation import Evaluation, plain
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import no_results
from whereof.evaluate.protocols.approximation import Approximation
from whereof.evaluate.protocols.leave_one_out import LeaveOneOut, Order
from whereof.evaluate.protocols.removal import Change, Removal, Significance
from whereof.evaluate.protocols.steadiness import Steadiness
from whereof.evaluate.protocols.theory import Theory
from whereof.evaluate.sample import Retraining
from whereof.evaluate.statistics import Spread
from whereof.paper.measure import PartResult
from whereof.paper.plan import PaperOptions, Part, plan
from whereof.paper.write import Paper


def removal(method: str, k: int | str, pd: tuple[float, ...], tc: tuple[float, ...]) -> Removal:
    return Removal(
        method=method,
        k=k,
        pd=sum(pd) / len(pd),
        pd_interval=(min(pd) - 0.01, max(pd) + 0.01),
        pd_seeds=pd,
        tc=sum(tc) / len(tc),
        tc_interval=(min(tc) - 0.01, max(tc) + 0.01),
        tc_seeds=tc,
        tc_released=sum(tc) / len(tc) + 0.02,
        n_predictions=143,
        n_seeds=len(pd),
        removed_mean=250.0 if k == "all" else float(k),
        removed_std=50.0 if k == "all" else 0.0,
        tc_released_interval=(min(tc), max(tc) + 0.03),
        tc_released_seeds=tuple(share + 0.02 for share in tc),
        removed_seeds=(240.0, 260.0) if k == "all" else (float(k), float(k)),
    )


def retraining(**values: Any) -> Retraining:
    """A retraining that changes nothing, except for the given values."""
    known: dict[str, Any] = {
        "protocol": "removal",
        "method": "rollback",
        "k": "1",
        "seed": 42,
        "constraint": "none",
        "subject": "a",
        "relation": "r",
        "object": "b",
        "asks": "object",
        "removed": (1,),
        "original": 0.5,
        "predicted": None,
        "actual": 0.5,
        "original_score": 1.0,
        "actual_score": 1.0,
        "rank_before": 1,
        "rank_after": 1,
        "top_before": "b",
        "top_after": "b",
        "top_released": "b",
    }
    return Retraining(**(known | values))


def evaluation(**values: Any) -> Evaluation:
    """An evaluation with the given results and fields."""
    known: dict[str, Any] = {
        "run": "run",
        "dataset": "nations",
        "model": "distmult",
        "config": {},
        "seeds": (42, 43),
        "predictions": "top",
        "split": "test",
        "options": {},
        "n_predictions": 143,
        "n_adjacent_mean": 500.0,
        "n_adjacent_std": 100.0,
        "explain_seconds": {"rollback": 0.006},
        "explain_seconds_seeds": {"rollback": (0.005, 0.007)},
        "seconds": 2.0,
    }
    empty = no_results()
    results = empty | {name: value for name, value in values.items() if name in empty}
    fields = {name: value for name, value in values.items() if name not in empty}
    return Evaluation(**(known | fields), results=results)


def part(found: Evaluation, **values: Any) -> PartResult:
    """The result of a part; `results` says which."""
    metrics = {"mrr": 0.7, "hits@1": 0.55, "hits@10": 0.98}
    test = {**metrics, "paper_filter": {"mrr": 0.6, "hits@1": 0.4, "hits@10": 0.97}}
    document = {
        "asked": {},
        "evaluation": found.to_dict(),
        "training_seconds": [0.5, 0.7],
        "metrics": [{"test": test}] * 2,
        "significance": [],
        "examples": [],
        "measured": {
            "command": "whereof paper",
            "machine": "a processor, 2 cores",
            "date": "2026-11-15T10:00:00+00:00",
        },
    }
    unknown = Part("", "", EvaluateOptions())
    return PartResult.from_dict(unknown, plain(document | values), "hand made")


def results(options: PaperOptions, parts: Mapping[str, PartResult]) -> Paper:
    """The results of parts, by name."""
    known = [part for part in plan(options) if part.name in parts]
    return Paper(options, [replace(parts[part.name], part=part) for part in known])


def table1() -> PartResult:
    """Two seeds of DistMult: the paper's PD 1 of rollback, 93, lies inside, its TC 1, 38, above."""
    found = evaluation(
        removal=(
            *(removal("random", k, (0.5, 0.6), (0.1, 0.12)) for k in (1, 10, "all")),
            removal("rollback", 1, (0.88, 0.94), (0.3, 0.34)),
            removal("rollback", 10, (0.97, 0.99), (0.85, 0.87)),
            removal("rollback", "all", (1.0, 1.0), (0.97, 0.99)),
        ),
        changes=tuple(
            Change("rollback", "random", k, Spread(-0.1, 0.0, 0.1, 0.2, 0.4, 0.12, 0.1), 3.0)
            for k in (1, 10, "all")
        ),
        steadiness=Steadiness(40, 0.06, (0.05, 0.07), 0.01),
    )
    apart = Significance("rollback", "random", 1, "pd", 0.36, 0.0001, (0.3, 0.4), (0.34, 0.38))
    return part(found, significance=[apart])


def lazy() -> PartResult:
    """Three seeds of DistMult with lazy Adam, 46 points from random in every column."""
    rows = [
        removal(method, k, (pd,) * 3, (0.2,) * 3)
        for method, pd in (("random", 0.5), ("rollback", 0.95))
        for k in (1, 10, "all")
    ]
    near = Approximation("none", 3, 0.97, 0.5, 5.0, ((0.5, 0.4, 0.45),), lipschitz_seeds=(5.0,) * 3)
    apart = [
        Significance("rollback", "random", k, metric, 0.46, 0.0001, (0.4, 0.5), (0.46,) * 3)
        for k in (1, 10, "all")
        for metric in ("pd", "tc")
    ]
    found = evaluation(
        seeds=(42, 43, 44),
        removal=tuple(rows),
        approximation=(near,),
        steadiness=Steadiness(60, 0.02, (0.01, 0.03), 0.001),
    )
    return part(found, significance=apart)


def criage() -> PartResult:
    """Rollback above criage by 10 points of PD, and as good by TC."""
    rows = [
        removal(method, k, (pd, pd), (0.2, 0.2))
        for method, pd in (
            ("random", 0.5),
            ("criage", 0.8),
            ("rollback-o", 0.85),
            ("rollback", 0.9),
        )
        for k in (1, 3, 5, 10)
    ]
    apart = [
        Significance("rollback", "criage", k, metric, 0.1, p_value, (0.05, 0.15), (0.1, 0.1))
        for k in (1, 3, 5, 10)
        for metric, p_value in (("pd", 0.0001), ("tc", 1.0))
    ]
    seconds = {"random": 0.001, "criage": 0.01, "rollback-o": 0.002, "rollback": 0.006}
    by_seed = {method: (each, each) for method, each in seconds.items()}
    found = evaluation(removal=tuple(rows), explain_seconds_seeds=by_seed)
    return part(found, significance=apart)


def approximation() -> PartResult:
    points = ((0.5, 0.4, 0.45), (0.3, 0.2, 0.25))
    found = evaluation(
        approximation=(
            Approximation(
                *("none", 2, 0.95, 0.4, 6.9, points),
                pearson_probability_interval=(0.93, 0.97),
                pearson_probability_seeds=(0.94, 0.96),
                pearson_change_seeds=(0.3, math.nan),
                lipschitz_seeds=(6.8, 7.0),
            ),
            Approximation("unit", 2, 0.99, 0.6, 0.7, points, lipschitz_seeds=(0.7, 0.7)),
        )
    )
    return part(found)


def theory() -> PartResult:
    found = Theory(
        model="distmult",
        largest_norm=2.0,
        lipschitz=8.0,
        lipschitz_met=3.0,
        smoothness=8.0,
        n_facts=1592,
        n_steps=15920,
        rate=48.0,
        stability_bound=None,  # infinity is stored as null
        recurrence_bound=10.0,
        rollback_error=0.02,
        original_error=0.03,
        n_pairs=500,
        normaliser_mean=3.0,
        normaliser_std=0.5,
        score_std=1.5,
    )
    return part(evaluation(theory=found))


def order(**values: Any) -> Order:
    known: dict[str, Any] = {
        "seed": 42,
        "subject": "/m/1",
        "relation": "/film/film/edited_by",
        "object": "/m/2",
        "asks": "object",
        "n_adjacent": 228,
        "original": 0.5,
        "rho": 0.3,
        "best_fact": 7,
        "best_drop": 0.25,
        "best_rank": 12,
        "first_fact": 3,
        "first_drop": 0.05,
    }
    return Order(**(known | values))


def truth(**values: Any) -> PartResult:
    """Two predictions: the best fact takes half of one's probability, and a fifth of the other's.

    The correlation of gradient-dot is not known for the second.
    """
    second = {"subject": "/m/3", "original": 0.1, "best_drop": 0.02}
    rows = tuple(
        LeaveOneOut(
            *(method, 0.2, None, math.nan, None, 0.5, 2, 1, 400),
            orders=(order(), order(**second, best_rank=rank, first_drop=-0.02, rho=rho)),
        )
        for method, rank, rho in (("rollback", 30, 0.1), ("gradient-dot", 80, math.nan))
    )
    other = [order(rho=0.1, **values), order(**second, best_rank=50, first_drop=0.0)]
    labels = {"/m/1": "Happy-Go-Lucky", "/m/2": "Michael Kahn"}
    found = evaluation(seeds=(42,), leave_one_out=rows)
    return part(found, other_credit=other, labels=labels)
