"""What each method would cost for a prediction, how far to trust it, and which one to use."""

import os
from dataclasses import replace

from whereof.explain.explanation import Explanation, MethodCost
from whereof.explain.method import N_RIVALS, Aim, Context, Method, get_method, plain_methods
from whereof.explain.options import ExplainOptions
from whereof.predict.scored import Trained
from whereof.registry import METHODS, names
from whereof.run.reliability import Reliability
from whereof.training.problem import Problem

_TRUSTED = ("close", "exact")
_QUICK, _STEP = 1.5e9, 750
"""The largest cost of a training through which a sweep takes about half a minute on two cores, in
numbers that it computes; and the fixed cost of a step, in the same unit."""


def advise(
    explanation: Explanation,
    trained: Trained,
    reliability: Reliability,
    training_seconds: float | None,
) -> Explanation:
    """The explanation with the reliability of estimates, and the cost and trust of methods.

    training_seconds: of one retraining on one core; None if the run cannot be retrained. Costs are
    those of the method used, of the default one, and of those that can be better than rough.
    """
    is_part = explanation.sweep_epochs is not None  # what was measured is a whole sweep
    if is_part:
        reliability = reliability.without(explanation.method)
    explanation = replace(explanation, reliability=reliability)
    if training_seconds is None:
        return explanation
    costs, listed = [], (explanation.method, ExplainOptions.method)
    for method in map(get_method, names(METHODS)):
        is_listed = method.name in listed or method.is_linear or method.retrains
        if not is_listed or not (method.retrains or method.fits(trained)):
            continue
        is_used = method.name == explanation.method
        epochs = explanation.sweep_epochs if is_used else None
        context = Context(Aim(explanation.of), rivals=N_RIVALS, sweep_epochs=epochs)
        n_trainings = method.cost(trained, explanation.n_adjacent, context)
        seconds = n_trainings * training_seconds / (os.cpu_count() or 1) or None
        is_rough = is_part and is_used
        trust = "rough" if is_rough else trust_of(method, reliability, steady=trained.config.steady)
        costs.append(MethodCost(method.name, seconds, trust))
    trusted = [each for each in costs if each.trust in _TRUSTED]
    if not all(fact.parts for fact in explanation.facts):  # some are not adjacent
        trusted = [each for each in trusted if get_method(each.method).ranks_all]
    # The method used, if it can be trusted; else the fastest.
    trusted.sort(key=lambda each: (each.method != explanation.method, each.seconds or 0.0))
    best = trusted[0].method if trusted else None
    return replace(explanation, costs=tuple(costs), recommended=best)


def default_method(trained: Trained) -> str:
    """The method for predictions of a run unless one is named: unrolled for small, steady runs.

    It depends on the run alone, not on the machine.
    """
    return _sweeping_method() if default_reason(trained) is None else _quick_method(trained)


def default_reason(trained: Trained) -> str | None:
    """Why the default method of a run is rollback and not unrolled; None if it is unrolled."""
    start, sweeping = f"{_quick_method(trained)} is the default for this run: ", _sweeping_method()
    if trained.n_trained is None:
        return f"{start}how it was trained is not known, so {sweeping} cannot follow its training"
    if not trained.config.steady:
        return f"{start}it was not trained steadily, so estimates by {sweeping} can be far off"
    problem = Problem.of(trained.dataset, trained.config)
    cost = problem.fact_cost + _STEP * problem.n_directions
    if cost * trained.n_trained > _QUICK:
        updates = " and its updates" if problem.calendar.phases else ""
        why = f"because it repeats the training{updates}"
        return f"{start}{sweeping} would take more than about half a minute, {why}"
    return None


def _quick_method(trained: Trained) -> str:
    """The method for runs that are not swept. Other software may have recorded no trace."""
    if trained.trace is not None or trained.n_trained is not None:
        return ExplainOptions.method
    return next(each.name for each in plain_methods() if not each.retrains and each.fits(trained))


def _sweeping_method() -> str:
    """The name of the method that follows training."""
    return next(each.name for each in map(get_method, names(METHODS)) if each.is_linear)


def trust_of(method: Method, reliability: Reliability, *, steady: bool) -> str:
    """How far to trust a method in a run: exact, close, rough or not measured.

    Checks of the method by retraining decide; without them linearity, if the method depends on it.
    steady: whether the run was trained steadily.
    """
    if method.retrains:
        return "exact"
    checks = reliability.of(method.name)
    if known := checks or (reliability.linearity if method.is_linear else None):
        return "close" if known.is_close else "rough"
    return "not measured" if method.is_linear and steady else "rough"
