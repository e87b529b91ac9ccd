"""Which engine retrains: one table that feeds commands, docs and checks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.errors import WhenceError
from whence.settings import Settings, choice, number

if TYPE_CHECKING:
    from whence.engines._protocol import Engine

# Numba, and all that is compiled by it, is imported in the function that chooses.


@dataclass(frozen=True)
class EngineOptions(Settings):
    """Where retraining runs; checked on making."""

    engine: str = choice(
        "auto", "where models are retrained", "Retraining", "auto", "local", "ray", "cuda"
    )
    threads: int | None = number(None, "so many at a time  [default: all cores]", "Retraining", 1)
    ray_address: str | None = choice(
        None, "host:port of a running Ray cluster  [default: one on this machine]", "Retraining"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ray_address is not None and self.engine != "ray":
            raise WhenceError(
                f"ray_address goes with engine ray, not with {self.engine}; "
                "leave it out, or choose ray"
            )


def choose_engine(options: EngineOptions) -> "Engine":
    """The engine that options ask for; auto takes this machine."""
    if options.engine == "cuda":
        from whence.engines.cuda import CudaEngine

        return CudaEngine()
    if options.engine == "ray":
        from whence.engines._ray import RayEngine

        return RayEngine(options.ray_address, options.threads)
    from whence.engines._local import LocalEngine

    return LocalEngine(options.threads)
