"""Make runs from other runs, with new facts or without some facts."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whereof.api.run import Run, make_scorer
from whereof.api.runs import free_path, train_run
from whereof.data.dataset import Dataset
from whereof.errors import WhereofError
from whereof.events import Events, Note, TrainingStarted, Without
from whereof.retrain.options import UnlearnOptions, UpdateOptions
from whereof.run.writer import RunWriter, write_run
from whereof.training.config import MachineOptions
from whereof.training.results import Parameters
from whereof.types import FactIds
from whereof.units import count

if TYPE_CHECKING:
    from whereof.predict.scored import Trained
    from whereof.retrain.engine import Recipe
    from whereof.retrain.unlearn import Unlearned
    from whereof.retrain.update import FromScratch, Updated

_NOT_MEASURED = (
    "the distance to retraining is not measured: other software trained this run; in Python, pass "
    "your own training function: Run.open(path, retrain=function).unlearn(...)"
)

# Numba, and all that is compiled by it, is imported in the functions that compute.


def update(
    run: Run, facts: Any, out: str | Path | None, options: UpdateOptions, events: Events
) -> "Updated":
    """Continue the training of a run with new facts, and write a new run."""
    from whereof.data.extend import extend_dataset
    from whereof.data.read import read_new_facts
    from whereof.retrain import update as updating
    from whereof.training.problem import Problem

    if run._n_trained is None:
        raise WhereofError(
            "other software trained this run, so update cannot continue its training; train on all "
            "facts with your own code, or train a run with whereof"
        )
    updating.check_updatable(run.config, run.manifest.result["stopped"])
    start, recipe, machine = time.monotonic(), run._recipe, MachineOptions()
    table = read_new_facts(facts, options.reading)
    extended = extend_dataset(run.dataset, table)
    config = updating.plan_update(recipe, extended, options)
    data = _noted(run, extended.dataset, facts)
    path = free_path(f"{data.name}-{config.model}") if out is None else Path(out)
    RunWriter.check_place(path, 0)
    state = run.read_state() or updating.replay_state(recipe, run.parameters, events)
    progress = updating.progress_of(recipe, run.history, run.manifest.result["facts_per_second"])
    trainer, seconds = updating.go_on_from(recipe, state, run.trace), progress.seconds
    begun = trainer, progress
    new = train_run(path, data, config, events, machine, start, continued=begun)
    took, notes = time.monotonic() - start, list[str]()
    if n_held_out := extended.n_held_out:
        notes.append(
            f"{n_held_out} new facts are also in held-out splits, so the metrics are too good"
        )
    if run.dataset.sources is not None and "source" not in table.columns:
        notes.append(
            "the facts of the run have sources, and the new facts have none; name their column "
            "with --source COLUMN"
        )
    phase = Problem.of(data, config).calendar.phases[-1]
    replayed_all = phase.n_replayed == run.dataset.n_facts
    if fall := updating.fall_note(run.metrics, new.metrics, replayed_all=replayed_all):
        notes.append(fall)
    scratch = None
    if options.compare:
        scratch = _train_from_scratch(new, recipe, events)
    return updating.Updated(
        run=str(path),
        **updating.counts_of(run.dataset, extended),
        n_trained=phase.n_trained,
        n_replayed=phase.n_replayed,
        metrics_before=run.metrics,
        metrics=new.metrics,
        seconds=took,
        training_seconds=new.manifest.result["seconds"] - seconds,
        scratch=scratch,
        notes=tuple(notes),
    )


def _noted(run: Run, data: Dataset, facts: Any) -> Dataset:
    """The data of an updated run, with a note on the run and the file that it comes from."""
    n_added = data.n_facts - run.dataset.n_facts
    origin = f"from {facts}" if isinstance(facts, str | Path) else "from a table in memory"
    parent = run.path or "a run in memory"
    note = f"whereof update added {count(n_added, 'fact')} {origin} to the facts of {parent}"
    return replace(data, notes=(*run.dataset.notes, *data.notes, note))


def unlearn(
    run: Run, facts: Sequence[Any], out: str | Path | None, options: UnlearnOptions, events: Events
) -> "Unlearned":
    """A new run without some facts of another."""
    from whereof.data.remove import remove_facts
    from whereof.retrain import unlearn as unlearning

    is_ours, trained = run._n_trained is not None, run._trained
    if options.method == "warm" and not is_ours:
        raise WhereofError(
            "other software trained this run, so method warm cannot continue its training; choose "
            "method rollback"
        )
    named, notes = _read_facts(trained, facts)
    removed = unlearning.find_removed(trained, named, options)
    path = free_path(f"{run.dataset.name}-{run.config.model}") if out is None else Path(out)
    RunWriter.check_place(path, 0)
    start, reduced = time.monotonic(), remove_facts(run.dataset, removed)
    found = unlearning.unlearn(trained, removed, reduced, run.read_state(), options, events)
    took, distance, retraining = time.monotonic() - start, None, None
    if options.measure and not is_ours and run.retraining is None:
        notes.append(_NOT_MEASURED)
    elif options.measure:
        events.emit(Note("retraining from scratch without the facts, to compare"))
        given = trained, removed, reduced, found.rows, run._recipe, events
        distance, retraining = unlearning.measure_distance(*given)
    said = "was" if len(removed) == 1 else "were"
    note = (
        f"{count(len(removed), 'fact')} {said} removed by whereof unlearn, method {options.method}"
    )
    data = replace(reduced.dataset, notes=(*reduced.dataset.notes, note))
    related = unlearning.relation_rows(run.dataset, reduced, 1 + run.config.inverse)
    rows = Parameters(found.rows.entity_rows[reduced.entities], found.rows.relation_rows[related])
    write = _write_unlearned if is_ours else _write_arrays
    write(path, run, data, rows, found.trace)
    return unlearning.Unlearned(
        run=str(path),
        method=options.method,
        n_removed=len(removed),
        removed=tuple(removed.tolist()),
        first_removed=unlearning.name_removed(run.dataset, removed),
        n_entities_gone=run.dataset.n_entities - reduced.dataset.n_entities,
        n_relations_gone=run.dataset.n_relations - reduced.dataset.n_relations,
        seconds=took,
        retraining_seconds=retraining,
        distance=distance,
        notes=tuple(notes),
    )


def _read_facts(trained: "Trained", given: Sequence[Any]) -> tuple[FactIds, list[str]]:
    """The ids of the given facts, also of those in files; and notes on how they were read."""
    from whereof.data.read import is_file_name
    from whereof.explain.facts import find_facts, name_notes

    if len(given) == 1 and isinstance(given[0], list | tuple):
        (given,) = given
    listed, named, notes = list[int](), list[Any](), list[str]()
    for each in given:
        is_path = isinstance(each, str | Path) and not str(each).isdecimal()
        # Unlike Path.is_file, os.path.isfile does not raise an error for names that are too long.
        if not (is_path and os.path.isfile(each)):  # noqa: PTH113
            named.append(each)
            continue
        ids, n_rows = _read_listed(trained, Path(each))
        listed += ids
        if n_skipped := n_rows - len(ids):
            said = "are not training facts; they were skipped"
            said = "is not a training fact; it was skipped" if n_skipped == 1 else said
            notes.append(f"{n_skipped:,} of {count(n_rows, 'fact')} of {each} {said}")
    try:
        found = find_facts(trained, [named], names_win=True)
    except WhereofError:
        for each in filter(is_file_name, map(str, named)):
            with suppress(WhereofError):
                find_facts(trained, [each], names_win=True)
                continue
            raise WhereofError(f"no such file: {each}; check the path") from None
        raise
    notes += name_notes(trained, named, found)
    return np.union1d(listed, found).astype(np.int64), notes


def _read_listed(trained: "Trained", path: Path) -> tuple[list[int], int]:
    """The ids of the training facts of a file, and the number of its facts."""
    from whereof.data.read import read_fact_names
    from whereof.explain.facts import find_listed

    rows = read_fact_names(path, two_way=trained.dataset.two_way)
    try:
        ids = find_listed(trained, rows)
    except WhereofError as error:
        raise WhereofError(f"{path}: {error}") from None
    if not ids:
        raise WhereofError(
            f"{path}: none of its facts is a training fact, so there is nothing to remove; give a "
            "file with facts of the training data"
        )
    return ids, len(rows)


def _write_arrays(path: Path, run: Run, data: Dataset, rows: Parameters, trace: Any) -> None:
    """Write a run without some facts that other software trained: its rows and its trace."""
    from whereof.training.results import UNLEARNED

    new = Run(None, replace(run.manifest, result={"stopped": UNLEARNED}))
    new.dataset, new.parameters, new.trace, new.history = data, rows, trace, []
    # The scorer may have a function of its own.
    new.scorer = replace(run.scorer, entity_rows=rows.entity_rows, relation_rows=rows.relation_rows)
    write_run(path, new)


def _write_unlearned(path: Path, run: Run, data: Dataset, rows: Parameters, trace: Any) -> None:
    """Write a run without some facts: its rows, its trace, and its metrics."""
    from whereof.evaluate.metrics import SplitEvaluator
    from whereof.retrain.unlearn import config_without
    from whereof.training.results import UNLEARNED, BestEpoch, Bookkeeping, Progress

    config, result = config_without(run.config, data), run.manifest.result
    evaluator, epoch = SplitEvaluator(data, config), result["best_epoch"]
    scorer = make_scorer(rows, data, config)
    metrics = {split: evaluator.evaluate(scorer, split) for split in ("valid", "test")}
    norms = {**result["norms"], "lipschitz": result["lipschitz"]}
    # What changed these rows is not known part by part: all of it is the remainder.
    best = BestEpoch(rows, epoch, norms, Bookkeeping(0.0, 0.0, 0.0, 0.0, 1.0))
    n_trained = epoch * data.n_facts
    speed = max(result["facts_per_second"], 1e-9)
    progress = Progress(
        history=run.history[:epoch],
        best_epoch=epoch,
        best_facts=n_trained,
        facts=n_trained,
        updates=n_trained * (1 + config.inverse),
        seconds=n_trained / speed,
        stopped=UNLEARNED,
    )
    writer = RunWriter.create(path, data, config, 0, MachineOptions().memory_share)
    writer.keep_best(best, trace)
    writer.finish(progress, best, metrics)


def _train_from_scratch(run: Run, recipe: "Recipe", events: Events) -> "FromScratch":
    """Train on all facts of an updated run at once, with the settings of its recipe before."""
    from whereof.retrain.update import FromScratch

    start, before = time.monotonic(), recipe.problem.config
    config = before.replace(phases=None, keep_checkpoints=0, time_budget=None)
    quiet, path = Without(events, TrainingStarted), run.file("siblings/from-scratch")
    events.emit(Note("training from scratch on all facts, to compare"))
    found = train_run(path, run.dataset, config, quiet, MachineOptions(), start)
    took, result = time.monotonic() - start, found.manifest.result
    return FromScratch(found.metrics, took, result["seconds"])
