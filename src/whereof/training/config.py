"""The settings of training. Each table feeds the command line, the docs and the checks."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from whereof.errors import WhereofError
from whereof.models import MODELS, find_model
from whereof.settings import Settings, choice, number, seconds_of, to_float

NEGATIVES_UNSET = 200
"""Default number of negatives a step; fewer if there are not that many."""


@dataclass(frozen=True)
class Phase:
    """One phase of training, and what there was to train on."""

    n_facts: int
    """Number of facts, with those of all earlier phases."""
    n_entities: int
    n_relations: int
    n_trained: int
    """Number of facts that it trains on, over all its epochs."""
    n_replayed: int = 0
    """Number of earlier facts that an epoch takes besides the new ones."""
    n_subjects: int | None = None
    """Number of users in data of users and items, whose ids come before those of items; None in
    other data, and if it is that of the last phase."""


@dataclass(frozen=True)
class TrainConfig(Settings):
    """How a model is trained. Values are checked."""

    model: str = choice("distmult", f"scoring function: {', '.join(MODELS)}", "Model")
    dim: int = number(
        100, "embedding dimension; complex, simple and rotate store two numbers each", "Model", 1
    )
    inverse: bool = choice(False, "also learn inverse relations, to predict subjects", "Model")
    precision: str = choice("float32", "precision of the parameters", "Model", "float32 float64")
    init: float = number(0.05, "initial values are uniform between -INIT and INIT", "Model", 0)
    seed: int = number(0, "seed of all random numbers", "Model", 0, below=2**63)

    loss: str = choice(
        "softmax",
        "loss over the true object and its negatives; squared learns ratings",
        "Loss",
        "softmax sigmoid squared",
    )
    negatives: int | str | None = choice(
        None, "negatives per step: a number, or all", "Loss", metavar="N|all"
    )
    sampling: str = choice(
        "distinct",
        "distinct: no negative twice in a step; independent: repeats are possible",
        "Loss",
        "distinct independent",
    )
    negatives_from: str = choice(
        "objects", "draw from objects only, or from all entities", "Loss", "objects entities"
    )
    redraw: bool = choice(True, "draw new negatives in every epoch", "Loss")
    l2: float = number(0.0, "weight of the penalty l2/2 |x|^2 on the rows of a fact", "Loss", 0)
    n3: float = number(0.0, "weight of the penalty n3/3 |x|^3 on the rows of a fact", "Loss", 0)

    optimizer: str = choice(
        "adam-lazy",
        "optimizer; adam-lazy moves only the rows that a step touches",
        "Steps",
        "sgd adagrad adam adam-lazy",
    )
    rate: float = number(0.003, "learning rate", "Steps", above=0)
    schedule: str = choice(
        "constant",
        "learning rate schedule; inverse: RATE / number of the step",
        "Steps",
        "constant exponential inverse",
    )
    decay: float = number(0.96, "factor of the exponential schedule", "Steps", above=0, most=1)
    decay_steps: int = number(1000, "updates until the rate is multiplied by DECAY", "Steps", 1)
    beta1: float = number(0.9, "Adam's decay for the mean of gradients", "Steps", 0, below=1)
    beta2: float = number(0.999, "Adam's decay for the mean of squares", "Steps", 0, below=1)
    epsilon: float = number(1e-7, "added to the denominator in Adam and Adagrad", "Steps", 0)
    accumulator: float | None = number(
        None,
        "start of Adagrad's sums of squared gradients  [default: from the first gradients]",
        "Steps",
        0,
    )
    constraint: str = choice(
        "none", "norm of each row: none (any), unit (1) or max:C (at most C)", "Steps"
    )
    batch_size: int = number(1, "facts per update", "Steps", 1)
    order: str = choice("shuffle", "order of the facts in an epoch", "Steps", "file shuffle blocks")

    epochs: int = number(10, "number of passes over the facts", "Stopping", 1)
    validate_every: int = number(1, "validate every N epochs; 0 never validates", "Stopping", 0)
    patience: int = number(
        0, "stop after N validations without improvement; 0 never stops", "Stopping", 0
    )
    time_budget: float | str | None = choice(
        None,
        "time for reading, training and metrics: seconds, or 90s, 10m, 2h",
        "Stopping",
        metavar="TIME",
    )

    keep_checkpoints: int = number(
        0, "keep N checkpoints, evenly spaced; method tracin requires them", "Trace", 0
    )
    trace: bool = choice(True, "record what each fact changes; rollback requires it", "Trace")
    credit: str = choice(
        "source",
        "what goes into the trace of a fact: its own steps (step), all that its gradients change "
        "(source), or that minus what later steps undo (forget)",
        "Trace",
        "step source forget",
    )
    trace_precision: str | None = choice(
        None,
        "precision of the trace  [default: that of the parameters]",
        "Trace",
        "float16 float32 float64",
    )

    phases: list | tuple | None = field(  # type: ignore[type-arg]
        default=None, metadata={"about": "what `whereof update` recorded", "group": ""}
    )
    """The phases of a run that was updated, see `whereof.training.phases`; None for one phase."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.phases is not None:
            try:
                found = [it if isinstance(it, Phase) else Phase(**it) for it in self.phases]
            except TypeError:
                raise WhereofError("phases are not those of a run that was updated") from None
            object.__setattr__(self, "phases", tuple(found))
        if self.time_budget is not None:
            object.__setattr__(self, "time_budget", seconds_of("time_budget", self.time_budget))
        self.max_norm  # noqa: B018 - raises if the constraint is not valid
        if self.rated and self.negatives not in (None, 0):
            raise WhereofError("loss squared takes no negatives: leave them out, or choose softmax")
        if self.rated and self.inverse:
            raise WhereofError("loss squared has no inverse direction: leave out inverse")
        is_count = isinstance(self.negatives, int) and self.negatives >= 1
        if not (self.rated or is_count or self.negatives in (None, "all")):
            raise WhereofError(f"negatives is {self.negatives!r}; give a number from 1 on, or all")
        if self.optimizer != "sgd" and self.epsilon <= 0:
            raise WhereofError(
                f"epsilon is {self.epsilon:g}; {self.optimizer} requires a value above 0"
            )
        if self.optimizer == "adam" and 1 - self.beta2 > 0.0201 * (1 - self.beta1):
            raise WhereofError(
                f"beta1 is {self.beta1:g}, beta2 {self.beta2:g}; adam requires that "
                "1 - beta2 is at most 1/50 of 1 - beta1: choose other values, or adam-lazy"
            )
        if self.trace_precision and not self.trace:
            raise WhereofError("trace_precision needs a trace: leave it out, or keep the trace")
        if self.patience and not self.validate_every:
            raise WhereofError("patience needs validation: set validate_every to 1 or more")

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        if self.phases is None:
            del found["phases"]
        else:
            found["phases"] = [
                {name: value for name, value in phase.items() if value is not None}
                for phase in found["phases"]
            ]
        return found

    @cached_property
    def rated(self) -> bool:
        """Whether this is a rating model: its probabilities have no meaning."""
        return self.loss == "squared"

    @property
    def steady(self) -> bool:
        """Whether a single fact changes training little, and smoothly.

        The first steps are small if the gradient is small, and no gradient jumps, as that of an L1
        distance does.
        """
        small = self.optimizer == "sgd" or (self.optimizer == "adagrad" and bool(self.accumulator))
        return small and find_model(self.model).match != "l1"

    @property
    def max_norm(self) -> float | None:
        """The largest norm that the constraint allows; None without a constraint."""
        kind, _, bound = self.constraint.partition(":")
        try:
            if (kind, bound) == ("none", ""):
                return None
            if (kind, bound) == ("unit", ""):
                return 1.0
            if kind == "max" and 0 < to_float(bound) < float("inf"):
                return float(bound)
        except ValueError:
            pass
        raise WhereofError(
            f"constraint is {self.constraint!r}; choose from none, unit, max:C with C above 0"
        )

    @property
    def forgets(self) -> bool:
        """Whether the trace shrinks as later steps undo what a fact changed."""
        return self.trace and self.credit == "forget"

    @property
    def trace_dtype(self) -> str:
        """The precision of the trace: that of the parameters by default."""
        return self.trace_precision or self.precision


@dataclass(frozen=True)
class MachineOptions(Settings):
    """How training uses the machine. Values are checked."""

    device: str = choice("cpu", "where the model is trained", "Machine", "cpu cuda")
    threads: int | None = number(None, "threads for metrics  [default: all cores]", "Machine", 1)
    memory_share: float = number(
        0.5, "a trace above this share of memory is memory-mapped", "Machine", 0, most=1
    )
    checkpoint_seconds: float = number(
        60.0, "seconds between checkpoints; more if writing takes long", "Machine", 0
    )
    ranking_metrics: bool = choice(
        False, "for a rating model: also compute ranking metrics over all items (slow)", "Machine"
    )
