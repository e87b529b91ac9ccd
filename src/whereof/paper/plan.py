"""Which of the paper's experiments are asked for, and the parts they are made of.

A part is one run under several seeds, and one evaluation of it.
"""

import math
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import SampleSize, count_retrainings
from whereof.explain.options import ExplainOptions
from whereof.registry import unknown
from whereof.retrain.options import EngineOptions
from whereof.settings import Settings, choice, number
from whereof.training.config import TrainConfig

FIRST_SEED = 42
SIZES = ("1", "10", "all")
"""Numbers of removed facts in Table 1."""
CRIAGE_SIZES = ("1", "3", "5", "10")
METRICS = {"pd": "PD", "tc": "TC"}
MODELS = {"distmult": "DistMult", "complex": "ComplEx"}
"""With their titles."""

Printed = float | tuple[float, float]
"""A figure, or a mean and its standard deviation; NaN if there is none. Shares are in percent."""
Example = tuple[str, str, str, str]
"""A prediction that the paper explains, by labels, and the subject of the paper's fact."""


@dataclass(frozen=True)
class Published:
    """What is measured on a dataset, and the figures that the paper prints; see paper.toml."""

    title: str
    catalogue: str
    """The dataset's name in the catalogue."""
    protocols: tuple[str, ...]
    lazy: dict[str, str]
    printed: dict[str, dict[str, tuple[Printed, ...]]]
    parts: tuple[dict[str, Any], ...] = ()
    examples: tuple[Example, ...] = ()
    limit: int | None = None
    """Number of test predictions, drawn at random; None for all."""
    seeds: int = 1
    more_seeds: dict[str, int] = field(default_factory=dict)
    """By name: the parts with another number of seeds."""

    def row(self, table: str, names: Collection[str]) -> tuple[Printed, ...]:
        """The paper's figures for a row of our table; empty if there are none."""
        rows = self.printed.get(table, {}).items()
        return next((figures for words, figures in rows if {*words.split()} <= {*names}), ())


_DATA = tomllib.loads(resources.files(__package__).joinpath("paper.toml").read_text("utf-8"))
TABLES: dict[str, dict[str, Any]] = _DATA["tables"]
"""Fields of `figures.Comparison`."""
DATASETS = msgspec.convert(_DATA["datasets"], dict[str, Published])


@dataclass(frozen=True)
class PaperOptions(Settings):
    """Which of the paper's experiments to repeat, and where to keep the results."""

    dataset: str = field(default="nations", metadata={"choices": tuple(DATASETS)})
    models: str | tuple = choice(",".join(MODELS), "models, separated by commas", "Paper")  # type: ignore[type-arg]
    seeds: int | None = number(
        None, "number of seeds, from 42 on  [default: 5 on Nations, else 1 or 3]", "Paper", 1
    )
    limit: int | None = number(
        None, "number of random test predictions  [default: Nations all, else 100]", "Paper", 1
    )
    out: str | Path | None = choice(
        None, "folder for the results  [default: runs/paper-DATASET]", "Paper", short="-o"
    )
    data_dir: str | Path | None = choice(None, "folder with the named datasets", "Paper")
    engine: EngineOptions = field(default_factory=EngineOptions)
    """As asked for; `auto` is settled later."""
    time_budget: float | str | None = choice(
        None, "stop after a time such as 90s or 2h; run again to continue", "Paper", metavar="TIME"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.models, str):
            names = (name.strip() for name in self.models.split(","))
            object.__setattr__(self, "models", tuple(filter(None, names)))
        if not self.models:
            raise WhereofError(f"no models; choose from {', '.join(MODELS)}")
        for model in self.models:
            if model not in MODELS:
                raise unknown("model", model, MODELS)
        self.seconds  # noqa: B018 - raises on a time that cannot be read

    @property
    def seconds(self) -> float:
        """The time budget in seconds; infinity without one."""
        return float(TrainConfig(time_budget=self.time_budget).time_budget or math.inf)

    @property
    def published(self) -> Published:
        return DATASETS[self.dataset]

    @property
    def n_predictions(self) -> int | None:
        """Number of test predictions; None for all."""
        return self.limit or self.published.limit

    @property
    def folder(self) -> Path:
        return Path(self.out or f"runs/paper-{self.dataset}")

    @property
    def command(self) -> str:
        """The command that gives the same figures; folders are left out."""
        models = None if self.models == tuple(MODELS) else ",".join(self.models)
        engine = None if self.engine.engine == "auto" else self.engine.engine
        flags = {"models": models, "seeds": self.seeds, "limit": self.limit, "engine": engine}
        typed = [f"--{name} {value}" for name, value in flags.items() if value is not None]
        return " ".join(["whereof paper", self.dataset, *typed])


