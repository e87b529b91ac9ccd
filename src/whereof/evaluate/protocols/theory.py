"""The paper's theory in numbers: constants, bounds, and the actual error of rollback.

The paper (Lawrence, Sztyler and Niepert, AAAI 2021) follows Hardt, Recht and Singer (Train Faster,
Generalize Better, ICML 2016). Its bounds are proved for plain SGD with one fact a step, on a
function f in [0, 1] with slope at most L and smoothness beta. For other optimizers they are shown
beside the errors, as in the paper, and prove nothing. L and beta are those of the score.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from whereof._jit import kernel
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import PAPER, Protocol, Retrainings, SampleSize, table_of
from whereof.evaluate.sample import Sample, Task
from whereof.models.scoring import score_all
from whereof.predict.scored import Trained
from whereof.retrain.engine import Job
from whereof.retrain.retrainer import Retrainer
from whereof.table import Column, Table
from whereof.types import RELATION, SUBJECT, Numbers
from whereof.units import count, is_number, show

_REMOVED = {"rollback": 1, "random": 3}
"""By method, how many of the adjacent facts that it ranks first are removed, each alone."""


def constants(C: float) -> tuple[float, float]:
    """L = 2 C^2 and beta = 4 C, for rows of norm at most C; L holds without loops (s = o).

    |score(w) - score(w')| <= L |w - w'| and |grad score(w) - grad score(w')| <= beta |w - w'|.
    """
    return 2 * C**2, 4 * C


def schedule_constant(rates: Numbers) -> float:
    """The least c with rate_t <= c / t at every step t, counted from 1."""
    return float((rates * np.arange(1, len(rates) + 1)).max())


def stability_bound(L: float, beta: float, c: float, n_facts: int, n_steps: int) -> float:
    """Lambda_stab-nc = (1 + 1/(beta c)) / (n - 1) (c L^2)^(1/(beta c + 1)) T^(beta c/(beta c + 1)).

    For rates of at most c / t. With a constant rate it tends to T / (n - 1), the number of epochs.
    """
    if n_facts < 2:
        return math.inf
    power = beta * c
    log_bound = (
        math.log1p(1 / power)
        - math.log(n_facts - 1)
        + (math.log(c) + 2 * math.log(L) + power * math.log(n_steps)) / (power + 1)
    )
    return math.exp(log_bound) if log_bound < math.log(sys.float_info.max) else math.inf


def recurrence_bound(L: float, beta: float, rates: Numbers, n_facts: int) -> float:
    """min over t0 <= n of t0 / n + L Delta_T, with the actual rates; vacuous above 1.

    Delta_{t+1} = (1 - 1/n)(1 + a_t beta) Delta_t + (Delta_t + a_t L) / n from Delta_{t0} = 0 on:
    in the first t0 steps, training takes the fact with a probability of at most t0 / n. This is a
    sum over t >= t0 of a_t L / n times the growth after t. Both are added from the last step
    backwards, in logarithms, since they outgrow any float.
    """
    starts = np.arange(min(n_facts, len(rates)) + 1)
    log_sums = np.full(len(starts), -np.inf)
    _add_steps(rates, (1 - 1 / n_facts) * beta, math.log(L / n_facts), log_sums)
    with np.errstate(over="ignore"):
        return float((starts / n_facts + np.exp(math.log(L) + log_sums)).min())


@kernel
def _add_steps(rates, growth, log_scale, log_sums):
    """Fill in the log of the sum of the steps from each start on."""
    log_growth, log_sum = 0.0, -np.inf
    for step in range(rates.shape[0] - 1, -1, -1):
        if rates[step] > 0:
            log_term = np.log(rates[step]) + log_scale + log_growth
            log_sum = np.logaddexp(log_sum, log_term)
        log_growth += np.log1p(growth * rates[step])
        if step < log_sums.shape[0]:
            log_sums[step] = log_sum


@dataclass(frozen=True)
class Theory:
    """Distance of rollback to retraining, and the bounds that the paper proves for it."""

    model: str
    largest_norm: Annotated[float, Column("", "largest norm C", "number")]
    lipschitz: Annotated[float | None, Column("", "Lipschitz constant 2 C^2", "number")]
    """By the paper's lemma; None for models whose score is not a product of three rows."""
    lipschitz_met: Annotated[float, Column("", "largest slope in training", "number")]
    smoothness: Annotated[float | None, Column("", "smoothness 4 C", "number")]
    n_facts: int
    n_steps: int
    rate: Annotated[float, Column("", "rate constant c", "number")]
    stability_bound: Annotated[float | None, Column("", "stability bound", "number")]
    """Lambda_stab-nc, in closed form; vacuous above 1. None without constants, or with batches."""
    recurrence_bound: Annotated[float | None, Column("", "bound by recurrence", "number")]
    rollback_error: Annotated[float, Column("", "mean |rollback - retrained|", "number")]
    """Of the probability (or rating)."""
    original_error: Annotated[float, Column("", "mean |original - retrained|", "number")]
    n_pairs: int
    normaliser_mean: Annotated[float | None, Column("", "log normaliser, mean", "number")]
    """Mean over facts of the log of the softmax's normaliser; None for ratings."""
    normaliser_std: Annotated[float | None, Column("", "log normaliser, deviation", "number")]
    score_std: Annotated[float | None, Column("", "scores of facts, deviation", "number")]
    """Of the facts' scores, for comparison: the paper takes the normaliser as constant."""


class TheoryProtocol(Protocol):
    """See `docs/protocols/theory.md`."""

    name = "theory"
    title = "Theory"
    citation = PAPER
    fields: ClassVar[Mapping[str, Any]] = {"theory": Theory | None}
    uses = tuple(_REMOVED)

    def count(self, options: EvaluateOptions, size: SampleSize) -> Retrainings:
        return Retrainings(adjacent=sum(_REMOVED.values()) * size.n_predictions)

    def jobs(self, sample: Sample, options: EvaluateOptions) -> list[Job]:
        ranked = (sample.rank(method, top) for method, top in _REMOVED.items())
        chosen = enumerate(map(np.union1d, *ranked))
        return [Job.of([fact_id], [number]) for number, ids in chosen for fact_id in ids]

    def run(self, task: Task) -> Mapping[str, Any]:
        """The largest constants and the longest training, so that the bounds hold for all seeds."""
        cases = [sample.case for sample in task.seeds]
        problem = cases[0].retrainer.recipe.problem
        rates = max((_rates(case.retrainer) for case in cases), key=len)
        largest_norm = max(max(case.result["norms"].values()) for case in cases)
        known = problem.model.trilinear
        L, beta = constants(largest_norm)
        c, n_facts, n_steps = schedule_constant(rates), len(problem.facts), len(rates)
        bounded = known and problem.config.batch_size == 1
        compared = [sample.compare(self.jobs(sample, task.options)) for sample in task.seeds]
        original, predicted, actual = np.concatenate(compared).T
        row = Theory(
            model=problem.model.name,
            largest_norm=largest_norm,
            lipschitz=L if known else None,
            lipschitz_met=max(case.result["lipschitz"] for case in cases),
            smoothness=beta if known else None,
            n_facts=n_facts,
            n_steps=n_steps,
            rate=c,
            stability_bound=stability_bound(L, beta, c, n_facts, n_steps) if bounded else None,
            recurrence_bound=recurrence_bound(L, beta, rates, n_facts) if bounded else None,
            rollback_error=float(np.abs(predicted - actual).mean()),
            original_error=float(np.abs(original - actual).mean()),
            n_pairs=len(actual),
            **_normaliser(cases[0].trained),
        )
        return {"theory": row}

    def tables(self, found: Evaluation) -> Iterator[Table]:
        wide = table_of("theory", found, [found.theory])
        rows = list(zip((each.title for each in wide.columns), *wide.rows, strict=True))
        yield Table("theory", "", (Column("", ""), Column("", "value", "number")), rows)

    def headline(self, found: Evaluation) -> str:
        row = found.theory
        if not (is_number(row.rollback_error) and is_number(row.original_error)):
            return ""
        near, far = (show(each, "number") for each in (row.rollback_error, row.original_error))
        return (
            f"On average, the {found.quantity} by rollback differs by {near} from that of the "
            f"retrained model; the original {found.quantity} differs by {far}."
        )

    def sentences(self, found: Evaluation) -> Iterator[str]:
        row, quantity = found.theory, found.quantity
        near, far = row.rollback_error, row.original_error
        if is_number(near) and is_number(far):
            closer = "closer to" if near < far else "no closer to"
            yield (
                f"Over {count(row.n_pairs, 'pair')} of a prediction and a removed fact, the "
                f"{quantity} by rollback is {show(near, 'number')} away from that of the retrained "
                f"model on average, and the original {quantity} {show(far, 'number')}. So rollback "
                f"is {closer} retraining than doing nothing."
            )
        if is_number(row.lipschitz) and is_number(row.smoothness):
            names = "largest_norm", "lipschitz", "smoothness", "lipschitz_met"
            norm, slope, change, met = (show(getattr(row, name), "number") for name in names)
            yield (
                f"The largest norm of a row during training is C = {norm}. By the paper's lemmas "
                f"the slope of the score is at most 2 C² = {slope} and changes by at most 4 C = "
                f"{change}. The largest slope during training is {met}."
            )
        yield _bound(found)
        if is_number(row.normaliser_std) and is_number(row.score_std):
            steady = row.normaliser_std < row.score_std / 2
            yield (
                "The paper takes the softmax's normaliser as constant over facts. The standard "
                f"deviation of its log is {show(row.normaliser_std, 'number')}, that of the facts' "
                f"scores {show(row.score_std, 'number')}: "
                + ("nearly constant in comparison." if steady else "not constant in comparison.")
            )


PROTOCOL = TheoryProtocol()


def _bound(found: Evaluation) -> str:
    row, size = found.theory, found.config.get("batch_size", 1)
    if is_number(row.stability_bound):
        meaning = "below 1"
        if found.rated:
            meaning = "it holds for values between 0 and 1, which ratings need not be"
        elif row.stability_bound > 1:
            meaning = "above 1, so it says nothing about a probability"
        more = f" Unrolled with the actual rates, it is {show(row.recurrence_bound, 'number')}."
        return (
            f"The stability bound (Lambda-stab-nc) for {count(row.n_facts, 'fact')} and "
            f"{count(row.n_steps, 'step')} is {show(row.stability_bound, 'number')}: {meaning}."
            + (more if is_number(row.recurrence_bound) else "")
        )
    if row.lipschitz is None and is_number(row.largest_norm):
        return (
            f"The paper's lemmas do not hold for {row.model}, so there are no constants and no "
            "stability bound."
        )
    if size > 1:
        return (
            "There is no stability bound: it is proved for one fact per step, and a batch has "
            f"{size:,} facts here."
        )
    return "The stability bound is not finite for this training, so it says nothing."


def _rates(retrainer: Retrainer) -> Numbers:
    """(n_steps,) the rate of every step, up to the epoch that was kept."""
    recipe, problem = retrainer.recipe, retrainer.recipe.problem
    timeline = problem.timeline()
    last = problem.calendar.n_epochs(recipe.n_facts) - 1
    n_more = recipe.n_facts - problem.calendar.before(last)
    n_last = math.ceil(n_more / problem.config.batch_size) * problem.n_directions
    n_steps = timeline.updates_before(last) + n_last
    return timeline.rates(np.arange(n_steps))


def _normaliser(trained: Trained) -> dict[str, float | None]:
    """The log of the sum over all objects of e^score, beside the score, for evenly spread facts."""
    facts, scorer, objects = trained.dataset.train, trained.scorer, trained.dataset.objects
    names = "normaliser_mean", "normaliser_std", "score_std"
    if trained.config.rated:  # without a softmax
        return dict.fromkeys(names)
    chosen = np.unique(np.linspace(0, len(facts) - 1, min(len(facts), 10_000)).astype(int))
    facts = facts[chosen]
    queries, places = np.unique(facts[:, [SUBJECT, RELATION]], axis=0, return_inverse=True)
    rows, span = scorer.entity_rows, np.array([[objects.start, objects.stop]])
    asked = scorer.queries(queries[:, 0], queries[:, 1], "float64")
    scores = (score_all(scorer.model, query[None], rows, span) for query in asked)
    logs = np.array([np.logaddexp.reduce(mine[0]) for mine in scores])[places.ravel()]
    deviation = scorer.fact_scores(facts).astype(np.float64).std()
    return dict(zip(names, map(float, (logs.mean(), logs.std(), deviation)), strict=True))
