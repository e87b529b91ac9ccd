"""Which runs are trained and what is asked of them, before any of it is done."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whence.engines import EngineOptions
from whence.errors import WhenceError
from whence.evaluate.options import EvaluateOptions
from whence.paper import _published as published

FIRST_SEED = 42
CONSTRAINTS = ("none", "unit", "max:2", "max:3")
LAZY = {"optimizer": "adam-lazy", "credit": "source"}
"""Ours beyond the paper's preset."""

_SEEDS = {"nations": 5}
_TRUTHS = 5
"""Predictions whose adjacent facts are all removed, one by one."""
_LIMITS = {"fb15k-237": 100, "movielens": 100}
"""Random test predictions, as in the paper; of Nations, all."""


@dataclass(frozen=True)
class PaperOptions:
    """What of the paper is measured, and where it is kept."""

    dataset: str = "nations"
    models: tuple[str, ...] = published.MODELS
    seeds: int | None = None
    """By default five of Nations, else one, as in the paper."""
    limit: int | None = None
    out: Path | None = None
    data_dir: Path | None = None
    engine: EngineOptions = field(default_factory=EngineOptions)

    def __post_init__(self) -> None:
        _choose("dataset", self.dataset, tuple(published.DATASETS))
        for model in self.models:
            _choose("model", model, published.MODELS)
        if not self.models:
            raise WhenceError(f"no models; choose from {', '.join(published.MODELS)}")
        for name in ("seeds", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise WhenceError(f"{name} is {value}; it must be 1 or more")

    @property
    def n_seeds(self) -> int:
        return self.seeds or _SEEDS.get(self.dataset, 1)

    @property
    def n_predictions(self) -> int | None:
        """How many of the test predictions; None for all."""
        return self.limit or _LIMITS.get(self.dataset)

    @property
    def folder(self) -> Path:
        return self.out or Path("runs") / f"paper-{self.dataset}"


@dataclass(frozen=True)
class Part:
    """One run under several seeds, and one evaluation of it."""

    name: str
    title: str
    model: str
    settings: Mapping[str, Any]
    """Over the paper's preset."""
    protocols: tuple[str, ...]
    methods: tuple[str, ...] = ("rollback", "random")
    sizes: tuple[str, ...] = published.REMOVAL_SIZES
    baselines: tuple[str, ...] = ("random",)
    constraints: tuple[str, ...] = ("none",)
    asked: Mapping[str, Any] = field(default_factory=dict)
    """Of the evaluation, in the place of what the options of all parts say."""

    @property
    def run(self) -> str:
        """The name of its run's folder: parts with the same settings share it."""
        return "-".join([self.model, *map(str, self.settings.values())])

    def n_retrainings(self, n_predictions: int, n_facts: int, n_left_out: int | None = None) -> int:
        """At most so many for a seed: sets of facts that two methods agree on count once."""
        from whence.evaluate.counting import count_retrainings

        options = EvaluateOptions(methods=self.methods, k=self.sizes, protocols=self.protocols)
        n_first = count_retrainings(self.protocols, options, n_predictions, n_facts, n_left_out)
        n_others = count_retrainings(("approximation",), options, n_predictions, n_facts)
        return n_first + (len(self.constraints) - 1) * n_others


def plan(options: PaperOptions) -> tuple[Part, ...]:
    """The parts of the paper's experiments on a dataset, in the order they are done."""
    titles = published.TITLES
    parts = [
        Part(f"removal-{model}", f"Table 1, {titles[model]}", model, {}, ("removal", "steadiness"))
        for model in options.models
    ]
    parts += [
        Part(f"lazy-{model}", f"{titles[model]} with lazy Adam", model, LAZY, ("removal",))
        for model in options.models
    ]
    if options.dataset == "nations" and "distmult" in options.models:
        parts += _distmult_parts()
    if options.dataset == "fb15k-237" and "distmult" in options.models:
        parts.append(_truth_part(options))
    return tuple(parts)


def _truth_part(options: PaperOptions) -> Part:
    """Every adjacent fact of a few predictions removed alone; the run is that of lazy Adam."""
    limit = min(_TRUTHS, options.limit or _TRUTHS)
    return Part(
        "truth",
        "the truth, fact by fact",
        "distmult",
        LAZY,
        ("leave-one-out",),
        methods=("rollback", "gradient-dot"),
        baselines=("rollback",),
        asked={
            "adjacent_only": True,
            "least_adjacent": 50,
            "most_adjacent": 1000,
            "limit": limit,
            "seeds": 1,
        },
    )


def _distmult_parts() -> list[Part]:
    """What the paper shows of DistMult on Nations alone."""
    return [
        Part(
            "criage",
            "CRIAGE table",
            "distmult",
            {"loss": "sigmoid"},
            ("removal",),
            methods=("random", "criage", "rollback-o", "rollback"),
            sizes=published.CRIAGE_SIZES,
            baselines=("criage", "random"),
        ),
        Part(
            "approximation",
            "approximation under constraints",
            "distmult",
            {},
            ("approximation",),
            constraints=CONSTRAINTS,
        ),
        Part("theory", "theory", "distmult", {}, ("theory",)),
    ]


def _choose(noun: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise WhenceError(f"unknown {noun} {value!r}; choose from {', '.join(known)}")
