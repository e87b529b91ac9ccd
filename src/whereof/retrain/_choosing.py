"""Options for engines, in one table for command options, docs and checks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whereof.errors import WhereofError
from whereof.settings import Settings, choice, number

if TYPE_CHECKING:
    from whereof.retrain._protocol import Engine
    from whereof.training.problem import Problem

# Numba, and all that is compiled by it, is imported in the function that chooses.

_LARGE_STEP = 1 << 13
"""Numbers of a step's candidates; of smaller steps a core takes many more a second than a card does
for one model."""


@dataclass(frozen=True)
class EngineOptions(Settings):
    """Where retraining runs. Values are checked on creation."""

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
            raise WhereofError(
                f"ray_address goes with engine ray, not with {self.engine}; "
                "leave it out, or choose ray"
            )


def choose_engine(options: EngineOptions) -> "Engine":
    """The engine for these options."""
    if options.engine == "cuda":
        from whereof.retrain.cuda.engine import CudaEngine

        return CudaEngine()
    if options.engine == "ray":
        from whereof.retrain._ray import RayEngine

        return RayEngine(options.ray_address, options.threads)
    from whereof.retrain._local import LocalEngine

    return LocalEngine(options.threads)


def settle_engine(options: EngineOptions, problem: "Problem") -> EngineOptions:
    """Options with `auto` resolved: the GPU if there is one and it is faster."""
    if options.engine != "auto":
        return options
    pays = options.threads is None and _pays_on_card(problem)
    return options.replace(engine="cuda" if pays else "local")


def _pays_on_card(problem: "Problem") -> bool:
    """Whether there is a GPU that can train the problem, and the steps are large enough."""
    from whereof.retrain.cuda.card import open_card
    from whereof.retrain.cuda.engine import check_problem

    if max(problem.draw.objects[2], 1) * problem.widths.entity < _LARGE_STEP:
        return False
    try:
        check_problem(problem, open_card())
    except WhereofError:
        return False
    return True
