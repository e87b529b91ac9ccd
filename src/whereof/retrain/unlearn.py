"""Make a run without some facts, by rollback, or by rollback and a short training.

Rollback subtracts what the facts changed. The short training repairs what they changed through
other facts. Whereof compares the result with retraining from scratch without the facts, with the
same seed, and with the same negatives and order for all other facts.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset
from whereof.data.remove import Reduced
from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.explain.explain import describe_fact
from whereof.explain.explanation import NamedFact
from whereof.explain.facts import find_entities
from whereof.explain.methods.rollback import roll_back_rows
from whereof.predict.prediction import Prediction
from whereof.predict.predictions import Predictions
from whereof.predict.scored import Standings, Trained
from whereof.records import as_plain
from whereof.registry import render
from whereof.retrain.engine import Recipe
from whereof.retrain.options import UnlearnOptions
from whereof.retrain.update import State
from whereof.training.config import TrainConfig
from whereof.training.problem import Problem
from whereof.training.results import Parameters
from whereof.training.tables import Ledgers
from whereof.training.trainer import Trainer
from whereof.types import FactIds, Facts, Numbers

_COMPARED = 1000
"""Number of held-out facts, and of removed facts, that are compared; evenly spaced."""


_NAMED = 5
"""Number of removed facts that the result names."""


@dataclass(frozen=True)
class Quality:
    """Quality of one model: of the run before, the unlearned run, or the retrained model."""

    mrr: float | None = None
    """MRR of held-out facts. Ranks skip answers that are known from training and validation."""
    removed_probability: float | None = None
    """Mean probability of the removed facts that the new run can score."""
    rmse: float | None = None
    """For a rating model: RMSE of held-out facts."""
    removed_rating: float | None = None
    """For a rating model: mean predicted rating of the removed facts."""


@dataclass(frozen=True)
class Distance:
    """How far an unlearned run is from retraining from scratch.

    All three models are compared on the same facts: those whose entities and relations the new run
    has.
    """

    rows: float
    """Distance of all rows from the retrained ones, as a share of the distance before."""
    probability: float | None
    """Mean difference of the probabilities of held-out facts from the retrained ones."""
    probability_before: float | None
    """The same difference for the run before, that is, if nothing is done."""
    rating: float | None
    """For a rating model: mean difference of the ratings of held-out facts."""
    rating_before: float | None
    n_held_out: int
    """Number of held-out facts that are compared."""
    n_removed: int
    """Number of removed facts that the new run can score: it has their entities and relations."""
    before: Quality
    unlearned: Quality
    retrained: Quality


@dataclass(frozen=True)
class Unlearned:
    """A run without some facts."""

    run: str
    """The folder of the new run."""
    method: str
    n_removed: int
    removed: tuple[int, ...]
    """The ids of the removed facts in the run before."""
    first_removed: tuple[NamedFact, ...]
    """The first five of them, by name."""
    n_entities_gone: int
    """Number of entities that have no training fact left, and are removed too."""
    n_relations_gone: int
    seconds: float
    """Of unlearning, without metrics and without the comparison."""
    retraining_seconds: float | None
    """Of retraining from scratch; None if it was not measured."""
    distance: Distance | None
    """None if it was not measured."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof unlearn --json` prints."""
        return dict(as_plain(self))

    def __str__(self) -> str:
        """What was unlearned, in words."""
        return str(render("unlearned-words", self))


def find_removed(trained: Trained, named: FactIds, options: UnlearnOptions) -> FactIds:
    """The facts to unlearn, ascending: those that are named, and those of entities and sources."""
    data, found = trained.dataset, [named]
    for entity in find_entities(data, options.entities):
        found.append(trained.adjacency.facts_of_entity(entity).astype(np.int64))
    for name in options.named_sources:
        if data.sources is None:
            raise WhereofError("source requires a column of sources: train with --source COLUMN")
        if name not in data.sources.names:
            known = ", ".join(map(repr, data.sources.names[:10]))
            raise WhereofError(f"unknown source {name!r}; choose from {known}")
        found.append(np.flatnonzero(data.sources.codes == data.sources.names.index(name)))
    removed = np.unique(np.concatenate(found))
    if not len(removed):
        raise WhereofError("nothing to unlearn; name facts, or give --entity or --source")
    return removed


