"""The keyword arguments of the public functions, typed for editors and type checkers.

Each class has the settings of a table under the same names; a test compares them. The tables
describe the settings.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

_Names = str | Sequence[str]
"""A name, names separated by commas, or a list of names."""
_Facts = int | str | Sequence[int] | Sequence[str] | Sequence[Sequence[str]]
"""Facts by id or by names."""
_Labels = str | Path | Mapping[Any, Any] | None
_Place = Literal["object", "subject"]
_Role = Literal["subject", "relation", "object", "several"] | None


class MachineKeywords(TypedDict, total=False):
    """The fields of `whereof.MachineOptions`."""

    device: Literal["cpu", "cuda"]
    threads: int | None
    memory_share: float
    checkpoint_seconds: float
    ranking_metrics: bool


class TrainKeywords(MachineKeywords, total=False):
    """The fields of `whereof.ReadOptions`, `MachineOptions` and `TrainConfig`."""

    name: str | None
    data_dir: str | Path | None
    entity_labels: _Labels
    relation_labels: _Labels
    format: str | None
    columns: int | str | Sequence[int] | Sequence[str] | None
    header: bool | None
    rating: int | str | None
    source: int | str | None
    weight: int | str | None
    time: int | str | None
    ratings_as_objects: bool | None
    valid_fraction: float
    test_fraction: float
    split_seed: int
    model: str
    dim: int
    inverse: bool
    precision: Literal["float32", "float64"]
    init: float
    seed: int
    loss: Literal["softmax", "sigmoid", "squared"]
    negatives: int | Literal["all"] | None
    sampling: Literal["distinct", "independent"]
    negatives_from: Literal["objects", "entities"]
    redraw: bool
    l2: float
    n3: float
    optimizer: Literal["sgd", "adagrad", "adam", "adam-lazy"]
    rate: float
    accumulator: float | None
    schedule: Literal["constant", "exponential", "inverse"]
    decay: float
    decay_steps: int
    beta1: float
    beta2: float
    epsilon: float
    constraint: str
    batch_size: int
    order: Literal["file", "shuffle", "blocks"]
    epochs: int
    validate_every: int
    patience: int
    time_budget: float | str | None
    keep_checkpoints: int
    trace: bool
    credit: Literal["step", "source", "forget"]
    trace_precision: Literal["float16", "float32", "float64"] | None
    phases: Sequence[Any] | None


class EngineKeywords(TypedDict, total=False):
    """The fields of `whereof.EngineOptions`."""

    engine: Literal["auto", "local", "ray", "cuda"]
    threads: int | None
    ray_address: str | None


class ExplainKeywords(TypedDict, total=False):
    """The fields of `whereof.ExplainOptions`."""

    method: str
    of: Literal["probability", "score", "loss"] | None
    asks: _Place
    candidates: _Names | None
    instead_of: str | None
    exhaustive: bool
    seed: int
    budget: int | str
    sweep_epochs: int | None
    rivals: int | None
    sweep_memory: float
    top: int | Literal["all"] | None
    opposing: bool | Literal["both"]
    role: _Role
    relation: _Names | None
    entity: _Names | None
    without: _Facts | None
    stability: bool
    graph: bool
    seeds: int


class ExplainOneKeywords(ExplainKeywords, EngineKeywords, total=False):
    """Also the fields of `whereof.EngineOptions`, for methods that retrain."""


class VerifyKeywords(EngineKeywords, total=False):
    """The fields of `whereof.VerifyOptions` and `whereof.EngineOptions`."""

    method: str
    top: int | Literal["all"]
    facts: _Facts | None
    role: _Role
    asks: _Place
    seed: int
    each: bool
    seeds: int


class UnlearnKeywords(TypedDict, total=False):
    """The fields of `whereof.UnlearnOptions`."""

    entity: _Names | None
    source: _Names | None
    method: Literal["rollback", "warm"]
    epochs: int | None
    measure: bool


class UpdateKeywords(TypedDict, total=False):
    """The fields of `whereof.UpdateOptions`."""

    epochs: int
    replay: float | None
    compare: bool
    format: str | None
    columns: str | None
    header: bool | None
    rating: str | None
    source: str | None
    weight: str | None


class SmallestKeywords(EngineKeywords, total=False):
    """The fields of `whereof.SmallestOptions` and `whereof.EngineOptions`."""

    method: str | None
    budget: int | str
    role: _Role
    asks: _Place


class EvaluateKeywords(EngineKeywords, total=False):
    """The fields of `whereof.EvaluateOptions` and `whereof.EngineOptions`."""

    suite: Literal["faithfulness"] | None
    methods: _Names
    k: int | str | Sequence[int | str]
    protocols: _Names
    baseline: str | None
    constraints: _Names | None
    adjacent_only: bool
    facts: int | None
    top_facts: int
    drop: float | str | Sequence[float | str]
    subsets: int
    removals: int
    settings: str | Mapping[str, Any] | None
    predictions: str | Path
    split: Literal["test", "valid", "train"] | None
    limit: int | None
    least_adjacent: int | None
    most_adjacent: int | None
    seeds: int
    seed: int


class ImpactKeywords(EngineKeywords, total=False):
    """The fields of `whereof.ImpactOptions` and `whereof.EngineOptions`."""

    method: str
    predictions: str
    split: Literal["test", "valid", "train"]
    limit: int | None
    top: int | Literal["all"]
    opposing: bool
    verify: bool


class AuditKeywords(EngineKeywords, total=False):
    """The fields of `whereof.AuditOptions` and `whereof.EngineOptions`."""

    ranking: Literal["loss-without", "self-influence", "loss", "score", "degree"] | None
    ranking_method: Literal["rollback", "unrolled"] | None
    method: Literal["rollback", "unrolled"] | None
    split: Literal["test", "valid"] | None
    limit: int | Literal["all"] | None
    by: _Names | None
    groups: str | Path | Mapping[str, str] | None
    top: int | Literal["all"]
    verify: bool
