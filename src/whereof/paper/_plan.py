"""Which runs are trained and what is asked of them, before any of it is done."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whereof.evaluate.options import EvaluateOptions
from whereof.paper import _published as published
from whereof.paper._options import PaperOptions

FIRST_SEED = 42
CONSTRAINTS = ("none", "unit", "max:2", "max:3")

PAPERS, LAZY = "adam", "adam-lazy"
"""Optimizers: the paper's, and ours beyond it."""
PREFIXES = {PAPERS: "removal", LAZY: "lazy"}
"""How the parts of Table 1 are named, by optimizer."""

TRUTH, OTHER_CREDIT = "truth", "step"
"""The name of the part of the truth, and the credit that it has beside that of its run."""
_TRUTHS = 5
"""Predictions whose adjacent facts are all removed, one by one."""

_NATIONS_SEEDS, _LAZY_DISTMULT_SEEDS = 5, 3
_LAZY_SAMPLING = {"fb15k-237": "distinct"}
"""Where it is not the preset's."""


@dataclass(frozen=True)
class Part:
    """One run under several seeds, and one evaluation of it."""

    name: str
    title: str
    model: str
    settings: Mapping[str, Any]
    """Over the paper's preset."""
    protocols: tuple[str, ...]
    n_seeds: int
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

    @property
    def seeds(self) -> range:
        return range(FIRST_SEED, FIRST_SEED + self.n_seeds)

    @property
    def siblings(self) -> list[dict[str, Any]]:
        """What its other runs change of the first: constraint and seed, or the credit."""
        changes = [
            ({} if constraint == "none" else {"constraint": constraint})
            | ({} if seed == FIRST_SEED else {"seed": seed})
            for constraint in dict.fromkeys(("none", *self.constraints))
            for seed in self.seeds
        ]
        return [*filter(None, changes), *([{"credit": OTHER_CREDIT}] if self.name == TRUTH else [])]

    def n_retrainings(self, n_predictions: int, n_facts: int) -> int:
        """At most so many for a seed: sets of facts that two methods agree on count once."""
        from whereof.evaluate.protocol import SampleSize, count_retrainings

        protocols = set(self.protocols)
        if "removal" in protocols and "1" in self.sizes and "rollback" in self.methods:
            protocols -= {"approximation"}  # removes what rollback at 1 does
        options = EvaluateOptions(
            methods=self.methods,
            k=self.sizes,
            protocols=self.protocols,
            adjacent_only=bool(self.asked.get("adjacent_only")),
        )
        size = SampleSize(n_predictions, n_facts, self._most_left_out(n_predictions, n_facts))
        n_first = count_retrainings(protocols, options, size)
        n_others = count_retrainings(("approximation",), options, size)
        return n_first + (len(self.constraints) - 1) * n_others

    def _most_left_out(self, n_predictions: int, n_facts: int) -> int:
        """Facts that leave-one-out removes at most."""
        if not self.asked.get("adjacent_only"):
            return n_facts
        most: int = self.asked.get("most_adjacent", n_facts)
        limit: int = self.asked.get("limit", n_predictions)
        return min(n_facts, most * min(n_predictions, limit))


def plan(options: PaperOptions) -> tuple[Part, ...]:
    """The parts of the paper's experiments on a dataset, in the order of its tables."""
    parts = [
        _removal(options, model, optimizer)
        for model in options.models
        for optimizer in (PAPERS, LAZY)
    ]
    if options.dataset == "nations" and "distmult" in options.models:
        parts += _distmult_parts(options.seeds or _NATIONS_SEEDS)
    if options.dataset == "fb15k-237" and "distmult" in options.models:
        parts.append(_truth_part(options))
    return tuple(parts)


def lazy_settings(dataset: str) -> dict[str, str]:
    """What lazy Adam is measured with, over the paper's preset."""
    settings = {"optimizer": LAZY, "credit": "source"}
    if dataset in _LAZY_SAMPLING:
        settings["sampling"] = _LAZY_SAMPLING[dataset]
    return settings


def _removal(options: PaperOptions, model: str, optimizer: str) -> Part:
    """A model's rows of Table 1, with all that rests on the same retrainings."""
    lazy, small = optimizer == LAZY, options.dataset == "nations"
    default = _NATIONS_SEEDS if small else 1
    if not small and lazy and model == "distmult":
        default = _LAZY_DISTMULT_SEEDS
    return Part(
        f"{PREFIXES[optimizer]}-{model}",
        f"Table 1, {published.TITLES[model]} with {optimizer}",
        model,
        lazy_settings(options.dataset) if lazy else {},
        # Of Nations it is a part of its own, under several constraints.
        ("removal", "steadiness") if small else ("removal", "approximation", "steadiness"),
        options.seeds or default,
    )


def _truth_part(options: PaperOptions) -> Part:
    """Every adjacent fact of a few predictions removed alone; the run is that of lazy Adam."""
    limit = min(_TRUTHS, options.limit or _TRUTHS)
    return Part(
        TRUTH,
        "the truth, fact by fact",
        "distmult",
        lazy_settings(options.dataset),
        ("leave-one-out",),
        1,
        methods=("rollback", "gradient-dot"),
        baselines=("rollback",),
        asked={
            "adjacent_only": True,
            "least_adjacent": 50,
            "most_adjacent": 1000,
            "limit": limit,
        },
    )


def _distmult_parts(n_seeds: int) -> list[Part]:
    """What the paper shows of DistMult on Nations alone."""
    return [
        Part(
            "criage",
            "CRIAGE table",
            "distmult",
            {"loss": "sigmoid"},
            ("removal",),
            n_seeds,
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
            n_seeds,
            constraints=CONSTRAINTS,
        ),
        Part("theory", "theory", "distmult", {}, ("theory",), n_seeds),
    ]
