"""What a run answers by training again: verdicts, exact explanations, bare retraining."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.api._cases import open_case, sibling
from whence.api._run import Run
from whence.errors import WhenceError
from whence.training.results import Parameters, Start, Watch

if TYPE_CHECKING:
    from whence.engines import Engine, RetrainWatch
    from whence.explain import Explanation, Standing
    from whence.predict import Predictions
    from whence.types import FactIds
    from whence.verify import Case, Verdict


@dataclass(frozen=True, eq=False)
class Retrained:
    """A model trained again without some facts: its rows, or how predictions stand under them."""

    removed: tuple[int, ...]
    """Ids of the facts, ascending; none for the control."""
    parameters: Parameters | None
    """None where predictions were asked for."""
    standings: "tuple[Standing, ...] | None"
    """One a prediction, where there are any."""


def verify(
    run: Run, names: Sequence[Any], watch: "RetrainWatch | None", options: dict[str, Any]
) -> "Verdict":
    """See `Run.verify`."""
    from whence import verify

    if options.get("facts") is not None and "top" in options:
        raise WhenceError("facts names what is removed; leave out top")
    watch, engine = _watch(watch), _engine(options)
    chosen = verify.VerifyOptions.from_dict(options)
    with ExitStack() as stack:
        cases = [
            stack.enter_context(open_case(each, engine, watch))
            for each in _seeds(run, chosen.seeds, watch)
        ]
        return verify.verify(cases, names, chosen)


def _seeds(run: Run, n_seeds: int, watch: "RetrainWatch") -> Iterator[Run]:
    """The run, and those of the next seeds, trained where they are not there yet."""
    yield run
    for seed in range(run.config.seed + 1, run.config.seed + n_seeds):
        yield sibling(run, _SiblingWatch(watch), seed=seed)


class _SiblingWatch(Watch):
    """Says that a sibling is trained; that stops when retraining is to stop."""

    def __init__(self, watch: "RetrainWatch") -> None:
        self._watch = watch

    def started(self, about: Start) -> None:
        self._watch.noted(f"training {about.run} with seed {about.config.seed}, once")

    def should_stop(self) -> bool:
        return self._watch.should_stop()


def explain_exactly(
    run: Run, names: Sequence[Any], watch: "RetrainWatch | None", options: dict[str, Any]
) -> "Explanation":
    """An explanation by a method that retrains."""
    from whence.explain import ExplainOptions, explain

    engine = _engine(options)
    chosen = ExplainOptions.from_dict(options)
    with open_case(run, engine, _watch(watch)) as case:
        return explain(case.explained_by(chosen.method), names, chosen)


def retrain(
    run: Run,
    removed: Sequence[Any],
    predictions: Sequence[Sequence[str | None]] | None,
    watch: "RetrainWatch | None",
    options: dict[str, Any],
) -> Iterator[Retrained]:
    """See `Run.retrain`; what is wrong is said at once."""
    import numpy as np

    from whence.explain import find_facts

    engine = _engine(options)
    if options:
        raise WhenceError(
            f"unknown setting {next(iter(options))!r}; those of EngineOptions go here"
        )
    sets = [np.sort(find_facts(run._trained, facts)) for facts in removed]
    return _retrain(run, sets, predictions, engine, _watch(watch))


def _retrain(
    run: Run,
    sets: "Sequence[FactIds]",
    predictions: Sequence[Sequence[str | None]] | None,
    engine: "Engine",
    watch: "RetrainWatch",
) -> Iterator[Retrained]:
    with open_case(run, engine, watch) as case:
        if predictions is None:
            yield from _rows(case, sets)
        else:
            yield from _standings(case, sets, _find(case, predictions))


def _rows(case: "Case", sets: "Sequence[FactIds]") -> Iterator[Retrained]:
    """In the order asked for, the control first; what is finished earlier waits."""
    waiting: dict[int, Parameters] = {}
    following = -1  # the control
    for number, rows in case.retrainer.rows(sets):
        waiting[number] = rows
        while following in waiting:
            removed = () if following < 0 else tuple(sets[following].tolist())
            yield Retrained(removed, waiting.pop(following), None)
            following += 1


def _standings(
    case: "Case", sets: "Sequence[FactIds]", predictions: "Predictions"
) -> Iterator[Retrained]:
    from whence.engines import Job

    every = range(len(predictions))
    found = case.retrainer.ask(predictions, [Job.of(facts, every) for facts in sets])
    yield Retrained((), None, case.name_standings(found.control))
    for facts, standings in zip(sets, found.jobs, strict=True):
        yield Retrained(tuple(facts.tolist()), None, case.name_standings(standings))


def _find(case: "Case", predictions: Sequence[Sequence[str | None]]) -> "Predictions":
    from whence.explain import ExplainOptions, find_situation

    options = ExplainOptions()
    return case.predictions(find_situation(case.trained, names, options) for names in predictions)


def _watch(watch: "RetrainWatch | None") -> "RetrainWatch":
    from whence.engines import RetrainWatch

    return RetrainWatch() if watch is None else watch


def _engine(options: dict[str, Any]) -> "Engine":
    """The engine that options ask for; what is said of it is taken out of them."""
    from whence.engines import EngineOptions, choose_engine

    taken = {name: options.pop(name) for name in EngineOptions.names() if name in options}
    return choose_engine(EngineOptions(**taken))
