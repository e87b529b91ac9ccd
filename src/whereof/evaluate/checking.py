"""Whether what is asked of an evaluation can be had, found out before anything is retrained."""

from collections.abc import Iterator
from dataclasses import replace

from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.picking import pick
from whereof.evaluate.removal import choose_facts
from whereof.explain import METHODS
from whereof.retrain import Case

_BY_METHOD = {"removal", "kelpie", "leave-one-out", "datamodelling"}
_BY_SIZE = {"removal", "kelpie"}
_BY_ROLLBACK = {"approximation", "theory"}
"""Protocols by what they look at."""


def check_possible(case: Case, options: EvaluateOptions, threads: int | None = None) -> None:
    """Explain one prediction by every method that is needed; one that lacks something says so."""
    if case.trained.trace is None:
        _check_without_trace(options)
    sample = pick(case, replace(options, limit=1), threads)
    for method in dict.fromkeys(_needed(options)):
        sample.rank(method, 1)
    if _BY_SIZE & set(options.protocols) and "random" in options.methods:
        choose_facts(sample, "random", options.k)  # type: ignore[arg-type]


def _check_without_trace(options: EvaluateOptions) -> None:
    """Refuse what rolls back, with all that would have to go."""
    protocols = [name for name in options.protocols if name in _BY_ROLLBACK]
    methods = [name for name in map(str, options.methods) if METHODS[name].rolls_back]
    needs = [*protocols, *(methods if _BY_METHOD & set(options.protocols) else ())]
    if needs:
        raise WhereofError(
            f"this run has no trace, and {', '.join(needs)} need one; train it without --no-trace, "
            "or evaluate what needs none: methods gradient-dot,random and k 1,10"
        )


def _needed(options: EvaluateOptions) -> Iterator[str]:
    if _BY_METHOD & set(options.protocols):
        yield from map(str, options.methods)
    if _BY_ROLLBACK & set(options.protocols):
        yield "rollback"
