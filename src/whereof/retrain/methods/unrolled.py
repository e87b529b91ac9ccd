"""The derivative through training: each fact's steps, carried forward to the trained model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whereof.errors import WhereofError
from whereof.events import Events
from whereof.explain.method import Aim, Context, Goal, Method, Ranked, Removed, Sets, Totals
from whereof.predict.prediction import Prediction
from whereof.predict.scored import STANDING, ScoredPrediction, Trained
from whereof.retrain.retrainer import control_differs
from whereof.retrain.size import (
    CHECKS_EACH,
    N_PREDICTIONS,
    NO_CURVE,
    correct_falls,
    draw_sample,
    measure_sizes,
    probability_of,
)
from whereof.retrain.sweep import Columns, corrects_sizes, n_trainings, share_of_epochs, sweep
from whereof.run.files import Arrays, like
from whereof.run.reliability import Claims
from whereof.training.config import TrainConfig
from whereof.types import FactIds, Numbers
from whereof.units import count

_PROBABILITY = Aim("probability")
_LEAST_CHECKS = 5


class Unrolled(Method):
    """One sweep backwards through training gives the influence of every fact.

    The sweep carries the derivative of the prediction with respect to the state (rows and moments)
    from the end of training to the start. The influence of a fact is the sum, over its steps, of
    this derivative times the change that the step made.
    """

    name = "unrolled"
    title = "Derivative through training"
    phrase = "estimate that follows training"
    citation = "Ilyas and Engstrom, MAGIC: Near-Optimal Data Attribution for Deep Learning, 2025"
    needs = frozenset({"formula", "recipe"})
    can = frozenset({"groups", "contrast", "device", "standings", "non-adjacent facts", "sweep"})
    prepares = "predictions"
    ranks_all = True
    version = 5
    is_linear = True

    def trainings(self, n_facts: int, n_predictions: int = 1) -> float:
        return n_trainings(n_predictions)

    def cost(self, trained: Trained, n_facts: int, context: Context) -> float:
        n_drawn = N_PREDICTIONS if _measures_sizes(trained, context) else 0
        n_columns = 1 + (not _is_standing(trained.config, context.aim)) + context.rivals + n_drawn
        swept = n_trainings(n_columns) * share_of_epochs(trained, context.sweep_epochs)
        return swept + _n_retrainings(n_drawn)

    def check(self, trained: Trained) -> None:
        super().check(trained)
        if trained.n_trained is None:
            raise WhereofError(
                "method unrolled repeats the training, and how this run was trained is not known; "
                "train a run with whereof, or choose another method"
            )

    def notes(self, trained: Trained) -> tuple[str, ...]:
        return super().notes(trained) + (() if trained.config.steady else (_UNSTEADY,))

    def prepare(
        self, trained: Trained, predictions: Sequence[Prediction], events: Events, context: Context
    ) -> Arrays:
        """Changes of what is explained, of the standing and of the margins to rivals, by fact."""
        scored = [trained.score(prediction) for prediction in predictions]
        rivals = [find_rivals(each, context.rivals) for each in scored]
        n_rivals = max(map(len, rivals))
        for each, others in zip(scored, rivals, strict=True):  # an answer never loses to itself
            others += [each.target] * (n_rivals - len(others))
        aims = [_PROBABILITY]
        if not _is_standing(trained.config, context.aim):
            aims.append(context.aim)
        columns = [
            [(each, quantity_slopes(each, aim))]
            for each, others in zip(scored, rivals, strict=True)
            for aim in (*aims, *(Aim("log_ratio", other) for other in others))
        ]
        found, differs, curve = _sweep_with_sizes(trained, columns, events, context)
        changes = found.astype(np.float32).reshape(len(scored), -1, found.shape[-1])
        return {
            "changes": changes,
            "rivals": np.array(rivals, np.int64),
            "differs": np.full(len(scored), differs),
            "curve": np.tile(curve, (len(scored), 1)),
        }

    def claims(self, trained: Trained) -> Claims | None:
        found = trained.store.find(_key(trained, Context(_PROBABILITY)), _are_sizes)
        if found is None or len(found["checks"]) < _LEAST_CHECKS:
            return None
        return Claims.compare(self.name, *found["checks"].T)

    def depends_on(self, trained: Trained, context: Context) -> tuple[object, ...]:
        how = super().depends_on(trained, context)
        return how if corrects_sizes(trained, context) else (*how, _SMALL)

    def accepts(
        self, trained: Trained, prediction: Prediction, context: Context, prepared: Arrays
    ) -> bool:
        rivals = prepared.get("rivals", np.zeros(0))
        n_columns = 1 + (not _is_standing(trained.config, context.aim)) + rivals.size
        kinds = like(
            changes=((n_columns, trained.dataset.n_facts), "float32"),
            rivals=((min(rivals.size, context.rivals),), "int64"),
            differs=((), "bool"),
            curve=((2,), "float64"),
        )
        return kinds(prepared) and bool(
            np.isin(rivals, trained.everyone[prediction.asks].ids).all()
        )

    def total(self, trained: Trained, groups: Sequence[Sequence[Goal]], events: Events) -> Totals:
        """One sweep for all predictions of a group, because their derivatives add up.

        The parts of a sum are not known, so its size is corrected as that of a strong fact.
        """
        scale, columns = trained.scorer.scale, []
        for group in groups:
            slopes = ((goal.scored, quantity_slopes(goal.scored, goal.aim)) for goal in group)
            weighed = zip(slopes, group, strict=True)
            columns.append([(each, scale * goal.weight * it) for (each, it), goal in weighed])
        sums, _, curve = _sweep_with_sizes(trained, columns, events, Context(groups[0][0].aim))
        return Totals(curve[0] * sums)

    def estimate(self, scored: ScoredPrediction, fact_ids: FactIds, context: Context) -> Numbers:
        return self._influences(scored, Sets.each(fact_ids), context)

    def rank(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Ranked:
        every = scored.trained.everyone[scored.prediction.asks].ids
        if not np.array_equal(scored.candidates.ids, every):
            what = f"method unrolled requires all {scored.prediction.asks}s as candidates"
            raise WhereofError(f"{what}; leave out candidates")
        ranked = super().rank(scored, sets, context)
        notes = (control_differs(scored.trained),) if context.prepared["differs"] else ()
        if not corrects_sizes(scored.trained, context):
            notes = (*notes, _SMALL)
        if context.sweep_epochs is not None:
            notes = (*notes, _SCREEN.format(count(context.sweep_epochs, "epoch")))
        return replace(ranked, notes=notes)

    def remove(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Removed:
        """The effect of removing each set: the changes of its facts add up in the log-odds."""
        rivals = context.prepared["rivals"]
        without = np.zeros(len(sets), STANDING)
        falls = _falls(context, 0, sets)
        without["probability"] = probability_of(log_odds(scored) - falls)
        without["score"] = np.nan
        if scored.trained.config.rated:
            without["score"] = scored.scores[scored.place] - falls * scored.trained.scorer.scale
        if context.rivals:  # otherwise the rank and the top answer are not known
            without["rank"], without["top"] = 1, scored.target
        else:
            without["top"] = -1
        if len(rivals):
            places = scored.candidates.places[rivals]
            margins = scored.plain_scores[scored.place] - scored.plain_scores[places]
            followed = range(-len(rivals), 0)
            margins = margins[:, None] - np.array([_falls(context, at, sets) for at in followed])
            above = scored.contenders > scored.plain_scores[scored.place]
            above[places] = False
            others = len(find_rivals(scored, len(rivals) + 1)) > len(rivals)  # not followed
            known = (margins >= 0).any(axis=0) | (not others)
            without["rank"] = np.where(known, 1 + above.sum() + (margins < 0).sum(axis=0), 0)
            strongest = margins.argmin(axis=0)
            lost = margins[strongest, np.arange(len(sets))] < 0
            without["top"] = np.where(lost, rivals[strongest], scored.target)
        without["top_released"] = without["top"]
        return Removed(self._influences(scored, sets, context), without)

    def _influences(self, scored: ScoredPrediction, sets: Sets, context: Context) -> Numbers:
        """(n_sets,) change of what is explained, from the changes that were swept."""
        aim = context.aim
        falls = _falls(context, 0 if _is_standing(scored.trained.config, aim) else 1, sets)
        if is_linear(scored, aim):
            return falls * scored.trained.scorer.scale
        if aim.of == "loss" and scored.trained.config.loss == "sigmoid":
            score = scored.plain_scores[scored.place]
            return np.asarray(np.logaddexp(0, falls - score) - np.logaddexp(0, -score))
        odds = log_odds(scored, aim)
        if aim.of == "loss":
            return np.asarray(np.logaddexp(0, falls - odds) - np.logaddexp(0, -odds))
        return probability_of(odds) - probability_of(odds - falls)


UNROLLED = Unrolled()


def is_linear(scored: ScoredPrediction, aim: Aim) -> bool:
    """Whether what is explained is a score, or a difference of scores."""
    return scored.trained.config.rated or aim.rival is not None or aim.of == "score"


def quantity_slopes(scored: ScoredPrediction, aim: Aim) -> Numbers:
    """(n_candidates,) derivative by every score of what is swept for an aim.

    It is linear in the scores, or the log-odds of the answer: training changes it more evenly than
    a probability, which is then computed from it.
    """
    place, slopes = scored.place, np.zeros(len(scored.scores))
    slopes[place] = 1
    if aim.rival is not None:
        slopes[scored.candidates.places[aim.rival]] -= 1
    elif not (
        is_linear(scored, aim) or (aim.of == "loss" and scored.trained.config.loss == "sigmoid")
    ):
        others = _others(scored, aim)
        if (top := others.max(initial=-np.inf)) == -np.inf:  # nothing to compare with
            return np.zeros_like(slopes)
        shares = np.exp(others - top)
        slopes -= np.insert(shares / shares.sum(), place, 0.0)
    return slopes


def _others(scored: ScoredPrediction, aim: Aim) -> Numbers:
    """The plain scores of the answers that the prediction is compared with."""
    among_new = aim.of == "new_probability"
    return np.delete(scored.contenders if among_new else scored.plain_scores, scored.place)


def log_odds(scored: ScoredPrediction, aim: Aim = _PROBABILITY) -> float:
    """log p / (1 - p) of the answer."""
    others = _others(scored, aim)
    top = others.max()
    return float(scored.plain_scores[scored.place] - top - np.log(np.exp(others - top).sum()))


def _is_standing(config: TrainConfig, aim: Aim) -> bool:
    """Whether what is swept for an aim is also what the standing is computed from."""
    by_odds = aim.of == "probability" or (aim.of == "loss" and config.loss != "sigmoid")
    return aim.rival is None and (config.rated or by_odds)


def find_rivals(scored: ScoredPrediction, most: int) -> list[int]:
    """The strongest new answers other than the prediction."""
    contenders = scored.contenders.copy()
    contenders[scored.place] = -np.inf
    order = np.argsort(-contenders, kind="stable")[:most]
    found: list[int] = scored.candidates.ids[order[np.isfinite(contenders[order])]].tolist()
    return found


def _falls(context: Context, column: int, sets: Sets) -> Numbers:
    """(n_sets,) how far a column of `prepare` falls without every set; changes add up."""
    changes = context.prepared["changes"][column]
    numbers = np.repeat(np.arange(len(sets)), np.diff(sets.bounds))
    sums = np.bincount(numbers, changes[sets.fact_ids], minlength=len(sets))
    return correct_falls(sums.astype(np.float64), context.prepared["curve"])


def _sweep_with_sizes(
    trained: Trained, columns: Columns, events: Events, context: Context
) -> tuple[Numbers, bool, Numbers]:
    """As `sweep`, with the curve that corrects sizes; a sweep of some epochs has none."""
    if context.sweep_epochs is not None:
        with sweep(trained, columns, events, context) as swept:
            return *swept, NO_CURVE
    sample = draw_sample(trained) if _measures_sizes(trained, context) else []
    more = [[(each, quantity_slopes(each, _PROBABILITY))] for each in sample]
    every, n_after = [*columns, *more], _n_retrainings(len(sample))
    with sweep(trained, every, events, context, n_after=n_after) as (found, differs):
        found, drawn = np.split(found, [len(columns)])

        def measure() -> Arrays:
            return measure_sizes(trained, sample, drawn, events)._asdict()

        known = trained.store.get(_key(trained, context), measure, _are_sizes, events)
        return found, differs, known["curve"]


def _measures_sizes(trained: Trained, context: Context) -> bool:
    """Whether a sweep also measures the sizes of estimates: once, and never on some epochs."""
    is_known = trained.store.find(_key(trained, context), _are_sizes) is not None
    return context.sweep_epochs is None and not is_known


def _n_retrainings(n_drawn: int) -> int:
    """The most retrainings that measure sizes: without some facts for each, and the control."""
    return CHECKS_EACH * n_drawn + 1 if n_drawn else 0


def _key(trained: Trained, context: Context) -> str:
    """The key of the sizes in the store."""
    small = "" if corrects_sizes(trained, context) else "-small"
    return f"{UNROLLED.name}-sizes-{UNROLLED.version}{'-cuda' * trained.on_card}{small}"


def _are_sizes(arrays: Arrays) -> bool:
    """Whether arrays of the run's folder fit what `measure_sizes` returns."""
    n_checks = np.size(arrays.get("checks", 0)) // 3
    kinds = like(curve=((2,), "float64"), checks=((n_checks, 3), "float64"))
    return kinds(arrays) and n_checks <= CHECKS_EACH * N_PREDICTIONS


_UNSTEADY = (
    "this run was not trained steadily: removing one fact can change much, and estimates by "
    "unrolled can be far off; check them by retraining, or train with the default model, optimizer "
    "and accumulator"
)
_SMALL = (
    "estimates for entities and relations with few facts are too small: correcting them requires "
    "more memory than --sweep-memory allows"
)
_SCREEN = (
    "the sweep covers only the end of training ({}): it nearly always finds the strongest fact, "
    "but its influences are too small"
)
