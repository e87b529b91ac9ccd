"""What a run answers by retraining: verdicts, exact explanations, evaluations.

A run is retrained with its journal, and so are its siblings: runs with another seed or other
settings, which are trained once and kept in the run's folder.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof.api.run import Run
from whereof.api.training import resume, train_config
from whereof.errors import Interrupted, WhereofError
from whereof.events import Events, Note, TrainingStarted, Validated, Without
from whereof.run.folder import RunFolder
from whereof.training import MachineOptions
from whereof.training.results import Parameters

if TYPE_CHECKING:
    from whereof.evaluate.evaluation import Evaluation
    from whereof.predict.standing import Standing
    from whereof.retrain.engine import Engine
    from whereof.retrain.options import EngineOptions
    from whereof.retrain.retrainer import Case
    from whereof.types import FactIds


def take_engine(options: dict[str, Any]) -> "EngineOptions":
    """The options of the engine, taken out of all options."""
    from whereof.retrain.options import EngineOptions

    names = [name for name in EngineOptions.names() if name in options]
    return EngineOptions(**{name: options.pop(name) for name in names})


def machine_of(engine: "EngineOptions") -> MachineOptions:
    """The device that trains runs with other seeds: the GPU with engine cuda, else the CPU."""
    return MachineOptions(device="cuda" if engine.engine == "cuda" else "cpu")


@contextmanager
def open_cases(run: Run, engine: "EngineOptions", events: Events | None) -> Iterator["Cases"]:
    """Open a run and its siblings (other seeds or settings) for retraining with one engine."""
    from whereof.retrain.engine import choose_engine, settle_engine

    settled = settle_engine(engine, run._recipe.problem)
    with ExitStack() as stack:
        chosen = stack.enter_context(closing(choose_engine(settled)))
        try:
            yield Cases(stack, run, chosen, events or Events(), settled)
        except Interrupted:
            raise Interrupted("interrupted; run the same command again to continue") from None


@dataclass(frozen=True)
class Cases:
    """Opens the run and its siblings for retraining, each once; closes all together."""

    stack: ExitStack
    run: Run
    engine: "Engine"
    events: Events
    options: "EngineOptions"
    opened: "dict[Path | None, Case]" = field(default_factory=dict)

    def own(self) -> "Case":
        """The run itself."""
        return self._open(self.run)

    def seeds(self, n_seeds: int, **changes: Any) -> Sequence["Case"]:
        """The run with seed, seed + 1 and so on, and with other settings changed."""
        first = self.run.config.seed
        return [self._case(changes | {"seed": first + number}) for number in range(n_seeds)]

    def _case(self, changes: dict[str, Any]) -> "Case":
        own = self.run.config
        changes = {name: value for name, value in changes.items() if getattr(own, name) != value}
        if not changes:
            return self._open(self.run)
        return self._open(sibling(self.run, self.events, machine_of(self.options), **changes))

    def _open(self, run: Run) -> "Case":
        if run.path is None or run.path not in self.opened:
            case = self.stack.enter_context(open_case(run, self.engine, self.events))
            self.opened[run.path] = case
        return self.opened[run.path]


@contextmanager
def open_case(run: Run, engine: "Engine", events: Events) -> Iterator["Case"]:
    """A run with its retrainer, whose journal is in the run's folder."""
    from whereof.retrain.journal import open_journal, recipe_key
    from whereof.retrain.retrainer import Case, Retrainer

    path = _journal_path(run, recipe_key(run._recipe, engine), events)
    with open_journal(path) as journal:
        retrainer = Retrainer(run._recipe, engine, journal, events)
        assert isinstance(run._folder, RunFolder)  # others have no recipe
        yield Case(run._trained_on(engine.device), retrainer, run._folder.manifest.result)


def _journal_path(run: Run, key: str, events: Events) -> Path | None:
    """The file for a run's retrainings; None if its folder cannot be written."""
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
    """The run trained with some settings changed, such as the seed; kept in its folder."""
    config = run.config.replace(**changes)
    if config == run.config:
        return run
    assert run.path is not None
    path = sibling_path(run.path, changes)
    found = None
    if path.exists():
        try:
            found = RunFolder.open(path, unfinished=True)
        except WhereofError as error:
            raise WhereofError(f"{error}; remove {path} to train it again") from None
        if found.config != config:
            why = "was trained with other settings"
            raise WhereofError(f"{path} {why}; remove it to train it again")
        if found.manifest.finished:
            return Run.open(path)
    words = ", ".join(f"{name} {value}" for name, value in changes.items())
    events.emit(Note(f"training the run with {words}, once"))
    quiet = Without(events, TrainingStarted, Validated)
    if found is None:
        return train_config(run.dataset, config, path, quiet, machine)
    return resume(path, events=quiet, **(machine or MachineOptions()).to_dict())


