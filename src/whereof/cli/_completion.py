"""What the shell offers for an argument."""

from pathlib import Path

import click
from click.shell_completion import CompletionItem

RUN = click.Path(file_okay=False, path_type=Path)
"""The folder of a run."""


def complete_model(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of models."""
    from whereof.models import MODELS

    titles = {name: model.title for name, model in MODELS.items() if name.startswith(incomplete)}
    return [CompletionItem(name, help=title) for name, title in titles.items()]


def complete_dataset(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of datasets."""
    from whereof.data import CATALOGUE

    return [CompletionItem(name) for name in CATALOGUE if name.startswith(incomplete)]


def complete_data(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of datasets, and files."""
    names = complete_dataset(ctx, param, incomplete)
    return [*names, CompletionItem(incomplete, type="file")]
