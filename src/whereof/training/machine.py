"""How training uses the machine it runs on; but for rounding, the outcome does not depend on it."""

from dataclasses import dataclass

from whereof.errors import WhereofError
from whereof.settings import Settings, choice, number


@dataclass(frozen=True)
class MachineOptions(Settings):
    """What training may take of a machine; checked on making."""

    device: str = choice("cpu", "where steps are taken", "Machine", "cpu", "cuda")
    threads: int | None = number(None, "for metrics  [default: one a core]", "Machine", 1)
    memory_share: float = number(
        0.5, "of memory, above which a trace is memory-mapped", "Machine", 0
    )
    checkpoint_seconds: float = number(
        60.0, "between checkpoints, more where writing one takes long", "Machine", 0
    )

    ranking_metrics: bool = choice(
        False, "for a model of ratings: also rank all items, which can take long", "Machine"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory_share > 1:
            raise WhereofError(f"memory_share is {self.memory_share:g}; it must be 1 or less")
