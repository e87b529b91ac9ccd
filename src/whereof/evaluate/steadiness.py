"""How steady training is: what removing one fact at random does to predictions, the floor of TC."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whereof.evaluate.estimates import outputs
from whereof.evaluate.recording import Recorder
from whereof.evaluate.results import Found, Retraining, Steadiness
from whereof.evaluate.sample import Sample
from whereof.evaluate.statistics import bootstrap_interval, seeds_mean
from whereof.predict import Standings
from whereof.retrain import Job


@dataclass(frozen=True, eq=False)
class _Shaken:
    """A sample without one random fact, again and again."""

    sample: Sample
    fact_ids: NDArray[np.int64]
    control: Standings
    after: Standings
    """(n_removals, n_predictions)."""

    @property
    def changed(self) -> NDArray[np.bool_]:
        """(n_removals, n_predictions) where another answer is on top."""
        return np.asarray(self.after["top"] != self.control["top"])

    @property
    def moved(self) -> NDArray[np.float64]:
        """(n_removals, n_predictions) how far the probability moved, or a rating."""
        after, before = (outputs(self.sample, each) for each in (self.after, self.control))
        return np.asarray(np.abs(after - before))


def steady(samples: Sequence[Sample], n_removals: int, seed: int) -> Found:
    """Remove facts that are drawn at random, each alone, and look at all predictions.

    The one row is a `Steadiness`; its interval draws seeds, and removals within each.
    """
    found = [_shake(sample, n_removals, seed) for sample in samples]
    shares = [each.changed.mean(axis=1) for each in found]
    row = Steadiness(
        n_removals=sum(len(each.fact_ids) for each in found),
        changed=seeds_mean(shares),
        interval=bootstrap_interval(shares, seed),
        mean_change=seeds_mean([each.moved.mean(axis=1) for each in found]),
    )
    return Found((row,), tuple(row for each in found for row in _rows(each)))


def shaking_jobs(sample: Sample, n_removals: int, seed: int) -> list[Job]:
    """Retrainings without one random fact each, all predictions looked at."""
    n_facts = sample.case.trained.dataset.n_facts
    random = np.random.default_rng([seed, sample.case.seed])
    fact_ids = random.choice(n_facts, min(n_removals, n_facts), replace=False)
    return [Job.of([fact_id], np.arange(len(sample.situations))) for fact_id in fact_ids]


def _shake(sample: Sample, n_removals: int, seed: int) -> _Shaken:
    jobs = shaking_jobs(sample, n_removals, seed)
    fact_ids = np.concatenate([job.removed for job in jobs])
    outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
    return _Shaken(sample, fact_ids, outcomes.control, np.stack(outcomes.jobs))


def _rows(found: _Shaken) -> list[Retraining]:
    recorder = Recorder(found.sample, found.control, "steadiness")
    return [
        recorder.record(number, (fact_id,), standing, method="random", k="1")
        for fact_id, standings in zip(found.fact_ids.tolist(), found.after, strict=True)
        for number, standing in enumerate(standings)
    ]
