"""Whether what is asked of an evaluation can be had, found out before anything is retrained."""

from collections.abc import Iterator
from dataclasses import replace

from whence.evaluate.options import EvaluateOptions
from whence.evaluate.picking import pick
from whence.evaluate.removal import choose_facts
from whence.verify import Case

_BY_METHOD = {"removal", "kelpie", "leave-one-out", "datamodelling"}
_BY_SIZE = {"removal", "kelpie"}
_BY_ROLLBACK = {"approximation", "theory"}
"""Protocols by what they look at."""


def check_possible(case: Case, options: EvaluateOptions, threads: int | None = None) -> None:
    """Explain one prediction by every method that is needed; one that lacks something says so."""
    sample = pick(case, replace(options, limit=1), threads)
    for method in dict.fromkeys(_needed(options)):
        sample.rank(method, 1)
    if _BY_SIZE & set(options.protocols) and "random" in options.methods:
        choose_facts(sample, "random", options.k)  # type: ignore[arg-type]


def _needed(options: EvaluateOptions) -> Iterator[str]:
    if _BY_METHOD & set(options.protocols):
        yield from map(str, options.methods)
    if _BY_ROLLBACK & set(options.protocols):
        yield "rollback"
