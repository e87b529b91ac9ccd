"""What of the paper is asked for, checked before anything is done."""

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from whereof.errors import WhereofError
from whereof.paper import _published as published
from whereof.retrain import EngineOptions
from whereof.training import TrainConfig

_LIMITS = {"fb15k-237": 100, "movielens": 100}
"""Random test predictions, as in the paper; of Nations, all."""


@dataclass(frozen=True)
class PaperOptions:
    """What of the paper is measured, and where it is kept."""

    dataset: str = "nations"
    models: tuple[str, ...] = published.MODELS
    seeds: int | None = None
    """Of every part; by default five of Nations, else three of DistMult with lazy Adam and one of
    all else."""
    limit: int | None = None
    out: Path | None = None
    data_dir: Path | None = None
    engine: EngineOptions = field(default_factory=EngineOptions)
    """As it was asked for: what auto comes to is settled later, and kept elsewhere."""
    time_budget: float | str | None = None
    """Seconds, or such as 90s, 10m, 2h, after which it stops; the same call goes on."""

    def __post_init__(self) -> None:
        _choose("dataset", self.dataset, tuple(published.DATASETS))
        for model in self.models:
            _choose("model", model, published.MODELS)
        if not self.models:
            raise WhereofError(f"no models; choose from {', '.join(published.MODELS)}")
        for name in ("seeds", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise WhereofError(f"{name} is {value}; it must be 1 or more")
        self.seconds  # noqa: B018 - raises on a time that cannot be read

    @property
    def seconds(self) -> float | None:
        """The time budget as a number; None for none."""
        found = TrainConfig(time_budget=self.time_budget).time_budget
        return None if found is None else float(found)

    @property
    def n_predictions(self) -> int | None:
        """How many of the test predictions; None for all."""
        return self.limit or _LIMITS.get(self.dataset)

    @property
    def folder(self) -> Path:
        return self.out or Path("runs") / f"paper-{self.dataset}"

    @property
    def command(self) -> str:
        """What to type for the same figures; folders, which differ from place to place, apart."""
        words = ["whereof", "paper", self.dataset]
        if self.models != published.MODELS:
            words += ["--models", ",".join(self.models)]
        for name, value in (("seeds", self.seeds), ("limit", self.limit)):
            words += [] if value is None else [f"--{name}", str(value)]
        if self.engine.engine != "auto":
            words += ["--engine", self.engine.engine]
        return shlex.join(words)


def _choose(noun: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise WhereofError(f"unknown {noun} {value!r}; choose from {', '.join(known)}")
