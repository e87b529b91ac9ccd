"""How many retrainings an evaluation needs at most, and how many it rests on in the end."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.theory import N_RANDOM
from whereof.predict import Predictions
from whereof.retrain import Job, Outcomes, Retrainer


@dataclass(frozen=True, eq=False)
class CountingRetrainer(Retrainer):
    """A retrainer that remembers what it was asked, and what of it had to be trained.

    What is asked again, by whatever protocol, counts once.
    """

    asked: set[str] = field(default_factory=set)
    trained: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, retrainer: Retrainer) -> "CountingRetrainer":
        return cls(retrainer.recipe, retrainer.engine, retrainer.journal, retrainer.events)

    def ask(self, predictions: Predictions, jobs: Sequence[Job]) -> Outcomes:
        """See `Retrainer`."""
        for job in [Job.control(len(predictions)), *jobs]:
            self.asked.add(job.key)
            if self.journal.lacks(job.removed, predictions.places[job.which]):
                self.trained.add(job.key)
        return super().ask(predictions, jobs)


def count_retrainings(
    protocols: Collection[str],
    options: EvaluateOptions,
    n_predictions: int,
    n_facts: int,
    n_left_out: int | None = None,
) -> int:
    """Of one model at most, the control included: what two protocols share may count twice.

    `n_left_out` are the facts that leave-one-out removes; all of them, where that is not said.
    """
    sizes, n_methods = list(options.k), len(options.methods)  # type: ignore[arg-type]
    n_alone = n_predictions
    if "leave-one-out" in protocols:  # what others remove alone is among its own
        sizes, n_alone = [k for k in sizes if k != 1], 0
    counts = {
        "leave-one-out": n_facts if n_left_out is None else n_left_out,
        "steadiness": min(options.removals, n_facts) if n_alone or options.adjacent_only else 0,
        "datamodelling": options.subsets,
        "kelpie": n_methods * len(options.k),  # type: ignore[arg-type]
        "removal": n_methods * len(sizes) * n_predictions,
        "approximation": n_alone,
        "theory": (1 + N_RANDOM) * n_alone,
    }
    return 1 + sum(counts[name] for name in protocols)
