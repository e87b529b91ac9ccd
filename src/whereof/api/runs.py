"""Runs: trained, continued, and opened for retraining.

Siblings of a run have another seed or other settings. They are trained once and kept in its folder.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from whereof.api.keywords import MachineKeywords, TrainKeywords
from whereof.api.run import Run, make_scorer
from whereof.data.dataset import Dataset, ratings_as_objects
from whereof.data.options import ReadOptions
from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events, Limited, Note, TrainingStarted, Validated, Without
from whereof.memory import total_memory
from whereof.retrain.options import EngineOptions
from whereof.run.files import check_memory
from whereof.run.folder import PROGRESS, Manifest
from whereof.run.writer import RunWriter
from whereof.settings import checked
from whereof.training.config import MachineOptions, TrainConfig
from whereof.training.defaults import asks_for_objects, choose_config
from whereof.units import seconds

if TYPE_CHECKING:
    from whereof.retrain.engine import Engine, Recipe
    from whereof.retrain.retrainer import Case
    from whereof.training.fit import MakeTrainer
    from whereof.training.problem import Problem
    from whereof.training.results import Progress

_ROUNDED_ROWS, _ROUNDED_SHARE = 10_000, 0.01
"""For a trace in float16: the number of rows to check, and the share that may be rounded."""
_SEARCH_SHARE = 0.25
"""The largest share of a time budget that the search for settings may take."""

# Numba, and all that is compiled by it, is imported in the functions that compute.

_MEASURED_SHARE, _LEAST_SECONDS = 0.1, 0.5
"""Time for measuring reliability: a share of the training time, and at least these seconds."""


@checked
def train(
    data: Any,
    *,
    out: str | Path | None = None,
    preset: str | None = None,
    search: bool = True,
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
    search
        Whether to search for the settings that are not given, by short trainings on part of the
        data. Needs validation facts and the optimizer adagrad; a preset is never changed.
    events
        Receives progress, and may stop training.
    **settings
        Fields of `whereof.ReadOptions`, such as columns and valid_fraction, of
        `whereof.TrainConfig`, such as model, dim, epochs and seed, and of
        `whereof.MachineOptions`, such as threads.
    """
    start, events = time.monotonic(), events or Events()
    given: dict[str, Any] = {**settings}
    machine = MachineOptions.take(given)
    options = {name: given.pop(name) for name in ReadOptions.names() if name in given}
    if_rated = asks_for_objects(preset, given)
    if not isinstance(data, Dataset):
        from whereof.data.read import read_dataset  # brings in Arrow

        data = read_dataset(data, events=events, objects_if_rated=if_rated, **options)
    elif options:
        raise WhereofError(f"a Dataset needs no reading; leave out {', '.join(options)}")
    elif if_rated and data.ratings:
        data = ratings_as_objects(data)
    if machine.device == "cuda" and not preset and given.get("trace", True):
        given.setdefault("credit", "source")  # the GPU's trace does not forget
    config = choose_config(data, preset, given)
    path = free_path(f"{data.name}-{config.model}") if out is None else Path(out)
    kept = given if search and not preset else None
    run = train_run(path, data, config, events, machine, start, given=kept)
    measure_reliability(run, machine, _MEASURED_SHARE * (time.monotonic() - start), events)
    return run


