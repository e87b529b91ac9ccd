"""Which of the paper's experiments are asked for, and the parts they are made of.

A part is one run under several seeds, and one evaluation of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import SampleSize, count_retrainings
from whereof.paper.published import CRIAGE_SIZES, DATASETS, MODELS, SIZES, Published
from whereof.retrain.options import EngineOptions
from whereof.settings import Settings, choice, number
from whereof.training import TrainConfig

FIRST_SEED = 42
CONSTRAINTS = ("none", "unit", "max:2", "max:3")
PAPERS, LAZY = "adam", "adam-lazy"
"""Optimizers: the paper's, and ours beyond it."""

_TRUTHS = 5
"""Number of predictions whose adjacent facts are all removed, one by one."""
_NATIONS_SEEDS, _LAZY_DISTMULT_SEEDS = 5, 3


@dataclass(frozen=True)
class PaperOptions(Settings):
    """Which of the paper's experiments to repeat, and where to keep the results."""

    dataset: str = field(default="nations", metadata={"choices": tuple(DATASETS)})
    models: str | tuple = choice(",".join(MODELS), "models, separated by commas", "Experiments")  # type: ignore[type-arg]
    seeds: int | None = number(
        None,
        "number of seeds for each model: 42, 43 and so on  [default: 5 on Nations; else 3 for "
        "distmult with adam-lazy, 1 for the others]",
        "Experiments",
        1,
    )
    limit: int | None = number(
        None,
        "number of test predictions, drawn at random  [default: all on Nations, else 100]",
        "Experiments",
        1,
    )
    out: str | Path | None = choice(
        None, "folder for the results  [default: runs/paper-DATASET]", "Experiments", short="-o"
    )
    data_dir: str | Path | None = choice(None, "folder with the named datasets", "Experiments")
    engine: EngineOptions = field(default_factory=EngineOptions)
    """As asked for; `auto` is settled later."""
    time_budget: float | str | None = choice(
        None,
        "stop after this time: seconds, or 90s, 10m, 2h; run the same command again to continue",
        "Experiments",
        metavar="TIME",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.models, str):
            names = (name.strip() for name in self.models.split(","))
            object.__setattr__(self, "models", tuple(filter(None, names)))
        unknown = [f"unknown model {model!r}" for model in self.models if model not in MODELS]
        if unknown or not self.models:
            why = unknown[0] if unknown else "no models"
            raise WhereofError(f"{why}; choose from {', '.join(MODELS)}")
        self.seconds  # noqa: B018 - raises on a time that cannot be read

    @property
    def seconds(self) -> float | None:
        """The time budget in seconds; None without one."""
        found = TrainConfig(time_budget=self.time_budget).time_budget
        return None if found is None else float(found)

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
    model: str
    settings: Mapping[str, Any]
    """Settings that differ from the paper's preset."""
    options: EvaluateOptions
    other_baselines: tuple[str, ...] = ()
    """Rollback is compared with these too."""
    repeating: tuple[str, ...] = ()
    """Protocols that need no other retrainings than the rest."""
    in_table1: bool = False
    explains_examples: bool = False
    """Whether its run explains the paper's own examples too."""
    other_credit: str | None = None
    """Another credit whose estimates are compared with the same retrainings."""

    @property
    def optimizer(self) -> str:
        return str(self.settings.get("optimizer", PAPERS))

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
        options = self.options
        n_asked = min(n_predictions, options.limit or n_predictions)
        n_adjacent = min(n_facts, n_asked * (options.most_adjacent or n_facts))
        size = SampleSize(n_asked, n_facts, n_adjacent)
        counted = set(options.protocols) - set(self.repeating)
        n_others = max(len(options.constraints or ()) - 1, 0)
        return count_retrainings(counted, options, size) + n_others * count_retrainings(
            options.protocols, options, size
        )


def plan(options: PaperOptions) -> tuple[Part, ...]:
    """The parts of the paper's experiments on a dataset, in the order of its tables."""
    parts = [
        _table1_part(options, model, optimizer)
        for model in options.models
        for optimizer in (PAPERS, LAZY)
    ]
    if options.dataset == "nations" and "distmult" in options.models:
        parts += _distmult_parts(options)
    if options.dataset == "fb15k-237" and "distmult" in options.models:
        parts.append(_truth_part(options))
    return tuple(parts)


def lazy_settings(dataset: str) -> dict[str, str]:
    """The settings of lazy Adam that differ from the paper's preset."""
    settings = {"optimizer": LAZY, "credit": "source"}
    return settings | ({"sampling": "distinct"} if dataset == "fb15k-237" else {})


def _table1_part(options: PaperOptions, model: str, optimizer: str) -> Part:
    """A model's rows of Table 1, and everything that uses the same retrainings."""
    lazy, small = optimizer == LAZY, options.dataset == "nations"
    default = _NATIONS_SEEDS if small else 1
    if not small and lazy and model == "distmult":
        default = _LAZY_DISTMULT_SEEDS
    # On Nations, approximation is a part of its own, under several constraints. Elsewhere it
    # removes the same facts as removal does with rollback and k = 1.
    repeating = () if small else ("approximation",)
    asked = EvaluateOptions(
        k=SIZES,
        protocols=("removal", "steadiness", *repeating),
        seeds=options.seeds or default,
        limit=options.n_predictions,
    )
    return Part(
        f"{'lazy' if lazy else 'removal'}-{model}",
        f"Table 1, {MODELS[model]} with {optimizer}",
        model,
        lazy_settings(options.dataset) if lazy else {},
        asked,
        repeating=repeating,
        in_table1=True,
        explains_examples=options.dataset == "fb15k-237" and model == "distmult",
    )


def _truth_part(options: PaperOptions) -> Part:
    """Every adjacent fact of a few predictions removed alone, on the run with lazy Adam."""
    asked = EvaluateOptions(
        methods=("rollback", "gradient-dot"),
        protocols=("leave-one-out",),
        adjacent_only=True,
        least_adjacent=50,
        most_adjacent=1000,
        limit=min(_TRUTHS, options.limit or _TRUTHS),
    )
    title, settings = "the truth, fact by fact", lazy_settings(options.dataset)
    return Part("truth", title, "distmult", settings, asked, other_credit="step")


def _distmult_parts(options: PaperOptions) -> list[Part]:
    """What the paper shows for DistMult on Nations only."""
    some: dict[str, Any] = {
        "seeds": options.seeds or _NATIONS_SEEDS,
        "limit": options.n_predictions,
    }
    methods = ("random", "criage", "rollback-o", "rollback")
    criage = EvaluateOptions(methods=methods, k=CRIAGE_SIZES, protocols="removal", **some)
    close = EvaluateOptions(protocols="approximation", constraints=CONSTRAINTS, **some)
    theory, title = EvaluateOptions(protocols="theory", **some), "approximation under constraints"
    sigmoid = {"loss": "sigmoid"}
    return [
        Part("criage", "CRIAGE table", "distmult", sigmoid, criage, other_baselines=("criage",)),
        Part("approximation", title, "distmult", {}, close),
        Part("theory", "theory", "distmult", {}, theory),
    ]
