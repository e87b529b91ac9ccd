"""Runs opened for retraining: with their journal, and with their siblings.

Siblings are runs with another seed or other settings. They are trained once and kept in the run's
folder.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof.api.run import Run
from whereof.api.runs import train_once
from whereof.errors import Interrupted, WhereofError
from whereof.events import Events, Note
from whereof.retrain.options import EngineOptions
from whereof.run.stored import save_evaluation
from whereof.training import MachineOptions
from whereof.training.results import Parameters

if TYPE_CHECKING:
    from whereof.evaluate.evaluation import Evaluation
    from whereof.predict.scored import Standing
    from whereof.retrain.engine import Engine
    from whereof.retrain.retrainer import Case
    from whereof.types import FactIds


@contextmanager
def open_cases(
    run: Run, engine: EngineOptions, events: Events | None
) -> Iterator["Callable[..., list[Case]]"]:
    """Open a run and its siblings for retraining with one engine, each once.

    Yields a function: it opens the run with seed, seed + 1 and so on, and with settings changed.
    """
    from whereof.retrain.engine import choose_engine, settle_engine

    settled, listener = settle_engine(engine, run._recipe.problem), events or Events()
    opened: dict[Path, Case] = {}
    with ExitStack() as stack:
        chosen = stack.enter_context(closing(choose_engine(settled)))

        def open_seeds(n_seeds: int = 1, **changes: Any) -> "list[Case]":
            found = []
            for seed in range(run.config.seed, run.config.seed + n_seeds):
                its = sibling(run, listener, machine_of(settled), **changes | {"seed": seed})
                path = its.file("")
                if path not in opened:
                    opened[path] = stack.enter_context(open_case(its, chosen, listener))
                found.append(opened[path])
            return found

        try:
            yield open_seeds
        except Interrupted:
            raise Interrupted("interrupted; run the same command again to continue") from None


@contextmanager
def open_case(run: Run, engine: "Engine", events: Events) -> Iterator["Case"]:
    """A run with its retrainer, whose journal is in the run's folder."""
    from whereof.retrain.journal import Journal, open_journal, recipe_key
    from whereof.retrain.retrainer import Case, Retrainer

    key = recipe_key(run._recipe, engine)
    folder = run.file("retrained")
    with ExitStack() as stack:
        try:
            journal = stack.enter_context(open_journal(folder / f"{key}.jsonl"))
        except OSError as error:
            events.emit(Note(f"retrainings are not kept: {folder}: {error.strerror}"))
            journal = Journal()
        retrainer = Retrainer(run._recipe, engine, journal, events)
        yield Case(run._trained_on(engine.device), retrainer, run.manifest.result)


def machine_of(engine: EngineOptions) -> MachineOptions:
    """The device that trains runs with other seeds: the GPU with engine cuda, else the CPU."""
    return MachineOptions(device="cuda" if engine.engine == "cuda" else "cpu")


def sibling(run: Run, events: Events, machine: MachineOptions | None = None, **changes: Any) -> Run:
    """The run trained with some settings changed, such as the seed; kept in its folder."""
    own = run.config
    changes = {name: value for name, value in changes.items() if getattr(own, name) != value}
    if not changes:
        return run
    path, config = sibling_path(run.file(""), changes), own.replace(**changes)
    words = ", ".join(f"{name} {value}" for name, value in changes.items())
    machine, title = machine or MachineOptions(), f"the run with {words}, once"
    return train_once(path, run.dataset, config, events, machine, title)


def sibling_path(path: Path, changes: Mapping[str, Any]) -> Path:
    """The folder of a sibling, inside the run's folder."""
    words = (f"{name}-{str(value).replace(':', '-')}" for name, value in changes.items())
    return path / "siblings" / "-".join(words)


@dataclass(frozen=True, eq=False)
class Retrained:
    """A model retrained without some facts: its parameters, or the standings of predictions."""

    removed: tuple[int, ...]
    """Ids of the facts, ascending; empty for the control."""
    parameters: Parameters | None = None
    """None if predictions were given."""
    standings: "tuple[Standing, ...] | None" = None
    """One per prediction, if predictions were given."""


def retrain(
    run: Run,
    sets: "Sequence[FactIds]",
    predictions: Sequence[Sequence[str | None]] | None,
    engine: EngineOptions,
    events: Events | None,
) -> Iterator[Retrained]:
    """See `Run.retrain`."""
    from whereof.explain.explain import find_scored
    from whereof.explain.options import ExplainOptions
    from whereof.predict.scored import name_standings
    from whereof.retrain.engine import Job

    removed = [(), *(tuple(facts.tolist()) for facts in sets)]
    with open_cases(run, engine, events) as open_seeds:
        (case,) = open_seeds()
        if predictions is None:
            waiting, following = dict[int, Parameters](), 0
            for number, rows in case.retrainer.rows(sets):  # as they finish; -1 is the control
                waiting[number + 1] = rows
                while following in waiting:
                    yield Retrained(removed[following], waiting.pop(following))
                    following += 1
            return
        scored = [find_scored(case.trained, names, ExplainOptions()) for names in predictions]
        jobs = [Job.of(facts, range(len(scored))) for facts in sets]
        found = case.retrainer.ask(case.predictions(each.prediction for each in scored), jobs)
        for facts, standings in zip(removed, (found.control, *found.jobs), strict=True):
            yield Retrained(facts, standings=name_standings(case.trained, standings))


def evaluate(run: Run, events: Events | None, options: dict[str, Any]) -> "Evaluation":
    """See `Run.evaluate`."""
    from whereof.evaluate.evaluation import check_possible, evaluate
    from whereof.evaluate.options import EvaluateOptions
    from whereof.evaluate.protocol import protocols

    where = EngineOptions.take(options)
    if isinstance(options.get("predictions"), Path):
        options["predictions"] = str(options["predictions"])
    if not isinstance(options.get("predictions", ""), str):
        raise WhereofError("predictions must be top, true or a file; write your list into a file")
    asked = EvaluateOptions.from_dict(options)
    with open_cases(run, where, events) as open_seeds:
        check_possible(open_seeds()[0], asked, where.threads)
        cases = open_seeds(asked.seeds)
        variants = {
            each.name: {
                name: open_seeds(asked.seeds, **changes)
                for name, changes in each.variants(asked).items()
            }
            for each in protocols(asked.protocols)
        }
        names = str(run.path), run.dataset.name
        found = evaluate(cases, asked, names, variants, where.threads)
        try:
            save_evaluation(run.file(""), found.to_dict(), found.arrays())
        except (OSError, WhereofError) as error:
            (events or Events()).emit(Note(f"the evaluation is not kept in the run: {error}"))
    return found