def measure_reliability(run: Run, machine: MachineOptions, seconds: float, events: Events) -> None:
    """Measure how reliable estimates are, and keep it in the run, if it fits into these seconds.

    Nothing is measured in less time than loading the code takes, or after training on a GPU.
    """
    each, at_once = run.retraining_seconds, machine.threads or os.cpu_count() or 1
    if machine.device != "cpu" or seconds < _LEAST_SECONDS or not each:
        return
    from whereof.evaluate.reliability import LEAST, MOST, measure, n_retrainings
    from whereof.explain.method import get_method
    from whereof.retrain.engine import LocalEngine
    from whereof.retrain.journal import Journal
    from whereof.retrain.retrainer import Case, Retrainer

    method, n_facts = get_method(run.default_method), run.dataset.n_facts

    def seconds_for(n: int) -> float:
        """Time for the retrainings, and for finding the first facts of n predictions."""
        n_rounds = -(-n_retrainings(n) // at_once)
        return each * (n_rounds + method.trainings(n_facts, n) / at_once)

    if sizes := [n for n in range(LEAST, MOST + 1) if seconds_for(n) <= seconds]:
        limited = Limited(events, seconds)
        retrainer = Retrainer(run._recipe, LocalEngine(at_once), Journal(), limited)
        with suppress(Interrupted, WhereofError, OSError):
            found = measure(Case(run._trained, retrainer, run.manifest.result), sizes[-1])
            found.write(run.file(""))


@checked
def resume(
    path: str | Path, *, events: Events | None = None, **options: Unpack[MachineKeywords]
) -> Run:
    """Continue a run that was interrupted; a finished run is opened.

    `events` receive progress and may stop training; `options` are fields of
    `whereof.MachineOptions`.
    """
    start, machine = time.monotonic(), MachineOptions.from_dict({**options})
    run = Run.open(path, unfinished=True)
    if run.manifest.finished and run._n_trained is None:
        raise WhereofError(
            f"{path} was trained by other software, so whereof cannot continue its training; "
            f"`whereof info {path}` shows what it has"
        )
    if run.manifest.finished:
        RunWriter(Path(path), run.manifest, machine.memory_share).sweep()
        return run
    events = events or Events()
    return train_run(Path(path), run.dataset, run.config, events, machine, start, run.manifest)


def train_once(
    path: Path,
    dataset: Dataset,
    config: TrainConfig,
    events: Events,
    machine: MachineOptions,
    title: str,
) -> Run:
    """Open a run, and train it before if needed. Refuse a run with other settings."""
    from whereof.training.problem import Problem

    interrupted = None
    if path.exists():
        try:
            found = Run.open(path, unfinished=True)
        except WhereofError as error:
            raise WhereofError(f"{error}; remove {path} to train it again") from None
        same = found.manifest.dataset["hash"] == dataset.hash
        if not same or found.config != Problem.of(dataset, config).config:
            why = "was trained with other settings"
            raise WhereofError(f"{path} {why}; remove it to train it again")
        if found.manifest.finished:
            return found
        interrupted = found.manifest
    events.emit(Note(f"training {title}"))
    quiet = Without(events, TrainingStarted, Validated)
    return train_run(path, dataset, config, quiet, machine, time.monotonic(), interrupted)


def free_path(name: str) -> Path:
    """A new folder in `runs/`."""
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(path for each in names if not (path := Path("runs") / each).exists())


def train_run(
    path: Path,
    dataset: Dataset,
    config: TrainConfig,
    events: Events,
    machine: MachineOptions,
    start: float,
    interrupted: Manifest | None = None,
    given: Mapping[str, Any] | None = None,
    continued: "tuple[MakeTrainer, Progress] | None" = None,
) -> Run:
    """Train a new run, or one that was interrupted. The time budget counts from `start`.

    given: settings that a search may not change; None for no search. continued: makes trainers that
    start after earlier phases, and the progress until then.
    """
    from whereof.evaluate.metrics import SplitEvaluator
    from whereof.training.fit import Validate, fit
    from whereof.training.problem import Problem
    from whereof.training.search import settle_steps

    problem = Problem.of(dataset, config)  # refuses bad settings before anything is written
    trainer, share = _trainer_of(problem, machine), machine.memory_share
    trainer, before = continued or (trainer, None)

    def evaluator_of(data: Dataset) -> SplitEvaluator:
        return SplitEvaluator(data, config, machine.threads, ranked=machine.ranking_metrics)

    def validator_of(data: Dataset) -> Validate:
        scored = evaluator_of(data)
        return lambda rows: scored.validate(make_scorer(rows, data, config), events)

    if interrupted is None:
        check_memory(problem.row_bytes)
        RunWriter.check_place(path, problem.n_bytes)
        seconds = _SEARCH_SHARE * float(config.time_budget or math.inf)
        settle = partial(settle_steps, problem, config, trainer, events)
        problem, search = settle(given, dataset, validator_of, seconds)
        about = None if search is None else search.to_dict()
        writer = RunWriter.create(path, dataset, problem.config, problem.n_bytes, share, about)
    else:
        writer = RunWriter(path, interrupted, share)
    config, evaluator, validate = problem.config, evaluator_of(dataset), validator_of(dataset)
    validates = config.validate_every and len(dataset.valid) and not config.phases
    checked = validate if validates else None  # a run that was updated keeps its last epoch
    told = str(path), len(dataset.valid), config.to_dict(), dataset.notes
    shape, n_bytes = (dataset.n_facts, problem.trace_width), problem.trace_bytes
    asked = dataset.read.get("valid_fraction", 0.0)
    events.emit(TrainingStarted(*told, shape, n_bytes, writer.is_mapped(n_bytes), asked))
    if config.order == "shuffle" and n_bytes > (total_memory() or math.inf) / 2:
        why = "the trace may not fit into memory, and order shuffle reads it at random places"
        events.emit(Note(f"{why}; if training is slow, choose --order blocks"))
    finishing = partial(_settle, problem, events) if config.forgets else None
    try:
        elapsed, seconds = time.monotonic() - start, machine.checkpoint_seconds
        progress = fit(problem, writer, checked, events, seconds, trainer, elapsed, before)
        best = writer.best(progress.best_epoch)
        # The time budget leaves at least a twentieth of itself for metrics.
        budget = float(config.time_budget or math.inf)
        left = max(budget - progress.elapsed, budget / 20)
        scorer = make_scorer(best.parameters, dataset, config)
        metrics = {
            split: evaluator.evaluate(scorer, split, left / 2, events)
            for split in ("valid", "test")
        }
        writer.finish(progress, best, metrics, finishing)
    except BaseException as error:
        writer.stop()
        if isinstance(error, Interrupted):
            remedy = f"continue with: whereof train --resume {path}"
            raise Interrupted(f"interrupted; {remedy}") from None
        raise
    found = Run.open(path)
    if config.trace and (note := _rounding_note(found.trace)):
        events.emit(Note(note))
    if config.rated and (note := _ratings_note(dataset, metrics)):
        events.emit(Note(note))
    return found


def _ratings_note(dataset: Dataset, metrics: Mapping[str, Any]) -> str:
    """A note if the model predicts held-out ratings no better than the mean does; else empty."""
    ratings, split = dataset.ratings, "valid" if metrics["valid"] else "test"
    rmse = (metrics[split] or {}).get("rmse")
    if ratings is None or rmse is None:
        return ""
    errors = getattr(ratings, split).astype(np.float64) - ratings.mean
    plain = float(np.sqrt(np.mean(errors**2)))
    if rmse < plain:
        return ""
    return (
        f"on {split} ratings, the model (RMSE {rmse:.3f}) is no better than the mean rating (RMSE "
        f"{plain:.3f}), so its explanations say little; train it on more ratings, or with other "
        "settings, such as --l2 0.1"
    )


def _rounding_note(trace: Any) -> str:
    """Whether half precision rounds so much that the order of influences may be lost."""
    if trace is None or trace.dtype != np.float16 or not len(trace):
        return ""
    some = trace[:: -(-len(trace) // _ROUNDED_ROWS)]
    share = (np.abs(some).max(axis=1) < np.finfo(np.float16).smallest_normal).mean()
    if share < _ROUNDED_SHARE:
        return ""
    return (
        f"the trace of {share:.0%} of the facts is too small for float16: rounding may change the "
        "order of similar influences; use --trace-precision float32"
    )


def _settle(problem: "Problem", events: Events, trace: Any, state: Any, n_trained: int) -> None:
    """Correct a trace with credit forget when training ends. If interrupted, start it again."""
    from whereof.training.curvature import settle_trace

    def advanced(n_done: int, n_rows: int) -> None:
        events.emit(Advanced(n_done, n_rows, "rows of the trace"))
        if events.should_stop():
            raise Interrupted("interrupted")

    settle_trace(trace, problem, state, n_trained, advanced)


def _trainer_of(problem: "Problem", machine: MachineOptions) -> "MakeTrainer":
    """The trainer for the device. An error if the GPU is missing or cannot train this config."""
    if machine.device == "cpu":
        from whereof.training.trainer import Trainer

        return Trainer
    from whereof.retrain.cuda.card import open_card
    from whereof.retrain.cuda.engine import check_problem
    from whereof.retrain.cuda.trainer import CudaTrainer

    check_problem(problem, open_card("device cuda"), tracked=True)
    return CudaTrainer


@contextmanager
def open_cases(
    run: Run, engine: EngineOptions, events: Events | None
) -> Iterator["Callable[..., list[Case]]"]:
    """Open a run and its siblings for retraining with one engine, each once.

    Yields a function: it opens the run with seed, seed + 1 and so on, and with settings changed.
    """
    from whereof.retrain.engine import Engine, choose_engine, settle_engine
    from whereof.retrain.function import FunctionEngine

    recipe, listener, settled = run._recipe, events or Events(), engine
    opened: dict[Path | None, Case] = {}
    with ExitStack() as stack:
        if run.retraining is not None:
            chosen: Engine = FunctionEngine.choose(run.retraining, engine)
        else:
            settled = settle_engine(engine, recipe.problem)
            chosen = stack.enter_context(closing(choose_engine(settled)))

        def open_seeds(n_seeds: int = 1, **changes: Any) -> "list[Case]":
            found = []
            if note := _seeds_note(run, n_seeds):
                listener.emit(Note(note))
            for seed in range(run.config.seed, run.config.seed + n_seeds):
                its = sibling(run, listener, machine_of(settled), **changes | {"seed": seed})
                if its.path not in opened:
                    opened[its.path] = stack.enter_context(open_case(its, chosen, listener))
                found.append(opened[its.path])
            return found

        try:
            yield open_seeds
        except Interrupted:
            raise Interrupted("interrupted; run the same command again to continue") from None


def _seeds_note(run: Run, n_seeds: int) -> str:
    """How long it takes to train the runs with other seeds; empty if they are trained."""
    wanted = range(run.config.seed + 1, run.config.seed + n_seeds)
    if not wanted or run.path is None or run.retraining is not None:
        return ""
    there = (it for it in run.path.glob("siblings/seed-*") if not (it / PROGRESS).exists())
    names = (path.name.removeprefix("seed-") for path in there)
    n_missing = len(wanted) - sum(name.isdecimal() and int(name) in wanted for name in names)
    if not n_missing:
        return ""
    each = (run.manifest.result or {}).get("seconds") or 0.0
    runs = f"{n_missing:,} runs with other seeds are" if n_missing > 1 else "a second run is"
    return f"{runs} trained first: about {seconds(n_missing * each)}, on one core"


@contextmanager
def open_case(
    run: Run, engine: "Engine", events: Events, recipe: "Recipe | None" = None
) -> Iterator["Case"]:
    """A run with its retrainer, whose journal is in the run's folder. recipe: replaces its own."""
    from whereof.retrain.journal import open_journal, recipe_key
    from whereof.retrain.retrainer import Case, Retrainer

    recipe = recipe or run._recipe
    with ExitStack() as stack:
        if run.path is None:
            journal = run._journal
        else:
            path = run.file(f"retrained/{recipe_key(recipe, engine)}.jsonl")
            journal = stack.enter_context(open_journal(path, events))
        retrainer = Retrainer(recipe, engine, journal, events)
        result = run.manifest.result or _Unrecorded()
        yield Case(run._trained_on(engine.device), retrainer, result)


class _Unrecorded(dict[str, Any]):
    """The result of training by other software, which recorded nothing."""

    def __missing__(self, name: str) -> Any:
        raise WhereofError(
            f"other software trained this run and did not record {name}; leave out the protocols "
            "that need it: theory and approximation"
        )


def machine_of(engine: EngineOptions) -> MachineOptions:
    """The device that trains runs with other seeds: the GPU with engine cuda, else the CPU."""
    return MachineOptions(device="cuda" if engine.engine == "cuda" else "cpu")


def sibling(run: Run, events: Events, machine: MachineOptions | None = None, **changes: Any) -> Run:
    """The run trained with some settings changed, such as the seed; kept in its folder."""
    own = run.config
    changes = {name: value for name, value in changes.items() if getattr(own, name) != value}
    if not changes:
        return run
    if run._n_trained is None:
        remedy = "leave out seeds" if "seed" in changes else "train a run with whereof"
        raise WhereofError(
            "other software trained this run, so it cannot be trained with another "
            f"{' or '.join(changes)}; {remedy}"
        )
    path, config = sibling_path(run.file(""), changes), own.replace(**changes)
    words = ", ".join(f"{name} {value}" for name, value in changes.items())
    machine, title = machine or MachineOptions(), f"the run with {words}, once"
    if config.forgets:  # which the GPU does not
        machine = machine.replace(device="cpu")
    return train_once(path, run.dataset, config, events, machine, title)


def sibling_path(path: Path, changes: Mapping[str, Any]) -> Path:
    """The folder of a sibling, inside the run's folder."""
    words = (f"{name}-{str(value).replace(':', '-')}" for name, value in changes.items())
    return path / "siblings" / "-".join(words)
