"""Runs made ready for retraining: each with its journal, and others like it under other seeds."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.api._run import Run
from whence.api._training import resume, train_config
from whence.errors import WhenceError
from whence.run import ArrayRun, RunFolder
from whence.training.config import TrainConfig
from whence.training.results import Watch

if TYPE_CHECKING:
    from whence.engines import Engine, RetrainWatch
    from whence.training.retraining import Recipe
    from whence.verify import Case


@contextmanager
def open_case(run: Run, engine: "Engine", watch: "RetrainWatch") -> Iterator["Case"]:
    """A run with its retrainer, whose journal is kept in the run's folder."""
    from whence.engines import Retrainer, open_journal, recipe_key
    from whence.verify import Case

    recipe = _recipe(run)
    path = _journal_path(run, recipe_key(recipe, engine), watch)
    with open_journal(path) as journal:
        retrainer = Retrainer(recipe, engine, journal, watch)
        yield Case(run._trained, retrainer, run._folder.result)


def _recipe(run: Run) -> "Recipe":
    from whence.training._problem import Problem
    from whence.training.retraining import Recipe

    if isinstance(run._folder, ArrayRun):
        raise WhenceError(
            "a run out of arrays cannot be retrained: how it was trained is not known; "
            "train one with whence"
        )
    problem, result = Problem.of(run.dataset, run.config), run._folder.result
    whole_epochs = result["best_epoch"] * len(problem.facts)
    return Recipe(problem, result.get("best_facts", whole_epochs))


def _journal_path(run: Run, key: str, watch: "RetrainWatch") -> Path | None:
    """Where a run's retrainings are kept; None where its folder cannot be written."""
    assert run.path is not None
    path = run.path / "retrained" / f"{key}.jsonl"
    try:
        path.parent.mkdir(exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        watch.noted(f"retrainings are not kept: {path.parent}: {error.strerror}")
        return None
    return path


def sibling(run: Run, watch: Watch | None = None, **changes: Any) -> Run:
    """The run trained again with some settings changed, such as another seed; kept inside it."""
    config = run.config.replace(**changes)
    if config == run.config:
        return run
    assert run.path is not None
    path = run.path / "siblings" / _name(changes)
    if not path.exists():
        return train_config(run.dataset, config, path, watch)
    if not RunFolder.open(path, unfinished=True).manifest.finished:
        return resume(path, watch=watch)
    found = Run.open(path)
    _check_same(path, found.config, config)
    return found


def _name(changes: Mapping[str, Any]) -> str:
    return "-".join(f"{name}-{str(value).replace(':', '-')}" for name, value in changes.items())


def _check_same(path: Path, found: TrainConfig, wanted: TrainConfig) -> None:
    if found != wanted:
        raise WhenceError(f"{path} was trained with other settings; remove it")