def name_removed(data: Dataset, removed: FactIds) -> tuple[NamedFact, ...]:
    """The first removed facts, by name."""
    return tuple(NamedFact(**describe_fact(data, fact)) for fact in removed[:_NAMED].tolist())


@dataclass(frozen=True, eq=False)
class Unlearning:
    """The rows and the trace of a run without some facts."""

    rows: Parameters
    """With the rows of all former entities and relations."""
    trace: Any
    """Of the facts that are left."""


def unlearn(
    trained: Trained,
    removed: FactIds,
    reduced: Reduced,
    state: State | None,
    options: UnlearnOptions,
    events: Events,
) -> Unlearning:
    """Subtract the traces of facts. With method warm, also train on the remaining facts.

    state: the optimizer's state of the run; None starts from a new one.
    """
    if trained.trace is None:
        remedy = "train without --no-trace"
        if trained.n_trained is None:
            remedy = "other software trained it: record a trace there"
        raise WhereofError(f"unlearn requires a trace, and this run has none; {remedy}")
    exact, precision = roll_back_rows(trained, removed), trained.config.precision
    rows = Parameters(*(array.astype(precision) for array in exact))
    trace = np.array(trained.trace[reduced.facts])
    if options.method == "warm":
        rows = _train_on(trained, reduced, rows, trace, state, options.epochs or 1, events)
    if not all(np.isfinite(array).all() for array in rows):
        raise WhereofError(
            "the new rows contain NaN or infinity; choose another method, or fewer facts"
        )
    return Unlearning(rows, trace)


def _train_on(
    trained: Trained,
    reduced: Reduced,
    rows: Parameters,
    trace: Any,
    state: State | None,
    n_epochs: int,
    events: Events,
) -> Parameters:
    """The rows after some epochs on the facts that are left; their trace goes on too."""
    data = reduced.dataset
    problem = Problem.of(data, config_without(trained.config, data))
    trainer = Trainer(problem, trace, ledgers=Ledgers.NONE)
    relations = relation_rows(trained.dataset, reduced, problem.n_directions)
    places = (reduced.entities, relations)
    names = ("entities", "relations")
    for name, table, its_rows, kept in zip(names, trainer.tables, rows, places, strict=True):
        for field in ("state", "touched", "tails"):
            saved = (state or {}).get(f"{name}.{field}")  # a run keeps no empty arrays
            if saved is not None:
                getattr(table, field)[:] = saved[kept]
        table.state[:, : its_rows.shape[1]] = its_rows[kept]
    if state is not None:
        trainer.count[:] = state["count"]
    total, done = n_epochs * data.n_facts, 0
    while done < total:
        done += trainer.advance(min(total - done, 1 << 14))
        events.emit(Advanced(done, total, "facts"))
        if events.should_stop():
            raise Interrupted("interrupted; nothing was written")
    trainer.fold_trace()
    after = Parameters(rows.entity_rows.copy(), rows.relation_rows.copy())
    for whole, part, kept in zip(after, trainer.parameters(), places, strict=True):
        whole[kept] = part
    return after


def config_without(config: TrainConfig, data: Dataset) -> TrainConfig:
    """The config of a run without some facts: one phase, and fewer negatives if needed."""
    negatives, others = config.negatives, min(len(data.subjects), len(data.objects)) - 1
    if isinstance(negatives, int) and not config.rated:
        negatives = min(negatives, others)
    return config.replace(phases=None, keep_checkpoints=0, negatives=negatives)


def relation_rows(before: Dataset, reduced: Reduced, n_directions: int) -> FactIds:
    """The former numbers of the relation rows that are left, with inverses."""
    shifts = (before.inverse_offset * direction for direction in range(n_directions))
    return np.concatenate([reduced.relations + shift for shift in shifts])


