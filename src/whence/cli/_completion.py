"""What the shell offers for an argument."""

from pathlib import Path

import click
from click.shell_completion import CompletionItem

RUN = click.Path(file_okay=False, path_type=Path)
"""The folder of a run."""


def complete_data(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of datasets, and files."""
    from whence.data import CATALOGUE

    names = [CompletionItem(name) for name in CATALOGUE if name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]
