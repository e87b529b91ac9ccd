"""Which engine retrains: one table that feeds commands, docs and checks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.settings import Settings, choice, number

if TYPE_CHECKING:
    from whence.engines._protocol import Engine

# Numba, and all that is compiled by it, is imported in the function that chooses.


@dataclass(frozen=True)
class EngineOptions(Settings):
    """Where retraining runs; checked on making."""

    engine: str = choice("auto", "where models are retrained", "Retraining", "auto", "local")
    threads: int | None = number(None, "so many at a time  [default: all cores]", "Retraining", 1)


def choose_engine(options: EngineOptions) -> "Engine":
    """The engine that options ask for; auto takes this machine."""
    from whence.engines._local import LocalEngine

    return LocalEngine(options.threads)