@dataclass(frozen=True)
class Part:
    """One run under several seeds, and one evaluation of it."""

    name: str
    title: str
    options: EvaluateOptions
    model: str = "distmult"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the paper's preset."""
    other_baselines: Sequence[str] = ()
    """Rollback is compared with these too."""
    group: str = ""
    """table1, if its rows are in Table 1."""
    other_credit: str | None = None
    """Another credit whose estimates are compared with the same retrainings."""
    examples: Sequence[Example] = ()
    """The paper's own examples, which its run explains too."""

    @property
    def optimizer(self) -> str:
        return str(self.settings.get("optimizer", "adam"))

    @property
    def run(self) -> str:
        """The name of its run's folder; parts with the same settings share it."""
        return "-".join([self.model, *map(str, self.settings.values())])

    @property
    def seeds(self) -> range:
        return range(FIRST_SEED, FIRST_SEED + self.options.seeds)

    @property
    def siblings(self) -> list[dict[str, Any]]:
        """How the settings of its other runs differ from those of the first."""
        changes = [
            ({} if constraint == "none" else {"constraint": constraint})
            | ({} if seed == FIRST_SEED else {"seed": seed})
            for constraint in dict.fromkeys(("none", *(self.options.constraints or ())))
            for seed in self.seeds
        ]
        other = [{"credit": self.other_credit}] if self.other_credit else []
        return [*filter(None, changes), *other]

    def n_retrainings(self, n_predictions: int, n_facts: int) -> int:
        """The most retrainings that one seed can need."""
        options, asked = self.options, set(self.options.protocols)
        n_asked = min(n_predictions, options.limit or n_predictions)
        n_adjacent = min(n_facts, n_asked * (options.most_adjacent or n_facts))
        # The paper's training is not steady: unrolled is not its default method.
        size = SampleSize(n_asked, n_facts, n_adjacent, ExplainOptions.method)
        # Approximation removes the same facts as removal does with rollback and k = 1.
        counted = asked - {"approximation"} if "removal" in asked else asked
        n_runs = max(len(options.constraints or ()), 1)
        return n_runs * count_retrainings(counted, options, size)


def plan(options: PaperOptions) -> tuple[Part, ...]:
    """The parts of the paper's experiments on a dataset, in the order of its tables."""
    found = options.published
    parts: list[dict[str, Any]] = [
        {
            "name": f"{kind}-{model}",
            "title": f"Table 1, {MODELS[model]} with {settings.get('optimizer', 'adam')}",
            "model": model,
            "settings": settings,
            "options": {"k": SIZES, "protocols": found.protocols},
            "group": "table1",
            "examples": found.examples if model == "distmult" else (),
        }
        for model in options.models
        for kind, settings in (("removal", {}), ("lazy", found.lazy))
    ]
    if "distmult" in options.models:
        parts += found.parts
    return tuple(_part(options, **about) for about in parts)


def _part(asked: PaperOptions, name: str, options: Mapping[str, Any], **about: Any) -> Part:
    seeds = asked.seeds or asked.published.more_seeds.get(name, asked.published.seeds)
    limits = [n for n in (options.get("limit"), asked.n_predictions) if n]
    limit = {"limit": min(limits, default=None)}
    return Part(name=name, options=EvaluateOptions(**{"seeds": seeds, **options, **limit}), **about)
