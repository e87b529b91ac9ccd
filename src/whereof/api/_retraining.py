"""What a run answers by training again: verdicts, exact explanations, bare retraining."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whereof.api._cases import open_cases, take_engine
from whereof.api._run import Run
from whereof.errors import WhereofError
from whereof.events import Events
from whereof.training.results import Parameters

if TYPE_CHECKING:
    from whereof.explain.explanation import Explanation
    from whereof.predict.standing import Predictions, Standing
    from whereof.retrain import Case, EngineOptions, Verdict
    from whereof.types import FactIds


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
    run: Run, names: Sequence[Any], events: Events | None, options: dict[str, Any]
) -> "Verdict":
    """See `Run.verify`."""
    from whereof.retrain.options import VerifyOptions
    from whereof.retrain.verify import verify

    if options.get("facts") is not None and "top" in options:
        raise WhereofError("facts names what is removed; leave out top")
    engine = take_engine(options)
    chosen = VerifyOptions.from_dict(options)
    with open_cases(run, engine, events) as opened:
        return verify(opened.seeds(chosen.seeds), names, chosen)


def explain_exactly(
    run: Run, names: Sequence[Any], events: Events | None, options: dict[str, Any]
) -> "Explanation":
    """An explanation by a method that retrains."""
    from whereof.explain.explain import explain
    from whereof.explain.options import ExplainOptions

    engine = take_engine(options)
    chosen = ExplainOptions.from_dict(options)
    with open_cases(run, engine, events) as opened:
        case = opened.own()
        return explain(case.trained, names, chosen, case)


def retrain(
    run: Run,
    removed: Sequence[Any],
    predictions: Sequence[Sequence[str | None]] | None,
    events: Events | None,
    options: dict[str, Any],
) -> Iterator[Retrained]:
    """See `Run.retrain`; what is wrong is said at once."""
    import numpy as np

    from whereof.explain.adjacent import find_facts

    engine = take_engine(options)
    if options:
        raise WhereofError(
            f"unknown setting {next(iter(options))!r}; those of EngineOptions go here"
        )
    sets = [np.sort(find_facts(run._trained, facts)) for facts in removed]
    return _retrain(run, sets, predictions, engine, events)


def _retrain(
    run: Run,
    sets: "Sequence[FactIds]",
    predictions: Sequence[Sequence[str | None]] | None,
    engine: "EngineOptions",
    events: Events | None,
) -> Iterator[Retrained]:
    with open_cases(run, engine, events) as opened:
        case = opened.own()
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
    from whereof.predict.standing import name_standings
    from whereof.retrain import Job

    every = range(len(predictions))
    found = case.retrainer.ask(predictions, [Job.of(facts, every) for facts in sets])
    yield Retrained((), None, name_standings(case.trained, found.control))
    for facts, standings in zip(sets, found.jobs, strict=True):
        yield Retrained(tuple(facts.tolist()), None, name_standings(case.trained, standings))


def _find(case: "Case", predictions: Sequence[Sequence[str | None]]) -> "Predictions":
    from whereof.explain.explain import find_scored
    from whereof.explain.options import ExplainOptions

    options = ExplainOptions()
    found = (find_scored(case.trained, names, options) for names in predictions)
    return case.predictions(each.prediction for each in found)
