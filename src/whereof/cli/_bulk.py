"""What is said of many explanations: where they are, and which predictions were bad."""

from typing import Any

import click

from whereof.errors import WhereofError
from whereof.units import count as counted
from whereof.units import show

_SHOWN = 10
"""Bad predictions that are named; the others are counted."""


def summary_line(written: Any) -> str:
    """Where the explanations are, and how many."""
    before = f", {written.n_resumed:,} of them before" if written.n_resumed else ""
    took = show(written.seconds, "seconds")
    return (
        f"{written.path}: {counted(written.n_facts, 'fact')} for "
        f"{counted(written.n_predictions, 'prediction')}{before}, in {took}"
    )


def report_failed(source: str, written: Any) -> None:
    """Name the predictions that could not be explained; where all are bad, that is bad input."""
    failed, n_others = written.failed, len(written.failed) - 1
    if not failed:
        return
    if not written.n_predictions:
        others = f" ({n_others:,} other bad {'one' if n_others == 1 else 'ones'})"
        raise WhereofError(f"{_place(source, failed[0])}{others if n_others else ''}")
    for each in failed[:_SHOWN]:
        click.echo(f"whereof: {' '.join(_place(source, each).split())}", err=True)
    if len(failed) > _SHOWN:
        rest = counted(len(failed) - _SHOWN, "other prediction")
        click.echo(f"whereof: {rest} could not be explained either", err=True)


def _place(source: str, failed: Any) -> str:
    """Where a bad prediction stands, and what is wrong with it."""
    if source in ("top", "true"):
        words = ("_" if name is None else name for name in failed.prediction)
        return f"{' '.join(words)}: {failed.message}"
    return f"{source}:{failed.line}: {failed.message}"
