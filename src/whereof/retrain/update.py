"""Continue the training of a run with new facts, as the next phase of its recipe."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset
from whereof.data.extend import Extended
from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events, Note
from whereof.records import as_plain
from whereof.registry import render
from whereof.retrain.engine import Recipe
from whereof.retrain.options import UpdateOptions
from whereof.training.config import Phase, TrainConfig
from whereof.training.fit import MakeTrainer
from whereof.training.problem import Problem
from whereof.training.results import UNLEARNED, Progress
from whereof.training.trainer import Trainer, Training
from whereof.units import percent

State = Mapping[str, NDArray[Any]]

_REPLAY = 3.0
"""Number of earlier facts per new fact in each epoch."""
_LEAST_REPLAYED = 5_000
"""The least number of them with new entities: a new entity must also learn that it is not the
answer to earlier questions."""
_WORSE = 0.02
"""The fall of the MRR that a user should hear of."""


@dataclass(frozen=True)
class FromScratch:
    """A run that was trained from scratch on all facts, to compare an update with."""

    metrics: dict[str, Any]
    seconds: float
    """Includes metrics and the search for settings. An update does not repeat the search."""
    training_seconds: float
    """Of the steps alone."""


@dataclass(frozen=True)
class Updated:
    """The result of an update: a run that continues another one with new facts."""

    run: str
    """The folder of the new run."""
    n_added: int
    n_known: int
    """Number of given facts that the run already had."""
    n_new_entities: int
    n_new_relations: int
    n_trained: int
    """Number of facts that the new phase trains on, over all its epochs."""
    n_replayed: int
    """Number of earlier facts in each of its epochs."""
    metrics_before: dict[str, Any]
    """The metrics of the earlier run, on the same held-out facts."""
    metrics: dict[str, Any]
    seconds: float
    training_seconds: float
    """Of the steps alone."""
    scratch: FromScratch | None
    """The same data, trained from scratch; None unless you asked for a comparison."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof update --json` prints."""
        return dict(as_plain(self))

    def __str__(self) -> str:
        """The update in words."""
        return str(render("updated-words", self))


def check_updatable(config: TrainConfig, stopped: str | None) -> None:
    """Refuse a run that cannot be updated. stopped: why its training ended."""
    if stopped == UNLEARNED:
        raise WhereofError(
            "a run that unlearned facts cannot be updated, because its training cannot continue; "
            "update the run that it was made from and unlearn again, or train again on all facts"
        )
    if config.rated:
        raise WhereofError("a rating model cannot be updated; train again on all facts")
    if config.optimizer == "adam" and config.schedule != "constant":
        raise WhereofError(
            f"a run with optimizer adam and schedule {config.schedule} cannot be updated; "
            "train again on all facts"
        )


def plan_update(recipe: Recipe, extended: Extended, options: UpdateOptions) -> TrainConfig:
    """The config of the updated run: that of the run, with one more phase."""
    problem, data = recipe.problem, extended.dataset
    config, n_added = problem.config, data.n_facts - len(problem.facts)
    if not n_added:
        raise WhereofError("all of the new facts are in the run already; nothing to update")
    n_subjects = _n_users(problem.subjects, problem.objects)
    n_new_users = len(data.subjects) - len(problem.subjects) if n_subjects else 0
    if n_new_users and config.negatives_from == "entities":
        raise WhereofError(
            "a run with negatives_from entities cannot get new users; train again on all facts"
        )
    earlier = problem.calendar.phases or (_phase_of(problem, recipe.n_facts),)
    earlier = tuple(replace(it, n_subjects=it.n_subjects or n_subjects) for it in earlier)
    wanted = round((_REPLAY if options.replay is None else options.replay) * n_added)
    n_new_answers = data.n_entities - problem.n_entities - n_new_users * (not config.inverse)
    if options.replay is None and n_new_answers:
        wanted = max(wanted, _LEAST_REPLAYED)
    n_replayed = min(wanted, len(problem.facts))
    n_trained = options.epochs * (n_added + n_replayed)
    sizes = data.n_facts, data.n_entities, data.n_relations
    n_users = _n_users(data.subjects, data.objects)
    n_epochs = problem.calendar.n_epochs(recipe.n_facts) + options.epochs
    return config.replace(
        phases=(*earlier, Phase(*sizes, n_trained, n_replayed, n_users)),
        epochs=n_epochs,
        keep_checkpoints=0,
        time_budget=None,
    )


def _phase_of(problem: Problem, n_trained: int) -> Phase:
    """The whole training of a run as a phase."""
    sizes = len(problem.facts), problem.n_entities, problem.n_relations
    return Phase(*sizes, n_trained, n_subjects=_n_users(problem.subjects, problem.objects))


def _n_users(subjects: range, objects: range) -> int | None:
    """Number of users; None if subjects and objects are the same entities."""
    return None if subjects == objects else len(subjects)


def progress_of(recipe: Recipe, history: list[dict[str, Any]], facts_per_second: float) -> Progress:
    """The progress of a finished run, from which an update continues."""
    n_epochs = recipe.problem.calendar.n_epochs(recipe.n_facts)
    seconds = recipe.n_facts / max(facts_per_second, 1e-9)
    return Progress(history=history[:n_epochs], facts=recipe.n_facts, seconds=seconds)


def go_on_from(recipe: Recipe, state: State, trace: NDArray[Any] | None) -> MakeTrainer:
    """A function that makes trainers, which continue the recipe's training with a new phase."""
    before = _phase_of(recipe.problem, recipe.n_facts)

    def make(problem: Problem, room: NDArray[Any] | None) -> Training:
        if room is not None and trace is not None:
            room[: len(trace)] = trace
        trainer = Trainer(problem, room)
        trainer.go_on(state, before)
        return trainer

    return make


def replay_state(recipe: Recipe, rows: Any, events: Events) -> State:
    """Repeat the training of a run that did not keep its optimizer state, and return the state."""
    events.emit(
        Note("this run does not contain the optimizer state, so its training is repeated first")
    )
    trainer, done = Trainer(recipe.problem), 0
    while done < recipe.n_facts:
        done += trainer.advance(min(recipe.n_facts - done, 1 << 14))
        events.emit(Advanced(done, recipe.n_facts, "facts, training again"))
        if events.should_stop():
            raise Interrupted("interrupted; nothing was written")
    same = (np.array_equal(*pair) for pair in zip(trainer.parameters(), rows, strict=True))
    if not all(same):
        raise WhereofError(
            "the repeated training does not give the rows of the run, for example because the run "
            "unlearned facts, or because this is another processor; train from scratch on all facts"
        )
    return trainer.snapshot()


def fall_note(
    before: Mapping[str, Any], after: Mapping[str, Any], *, replayed_all: bool
) -> str | None:
    """A sentence if the MRR of held-out facts fell; metrics: of the run and the updated run."""
    for split in ("test", "valid"):
        old, new = ((it.get(split) or {}).get("mrr") for it in (before, after))
        if old is not None and new is not None:
            change = f"the MRR of the split {split} fell from {percent(old)} to {percent(new)}"
            remedy = "train again on all facts"
            if not replayed_all:
                remedy = f"choose a larger --replay, or {remedy}"
            return f"{change}; {remedy}" if old - new > _WORSE else None
    return None


def counts_of(before: Dataset, extended: Extended) -> dict[str, int]:
    """How many facts, entities and relations an update adds."""
    after = extended.dataset
    return {
        "n_added": after.n_facts - before.n_facts,
        "n_known": extended.n_known,
        "n_new_entities": after.n_entities - before.n_entities,
        "n_new_relations": after.n_relations - before.n_relations,
    }
