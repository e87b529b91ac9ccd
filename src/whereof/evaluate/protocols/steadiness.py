"""Steadiness: how much removing one random fact changes predictions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import Protocol, Retrainings, SampleSize
from whereof.evaluate.reliability import (
    claims_jobs,
    linearity_jobs,
    measure_claims,
    measure_linearity,
)
from whereof.evaluate.sample import Sample, Task
from whereof.evaluate.statistics import Interval, measured, seeds_mean
from whereof.evaluate.variant import draws_at_random, find_variant
from whereof.retrain.engine import Job
from whereof.retrain.size import CHECKS_EACH
from whereof.run.reliability import Claims, Linearity
from whereof.units import count, is_number, show

_MOST_WEIGHED, _MOST_CLAIMS = 10, 25
"""Maximum number of facts for linearity, and of predictions for claims."""


@dataclass(frozen=True)
class Steadiness:
    """How often removing one random fact changes a top answer: the floor of TC."""

    n_removals: int
    changed: float
    """Share of (removal, prediction) pairs with another top answer."""
    interval: Interval | None
    mean_change: float
    linearity: Linearity | None = None
    """None if the engine cannot change the weights of facts."""
    claims: tuple[Claims, ...] = ()
    """Of the default method and of those asked for, if they say what happens without a fact."""


class SteadinessProtocol(Protocol):
    """See `docs/protocols/steadiness.md`."""

    name = "steadiness"
    title = "Steadiness"
    fields: ClassVar[Mapping[str, Any]] = {"steadiness": Steadiness | None}
    options = ("removals",)

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        n_removals = min(options.removals, size.n_facts)
        n_weighed, n_claims = (min(size.n_predictions, n) for n in (_MOST_WEIGHED, _MOST_CLAIMS))
        n_claims *= CHECKS_EACH * len(_claiming_methods([size.default_method, *options.methods]))
        return Retrainings(n_claims + n_weighed, n_removals, 2 * n_weighed + 1)

    def jobs(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        return [
            *self._removals(sample, options),
            *linearity_jobs(sample, _MOST_WEIGHED, options.seed),
            *(
                job
                for method in _claiming_methods([sample.default_method, *options.methods])
                for job in claims_jobs(sample, method, _MOST_CLAIMS)
            ),
        ]

    def _removals(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        """Random facts, each alone; every prediction is looked at."""
        every = np.arange(len(sample))
        random = np.random.default_rng([options.seed, sample.case.seed])
        n_removals = min(options.removals, sample.n_facts)
        fact_ids = random.choice(sample.n_facts, n_removals, replace=False)
        return [Job.of([fact_id], every) for fact_id in fact_ids]

    def run(self, task: Task) -> Mapping[str, Any]:
        """The interval draws seeds, and removals within each."""
        changed, moved = [], []
        for sample in task.seeds:
            outcomes = task.retrain(sample, self._removals(sample, task.options), "random", 1)
            after, control = np.stack(outcomes.jobs), outcomes.control  # (n_removals, n)
            changed.append((after["top"] != control["top"]).mean(axis=1))
            moved.append(np.abs(sample.outputs(after) - sample.outputs(control)).mean(axis=1))
        share = measured(changed, task.options.seed)[:2]
        found = Steadiness(sum(map(len, changed)), *share, seeds_mean(moved))
        linearity = measure_linearity(task.seeds, _MOST_WEIGHED, task.options.seed)
        methods = _claiming_methods([task.seeds[0].default_method, *task.options.methods])
        claims = [measure_claims(task.seeds, method, _MOST_CLAIMS) for method in methods]
        known = tuple(each for each in claims if each is not None)
        return {"steadiness": replace(found, linearity=linearity, claims=known)}

    def headline(self, found: Evaluation) -> str:
        changed = found.steadiness.changed
        if not is_number(changed):
            return ""
        return f"Removing one random fact changes {show(changed, 'percent')} of the top answers."

    def sentences(self, found: Evaluation) -> Iterator[str]:
        row = found.steadiness
        if not is_number(row.changed):
            return
        yield (
            f"Removing one random fact changes {show(row.changed, 'percent')} of the top answers "
            f"({show(row.interval, 'percent', 'interval') or 'no interval'}; "
            f"{count(row.n_removals, 'removal')}) and the {found.quantity} by "
            f"{show(row.mean_change, 'number')} on average. Removing the facts "
            "that a method chooses should change more of them."
        )
        yield from map(str, filter(None, (row.linearity, *row.claims)))
        high = row.interval[1] if row.interval else np.nan
        for other in found.results.get("removal", ()):
            if other.k == 1 and not draws_at_random(other.method) and is_number(other.tc):
                low = other.tc_interval[0] if other.tc_interval else np.nan
                where = "clearly" if low > high else "not clearly"
                tc = show(other.tc, "percent")
                yield (
                    f"Removing the first fact of {other.method} changes {tc} of the top answers. "
                    f"This is {where} more than removing a random fact does."
                )


PROTOCOL = SteadinessProtocol()


def _claiming_methods(methods: Iterable[str]) -> list[str]:
    """The methods that estimate the prediction without a fact."""
    return [name for name in dict.fromkeys(methods) if "standings" in find_variant(name).method.can]
