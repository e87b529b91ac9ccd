"""Who looks on while the paper is done again."""

from dataclasses import dataclass

from whence.engines import RetrainWatch
from whence.training.results import Watch


@dataclass(frozen=True)
class Budget:
    """What is left to do, said before it begins."""

    n_parts: int
    n_kept: int
    """Parts that were finished before."""
    n_retrainings: int
    """At most."""
    seconds: float
    """From short probes."""


class PaperWatch(RetrainWatch):
    """Told of the budget, of parts and of retrainings, and asked whether to stop."""

    def preparing(self, run: str) -> None:
        """A model is about to be trained."""

    def budgeted(self, budget: Budget) -> None:
        """All is ready, and the long part begins."""

    def began(self, number: int, n_parts: int, title: str) -> None:
        """A part is about to be measured."""

    def downloading(self, url: str, done: int, total: int | None) -> None:
        """A dataset is fetched."""


class TrainingWatch(Watch):
    """Passes on what training has to ask."""

    def __init__(self, watch: PaperWatch) -> None:
        self._watch = watch

    def should_stop(self) -> bool:
        return self._watch.should_stop()

    def downloading(self, url: str, done: int, total: int | None) -> None:
        self._watch.downloading(url, done, total)