def measure_distance(
    trained: Trained,
    removed: FactIds,
    reduced: Reduced,
    unlearned: Parameters,
    recipe: Recipe,
    events: Events,
) -> tuple[Distance, float]:
    """How far rows are from retraining without the facts, and the seconds of retraining."""
    start, rated = time.perf_counter(), trained.config.rated
    model = recipe.retrain_model(trained.scorer, removed, events.should_stop)
    retrained = Parameters(model.entity_rows, model.relation_rows)
    seconds = time.perf_counter() - start
    data = reduced.dataset
    split = "test" if len(data.test) else "valid"
    held_out, gone = _former_ids(reduced, getattr(data, split)), trained.dataset.train[removed]
    gone, chosen = gone[_are_left(reduced, gone)], _spaced(held_out)
    sides = ("object", "subject") if trained.config.inverse else ("object",)
    asked = _predictions(held_out[chosen], sides)
    n, given = len(asked), [*asked, *_predictions(gone[_spaced(gone)], ("object",))]
    predictions = Predictions.of(trained, given)
    every = (trained.parameters, unlearned, retrained)
    asking = (predictions, predictions, replace(predictions, model=model.model))
    stands = [each.stand(rows) for each, rows in zip(asking, every, strict=True)]
    before, after, truth = (each["score" if rated else "probability"][:n] for each in stands)
    apart = _mean(np.abs(after - truth)), _mean(np.abs(before - truth))
    ratings = getattr(data.ratings, split)[chosen] if rated else None
    distance = Distance(
        _row_distance(every),
        *(apart if not rated else (None, None)),
        *(apart if rated else (None, None)),
        len(chosen),
        len(gone),
        *(_quality(each, n, ratings) for each in stands),
    )
    return distance, seconds


def _former_ids(reduced: Reduced, facts: Any) -> Facts:
    """(n, 3) facts of a reduced dataset with the ids that they had before."""
    places = (reduced.entities, reduced.relations, reduced.entities)
    return np.column_stack([former[facts[:, at]] for at, former in enumerate(places)])


def _are_left(reduced: Reduced, facts: Facts) -> NDArray[np.bool_]:
    """(n,) whether a reduced dataset has the entities and relations of former facts."""
    places = (reduced.entities, reduced.relations, reduced.entities)
    left = [np.isin(facts[:, at], former) for at, former in enumerate(places)]
    return np.asarray(np.all(left, axis=0))


def _spaced(facts: Facts) -> FactIds:
    """The positions of some facts, evenly spaced."""
    return np.unique(np.linspace(0, len(facts) - 1, min(len(facts), _COMPARED)).astype(np.int64))


def _predictions(facts: Facts, sides: Sequence[str]) -> list[Prediction]:
    return [Prediction(s, r, o, asks) for asks in sides for s, r, o in facts.tolist()]


def _quality(standings: Standings, n: int, ratings: Numbers | None) -> Quality:
    """The quality on n held-out facts, with ratings for a rating model, and on removed facts."""
    held_out, removed = standings[:n], standings[n:]
    if ratings is None:
        return Quality(_mean(1 / held_out["rank"]), _mean(removed["probability"]))
    error = _mean((held_out["score"] - ratings) ** 2)
    rmse = None if error is None else math.sqrt(error)
    return Quality(rmse=rmse, removed_rating=_mean(removed["score"]))


def _mean(values: Numbers) -> float | None:
    return float(values.mean()) if len(values) else None


def _row_distance(every: tuple[Parameters, Parameters, Parameters]) -> float:
    before, after, truth = (_flat(rows) for rows in every)
    return float(np.linalg.norm(after - truth) / (np.linalg.norm(before - truth) or 1.0))


def _flat(rows: Parameters) -> Numbers:
    return np.concatenate([np.asarray(array, np.float64).ravel() for array in rows])
