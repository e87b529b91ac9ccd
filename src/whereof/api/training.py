"""Training into a run folder, from the start or from an interruption."""

import math
import time
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from whereof.api.keywords import MachineKeywords, TrainKeywords
from whereof.api.run import Run, make_scorer
from whereof.data.dataset import Dataset, ratings_as_objects
from whereof.data.options import ReadOptions
from whereof.errors import Interrupted, WhereofError
from whereof.events import Events
from whereof.run.writer import RunWriter, check_memory
from whereof.settings import Settings
from whereof.training import MachineOptions, TrainConfig, asks_for_objects, choose_config
from whereof.training.results import Parameters, Validation

if TYPE_CHECKING:
    from whereof.models.scoring import Scorer
    from whereof.training.fit import MakeTrainer
    from whereof.training.problem import Problem

# Numba, and all that is compiled by it, is imported in the functions that compute.


def train(
    data: Any,
    *,
    out: str | Path | None = None,
    preset: str | None = None,
    events: Events | None = None,
    **settings: Unpack[TrainKeywords],
) -> Run:
    """Train a model into a run folder.

    Parameters
    ----------
    data
        A file, a folder with train, valid and test files, the name of a dataset, a table of
        pandas, polars or Arrow, or a Dataset.
    out
        The folder to make; by default a new one in `runs/`, named by dataset and model.
    preset
        `paper` for the settings of the paper; explicit settings override it.
    events
        Receives progress, and may stop training.
    **settings
        Fields of `whereof.ReadOptions`, such as columns and valid_fraction, of
        `whereof.TrainConfig`, such as model, dim, epochs and seed, and of
        `whereof.MachineOptions`, such as threads.
    """
    start, events = time.monotonic(), events or Events()
    given: dict[str, Any] = {**settings}
    machine = MachineOptions(**_taken(MachineOptions, given))
    options = _taken(ReadOptions, given)
    dataset = _dataset(data, options, events, objects_if_rated=asks_for_objects(preset, given))
    config = choose_config(dataset, preset, given)
    path = None if out is None else Path(out)
    return train_config(dataset, config, path, events, machine, start)


def train_config(
    dataset: Dataset,
    config: TrainConfig,
    out: Path | None = None,
    events: Events | None = None,
    machine: MachineOptions | None = None,
    start: float | None = None,
) -> Run:
    """Train with a complete config. The time budget counts from `start`."""
    from whereof.training.problem import Problem

    start = time.monotonic() if start is None else start
    machine = machine or MachineOptions()
    problem = Problem.of(dataset, config)  # refuses bad settings before anything is written
    _check_device(problem, machine)
    check_memory(problem.row_bytes)
    path, share = out or free_path(f"{dataset.name}-{config.model}"), machine.memory_share
    writer = RunWriter.create(path, dataset, problem.config, problem.n_bytes, share)
    return _train(writer, dataset, problem, machine, events or Events(), start)


def resume(
    path: str | Path, *, events: Events | None = None, **options: Unpack[MachineKeywords]
) -> Run:
    """Continue a run that was interrupted; a finished run is opened.

    Parameters
    ----------
    path
        The folder of the run.
    events
        Receives progress, and may stop training.
    **options
        Fields of `whereof.MachineOptions`.
    """
    from whereof.training.problem import Problem

    start, machine = time.monotonic(), MachineOptions.from_dict({**options})
    writer = RunWriter.resume(Path(path), machine.memory_share)
    if writer.manifest.finished:
        writer.sweep()
        return Run.open(path)
    dataset = writer.dataset
    problem = Problem.of(dataset, TrainConfig.from_dict(writer.manifest.config))
    try:
        _check_device(problem, machine)
    except WhereofError:
        writer.close()
        raise
    return _train(writer, dataset, problem, machine, events or Events(), start)


def _taken(table: type[Settings], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of one table, taken out of all settings."""
    return {name: settings.pop(name) for name in table.names() if name in settings}


def free_path(name: str) -> Path:
    """A new folder in `runs/`."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(path for each in names if not (path := Path("runs") / each).exists())


def _train(
    writer: RunWriter,
    dataset: Dataset,
    problem: "Problem",
    machine: MachineOptions,
    events: Events,
    start: float,
) -> Run:
    """Train, measure the best epoch, and finish the folder."""
    from whereof.evaluate.metrics import SplitEvaluator
    from whereof.training.fit import fit

    config, ranked = problem.config, machine.ranking_metrics
    evaluator = SplitEvaluator(dataset, config, machine.threads, ranked=ranked)

    def scorer_of(rows: Parameters) -> "Scorer":
        return make_scorer(problem.model, rows, dataset, config)

    def validate(rows: Parameters) -> Validation:
        return evaluator.validate(scorer_of(rows))

    validates = config.validate_every and len(dataset.valid)
    events.emit(writer.start(problem.trace_width))
    try:
        checked, seconds = validate if validates else None, machine.checkpoint_seconds
        trainer, elapsed = _trainer_of(machine), time.monotonic() - start
        progress = fit(problem, writer, checked, events, seconds, trainer, elapsed)
    except Interrupted:
        writer.close()
        raise Interrupted(
            f"interrupted; continue with: whereof train --resume {writer.path}"
        ) from None
    except BaseException:
        writer.discard()
        raise
    best = writer.best(progress.best_epoch)
    # The time budget leaves at least a twentieth of itself for metrics.
    budget = float(config.time_budget or math.inf)
    left = max(budget - progress.elapsed, budget / 20)
    scorer = scorer_of(best.parameters)
    metrics = {
        split: evaluator.evaluate(scorer, split, left / 2, events) for split in ("valid", "test")
    }
    writer.finish(progress, best, metrics)
    return Run.open(writer.path)


def _check_device(problem: "Problem", machine: MachineOptions) -> None:
    """Raise an error if the GPU is missing or cannot train this config."""
    if machine.device == "cuda":
        from whereof.retrain.cuda.card import open_card
        from whereof.retrain.cuda.engine import check_problem

        check_problem(problem, open_card("device cuda"), tracked=True)


def _trainer_of(machine: MachineOptions) -> "MakeTrainer":
    """The trainer for the device."""
    if machine.device == "cuda":
        from whereof.retrain.cuda.trainer import CudaTrainer

        return CudaTrainer
    from whereof.training.trainer import Trainer

    return Trainer


def _dataset(
    data: Any, options: dict[str, Any], events: Events, *, objects_if_rated: bool
) -> Dataset:
    if not isinstance(data, Dataset):
        from whereof.data.read import read_dataset  # brings in Arrow

        return read_dataset(data, events=events, objects_if_rated=objects_if_rated, **options)
    if options:
        raise WhereofError(f"a Dataset needs no reading; leave out {', '.join(options)}")
    return ratings_as_objects(data) if objects_if_rated and data.ratings else data
