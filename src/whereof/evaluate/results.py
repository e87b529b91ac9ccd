"""What an evaluation says: plain records, one for every row of its tables."""

import math
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]
"""95% of what resampling gives; of one value there is none."""

Size = int | str
"""How many facts are removed: a number, or `all` that support."""


@dataclass(frozen=True)
class Removal:
    """What removing a method's facts did: one method and one size."""

    method: str
    k: Size
    pd: float
    """Share of predictions whose probability fell (of a model of ratings, whose score fell)."""
    pd_interval: Interval | None
    pd_seeds: tuple[float, ...]
    """Of every seed."""
    tc: float
    """Share of predictions whose query has another top answer."""
    tc_interval: Interval | None
    tc_seeds: tuple[float, ...]
    tc_released: float
    """The same if an answer that only a removed fact had counts as new, without it."""
    n_predictions: int
    """Of one seed; where seeds predict different things, their mean, rounded."""
    n_seeds: int
    removed_mean: float
    removed_std: float
    tc_released_interval: Interval | None = None
    tc_released_seeds: tuple[float, ...] = ()
    removed_seeds: tuple[float, ...] = ()
    """The mean of every seed."""


@dataclass(frozen=True)
class Significance:
    """A method against a baseline: paired approximate randomisation over queries."""

    method: str
    baseline: str
    k: Size
    metric: str
    """pd or tc."""
    difference: float
    p_value: float
    interval: Interval | None = None
    """Of the difference."""
    seeds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Spread:
    """Five numbers of a box plot, and the mean and standard deviation."""

    low: float
    first_quarter: float
    median: float
    third_quarter: float
    high: float
    mean: float
    std: float


@dataclass(frozen=True)
class Change:
    """How much more a method's facts lowered the probability than a baseline's."""

    method: str
    baseline: str
    k: Size
    spread: Spread
    """Of the baseline's probability after removal less the method's, prediction by prediction."""
    removed_mean: float


@dataclass(frozen=True)
class Steadiness:
    """How often removing one random fact changes a top answer: the floor of TC."""

    n_removals: int
    """Random facts removed, each in a retraining of its own, over all seeds."""
    changed: float
    """Share of (removal, prediction) pairs with another top answer."""
    interval: Interval | None
    mean_change: float
    """Of the probability, taken as positive."""


@dataclass(frozen=True)
class Approximation:
    """Predicted against actual probability without the one fact that rollback ranks first."""

    constraint: str
    n_points: int
    pearson_probability: float
    """Of the predicted and the actual probability, as the paper has it."""
    pearson_change: float
    """Of the predicted and the actual change: probabilities alone flatter."""
    lipschitz: float
    """The largest slope of the score that training met; the mean over seeds."""
    points: tuple[tuple[float, float, float], ...] = field(repr=False)
    """Original, predicted and actual probability."""
    pearson_probability_interval: Interval | None = None
    pearson_probability_seeds: tuple[float, ...] = ()
    """Of the points of every seed by themselves."""
    pearson_change_interval: Interval | None = None
    pearson_change_seeds: tuple[float, ...] = ()
    lipschitz_seeds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Order:
    """How a method orders the adjacent facts of one prediction, beside their true influence."""

    seed: int
    subject: str
    relation: str | None
    object: str
    asks: str
    n_adjacent: int
    original: float
    """Its probability in the control, or its rating."""
    rho: float
    """The Spearman correlation of estimated and true influence."""
    best_fact: int
    """The id of the fact whose removal lowers the probability most."""
    best_drop: float
    """By how much; below 0 where it rises without any fact."""
    best_rank: int
    """Where the method has that fact, after those it holds equal: to retrain without each of so
    many facts finds it."""
    first_fact: int | None
    """The id of the fact that the method ranks first; None where it finds none that supports."""
    first_drop: float
    """What removing it did; 0 where there is none."""


@dataclass(frozen=True)
class LeaveOneOut:
    """Estimated against true influence: every fact removed alone, or every adjacent one."""

    method: str
    rho_adjacent: float
    """Mean over predictions of the Spearman correlation, over adjacent facts."""
    rho_adjacent_interval: Interval | None
    rho_all: float
    """Over all facts, where all were removed; a fact that is not adjacent has no estimated
    influence."""
    rho_all_interval: Interval | None
    share_of_best: float
    """Mean of the true drop by the method's first fact over the largest true drop."""
    n_predictions: int
    n_seeds: int
    n_facts: int
    """Different ones that were removed, each alone, in the first seed: all, or those adjacent to
    some prediction."""
    orders: tuple[Order, ...] = field(default=(), repr=False)
    """Of every prediction of every seed, over its adjacent facts."""


PAIR = np.dtype([("fact", "<i4"), ("prediction", "<i4"), ("influence", "<f8")])
"""A fact's id, a prediction's place among the columns, and the true influence."""


@dataclass(frozen=True, eq=False)
class TrueInfluences:
    """What leave-one-out measures, of one seed; a run's folder keeps it as a file.

    It is a matrix where all facts were removed, and else pairs: a matrix would be empty but for
    adjacent facts, and large.
    """

    seed: int
    predictions: tuple[tuple[str | None, ...], ...]
    """Subject, relation, object and the place that is asked for: the columns, in their order."""
    matrix: NDArray[np.float64] | None = field(default=None, repr=False)
    """(n_facts, n_predictions) the fall of the probability without each fact, or of the rating."""
    pairs: NDArray[Any] | None = field(default=None, repr=False)
    """(n_pairs,) of `PAIR`: the same, of every prediction and each fact adjacent to it."""

    @property
    def array(self) -> NDArray[Any]:
        """Whichever there is."""
        found = self.pairs if self.matrix is None else self.matrix
        assert found is not None
        return found

    def to_dict(self) -> dict[str, Any]:
        """All but the array."""
        return {"seed": self.seed, "predictions": plain(self.predictions)}


