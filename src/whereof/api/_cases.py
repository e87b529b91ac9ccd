"""Runs made ready for retraining: each with its journal, and others like it under other seeds."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof.api._run import Run
from whereof.api._training import resume, train_config
from whereof.errors import Interrupted, WhereofError
from whereof.events import Events, Note, TrainingStarted, Validated, Without
from whereof.run import ArrayRun, RunFolder
from whereof.training import MachineOptions, TrainConfig

if TYPE_CHECKING:
    from whereof.retrain import Case, Engine, EngineOptions
    from whereof.retrain.recipe import Recipe


def take_engine(options: dict[str, Any]) -> "EngineOptions":
    """What options say of the engine, taken out of them."""
    from whereof.retrain import EngineOptions

    names = [name for name in EngineOptions.names() if name in options]
    return EngineOptions(**{name: options.pop(name) for name in names})


def machine_of(engine: "EngineOptions") -> MachineOptions:
    """Where runs are trained that an engine retrains: with a card, on the card."""
    return MachineOptions(device="cuda" if engine.engine == "cuda" else "cpu")


@contextmanager
def open_cases(run: Run, engine: "EngineOptions", events: Events | None) -> Iterator["Cases"]:
    """A run and those like it, to be retrained by one engine, which ends with them."""
    from whereof.retrain import choose_engine, settle_engine

    settled = settle_engine(engine, _recipe(run).problem)
    with ExitStack() as stack:
        chosen = stack.enter_context(closing(choose_engine(settled)))
        try:
            yield Cases(stack, run, chosen, events or Events(), machine_of(settled))
        except Interrupted:
            raise Interrupted("interrupted; the same command continues where it stopped") from None


@dataclass(frozen=True)
class Cases:
    """Opens cases, each once, which are closed together."""

    stack: ExitStack
    run: Run
    engine: "Engine"
    events: Events
    machine: MachineOptions
    opened: "dict[Path | None, Case]" = field(default_factory=dict)

    def own(self) -> "Case":
        """The run itself."""
        return self._open(self.run)

    def seeds(self, n_seeds: int, **changes: Any) -> Sequence["Case"]:
        """The run under seed, seed + 1 and so on, with some settings changed."""
        first = self.run.config.seed
        return [self._case(changes | {"seed": first + number}) for number in range(n_seeds)]

    def _case(self, changes: dict[str, Any]) -> "Case":
        own = self.run.config
        changes = {name: value for name, value in changes.items() if getattr(own, name) != value}
        return self._open(sibling(self.run, self.events, self.machine, **changes))

    def _open(self, run: Run) -> "Case":
        if run.path is None or run.path not in self.opened:
            case = self.stack.enter_context(open_case(run, self.engine, self.events))
            self.opened[run.path] = case
        return self.opened[run.path]


@contextmanager
def open_case(run: Run, engine: "Engine", events: Events) -> Iterator["Case"]:
    """A run with its retrainer, whose journal is kept in the run's folder."""
    from whereof.retrain import Case, Retrainer, open_journal, recipe_key

    recipe = _recipe(run)
    path = _journal_path(run, recipe_key(recipe, engine), events)
    with open_journal(path) as journal:
        retrainer = Retrainer(recipe, engine, journal, events)
        trained = run._trained_on(engine.device)
        yield Case(trained, retrainer, run._folder.result)


def _recipe(run: Run) -> "Recipe":
    from whereof.retrain.recipe import Recipe
    from whereof.training.problem import Problem

    if isinstance(run._folder, ArrayRun):
        raise WhereofError(
            "a run out of arrays cannot be retrained: how it was trained is not known; "
            "train one with whereof"
        )
    problem, result = Problem.of(run.dataset, run.config), run._folder.result
    whole_epochs = result["best_epoch"] * len(problem.facts)
    return Recipe(problem, result.get("best_facts", whole_epochs))


def _journal_path(run: Run, key: str, events: Events) -> Path | None:
    """Where a run's retrainings are kept; None where its folder cannot be written."""
    assert run.path is not None
    path = run.path / "retrained" / f"{key}.jsonl"
    try:
        path.parent.mkdir(exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        events.emit(Note(f"retrainings are not kept: {path.parent}: {error.strerror}"))
        return None
    return path


def sibling(run: Run, events: Events, machine: MachineOptions | None = None, **changes: Any) -> Run:
    """The run trained again with some settings changed, such as another seed; kept inside it."""
    config = run.config.replace(**changes)
    if config == run.config:
        return run
    assert run.path is not None
    path = sibling_path(run.path, changes)
    found = _open_sibling(path) if path.exists() else None
    if found is not None:
        _check_same(path, found.config, config)
        if found.manifest.finished:
            return Run.open(path)
    words = ", ".join(f"{name} {value}" for name, value in changes.items())
    events.emit(Note(f"training the run with {words}, once"))
    quiet = Without(events, TrainingStarted, Validated)
    if found is None:
        return train_config(run.dataset, config, path, quiet, machine)
    return resume(path, events=quiet, **(machine or MachineOptions()).to_dict())


def _open_sibling(path: Path) -> RunFolder:
    try:
        return RunFolder.open(path, unfinished=True)
    except WhereofError as error:
        raise WhereofError(f"{error}; remove {path}, and it is trained again") from None


def sibling_path(path: Path, changes: Mapping[str, Any]) -> Path:
    """Where the run at a path keeps the one with some settings changed."""
    words = (f"{name}-{str(value).replace(':', '-')}" for name, value in changes.items())
    return path / "siblings" / "-".join(words)


def _check_same(path: Path, found: TrainConfig, wanted: TrainConfig) -> None:
    if found != wanted:
        raise WhereofError(
            f"{path} was trained with other settings; remove it, and it is trained again"
        )