def sibling_path(path: Path, changes: Mapping[str, Any]) -> Path:
    """The folder of a sibling, inside the run's folder."""
    words = (f"{name}-{str(value).replace(':', '-')}" for name, value in changes.items())
    return path / "siblings" / "-".join(words)


@dataclass(frozen=True, eq=False)
class Retrained:
    """A model retrained without some facts: its parameters, or the standings of predictions."""

    removed: tuple[int, ...]
    """Ids of the facts, ascending; empty for the control."""
    parameters: Parameters | None
    """None if predictions were given."""
    standings: "tuple[Standing, ...] | None"
    """One per prediction, if predictions were given."""


def retrain(
    run: Run,
    sets: "Sequence[FactIds]",
    predictions: Sequence[Sequence[str | None]] | None,
    engine: "EngineOptions",
    events: Events | None,
) -> Iterator[Retrained]:
    """See `Run.retrain`."""
    with open_cases(run, engine, events) as opened:
        case = opened.own()
        if predictions is None:
            yield from _rows(case, sets)
        else:
            yield from _standings(case, sets, predictions)


def _rows(case: "Case", sets: "Sequence[FactIds]") -> Iterator[Retrained]:
    """Yield the retrained models in the order of `sets`, the control first."""
    waiting: dict[int, Parameters] = {}
    following = -1  # the control
    for number, rows in case.retrainer.rows(sets):
        waiting[number] = rows
        while following in waiting:
            removed = () if following < 0 else tuple(sets[following].tolist())
            yield Retrained(removed, waiting.pop(following), None)
            following += 1


def _standings(
    case: "Case", sets: "Sequence[FactIds]", predictions: Sequence[Sequence[str | None]]
) -> Iterator[Retrained]:
    from whereof.explain.explain import find_scored
    from whereof.explain.options import ExplainOptions
    from whereof.predict.standing import name_standings
    from whereof.retrain.engine import Job

    scored = [find_scored(case.trained, names, ExplainOptions()) for names in predictions]
    jobs = [Job.of(facts, range(len(scored))) for facts in sets]
    found = case.retrainer.ask(case.predictions(each.prediction for each in scored), jobs)
    yield Retrained((), None, name_standings(case.trained, found.control))
    for facts, standings in zip(sets, found.jobs, strict=True):
        yield Retrained(tuple(facts.tolist()), None, name_standings(case.trained, standings))


def evaluate(run: Run, events: Events | None, options: dict[str, Any]) -> "Evaluation":
    """See `Run.evaluate`."""
    from whereof.evaluate.evaluation import check_possible, evaluate
    from whereof.evaluate.options import EvaluateOptions
    from whereof.evaluate.protocol import protocols

    where = take_engine(options)
    if isinstance(options.get("predictions"), Path):
        options["predictions"] = str(options["predictions"])
    if not isinstance(options.get("predictions", ""), str):
        raise WhereofError("predictions must be top, true or a file; write your list into a file")
    asked = EvaluateOptions.from_dict(options)
    with open_cases(run, where, events) as opened:
        check_possible(opened.own(), asked, where.threads)
        cases = opened.seeds(asked.seeds)
        variants = {
            each.name: {
                name: opened.seeds(asked.seeds, **changes)
                for name, changes in each.variants(asked).items()
            }
            for each in protocols(asked.protocols)
        }
        names = str(run.path), run.dataset.name
        found = evaluate(cases, asked, names, variants, where.threads)
        _keep(run, found, opened.events)
    return found


def _keep(run: Run, found: "Evaluation", events: Events) -> None:
    """Keep the document and the true influences in the run's folder, for reports."""
    from whereof.run.evaluations import save_evaluation, save_influences

    assert run.path is not None
    try:
        path = save_evaluation(run.path, found.to_dict())
        for name, array in found.arrays().items():
            save_influences(path, name, array)
    except (OSError, WhereofError) as error:
        events.emit(Note(f"the evaluation is not kept in the run: {error}"))