@dataclass(frozen=True)
class Datamodelling:
    """Linear datamodelling score: Spearman over random halves of the facts."""

    method: str
    score: float
    """Mean over predictions of the correlation of the actual output and the sum of influences."""
    interval: Interval | None
    n_subsets: int
    n_predictions: int
    n_seeds: int


@dataclass(frozen=True)
class Kelpie:
    """All explanations removed together, one retraining a seed: how far the answers fall."""

    method: str
    k: Size
    n_predictions: int
    n_seeds: int
    removed_mean: float
    hits1_before: float
    hits1_after: float
    hits1_fall: float
    mrr_before: float
    mrr_after: float
    mrr_fall: float


@dataclass(frozen=True)
class Theory:
    """The paper's claim in numbers: rollback beside retraining, and beside its bounds."""

    model: str
    largest_norm: float
    """C: of any row that training met."""
    lipschitz: float | None
    """2 C^2, by the paper's lemma; None for a model whose score is no product of three rows."""
    lipschitz_met: float
    """The largest slope of the score that training met."""
    smoothness: float | None
    """4 C; None as before."""
    n_facts: int
    n_steps: int
    rate: float
    """c: the least with a rate of at most c / t at step t."""
    stability_bound: float | None
    """Lambda_stab-nc, in closed form; above 1 it says nothing. None where no constants are known,
    or facts come in batches."""
    recurrence_bound: float | None
    """The same recurrence unrolled with the rates of the schedule, for the best start; it may be
    infinite."""
    rollback_error: float
    """Mean |rollback - retrained| of the probability (of a model of ratings, of the score)."""
    original_error: float
    """Mean |original - retrained|."""
    n_pairs: int
    """Of a prediction and a fact that was removed."""
    normaliser_mean: float | None
    """Mean over facts of the log of the softmax's normaliser; None for ratings, that have none."""
    normaliser_std: float | None
    score_std: float | None
    """Of the facts' scores, to compare: the paper takes the normaliser as constant."""


@dataclass(frozen=True)
class Retraining:
    """One prediction after one retraining: a row of the Parquet file."""

    protocol: str
    method: str
    k: str
    seed: int
    constraint: str
    subject: str
    relation: str | None
    object: str
    asks: str
    removed: tuple[int, ...]
    """Fact ids."""
    original: float | None
    """Probability in the control; None for ratings, whose scores tell."""
    predicted: float | None
    """What the method foretold; None for one that foretells none."""
    actual: float | None
    original_score: float
    actual_score: float
    rank_before: int
    rank_after: int
    top_before: str
    top_after: str
    top_released: str
    """The top answer after, if one that only a removed fact had counts as new."""


_COLUMNS = tuple(item.name for item in fields(Retraining))


@dataclass(frozen=True)
class Evaluation:
    """All that was asked, in one object; what was not is empty or None."""

    run: str
    dataset: str
    model: str
    config: dict[str, Any]
    """Of the first seed."""
    seeds: tuple[int, ...]
    predictions: str
    """top, true or the name of a file."""
    split: str
    options: dict[str, Any]
    """All that was asked, as `whereof.EvaluateOptions` has it."""
    n_predictions: int
    n_adjacent_mean: float
    n_adjacent_std: float
    removal: tuple[Removal, ...] = ()
    significance: tuple[Significance, ...] = ()
    changes: tuple[Change, ...] = ()
    steadiness: Steadiness | None = None
    approximation: tuple[Approximation, ...] = ()
    leave_one_out: tuple[LeaveOneOut, ...] = ()
    true_influences: tuple[TrueInfluences, ...] = field(default=(), repr=False, compare=False)
    """Of leave-one-out, every seed."""
    datamodelling: tuple[Datamodelling, ...] = ()
    kelpie: tuple[Kelpie, ...] = ()
    theory: Theory | None = None
    explain_seconds: dict[str, float] | None = None
    """Of one explanation, by method, the mean."""
    explain_seconds_seeds: dict[str, tuple[float, ...]] | None = None
    control_matches_run: bool = True
    n_retrainings: int = 0
    """Different ones that the figures rest on."""
    n_known: int = 0
    """Of them, those that a journal knew from before."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    retrainings: tuple[Retraining, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """What was evaluated, then one line for every method and size of removal."""
        seeds = ", ".join(map(str, self.seeds))
        lines = [f"{self.model} on {self.dataset}, seed {seeds}: {self.n_predictions} predictions"]
        lines += [
            f"{row.method}, k = {row.k}: PD {row.pd:.1%}, TC {row.tc:.1%}" for row in self.removal
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """What `whereof evaluate --json` prints: all but single retrainings and influences."""
        found = {
            item.name: plain(getattr(self, item.name))
            for item in fields(self)
            if item.name not in ("retrainings", "true_influences")
        }
        return found | {"true_influences": [each.to_dict() for each in self.true_influences]}

    def to_file(self, path: str | Path, *, force: bool = False) -> None:
        """Every single retraining as a row of a file.

        By its ending: .parquet, or .jsonl, .tsv, .txt or .csv, each also with .gz.
        """
        from whereof.files import write_retrainings

        rows = ({name: getattr(row, name) for name in _COLUMNS} for row in self.retrainings)
        write_retrainings(Path(path), rows, force=force)


@dataclass(frozen=True)
class Found:
    """What one protocol came to: rows of its table, and the retrainings they rest on."""

    rows: tuple[Any, ...]
    retrainings: tuple[Retraining, ...]


def plain(value: Any) -> Any:
    """Records as dicts and tuples as lists, all the way down; None for what is not finite."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
