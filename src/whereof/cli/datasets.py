"""`whereof datasets`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from whereof.cli import _options
from whereof.errors import WhereofError

_SIZES = ("n_facts", "n_valid", "n_test", "n_entities", "n_relations")


@_options.command("datasets")
@click.argument("name", required=False, shell_complete=_options.complete)
@_options.flag("--download", help="Download it now, for later use without a network.")
@click.option(
    "--data-dir",
    type=_options.FILE,
    help="Folder of named datasets  [default: $WHEREOF_DATA, else downloaded]",
)
def command(name: str | None, download: bool, data_dir: Path | None) -> _options.Result:
    """List the named datasets, or show one of them.

    A dataset is part of the package (bundled), in a folder of yours (copy), downloaded before
    (cached), or downloaded when it is first used (absent).
    """
    from whereof.data.catalogue import CATALOGUE, find_entry, find_folder, locate

    if download and name is None:
        raise WhereofError(f"--download needs a NAME; choose from {', '.join(CATALOGUE)}")
    entries = CATALOGUE.values() if name is None else [find_entry(name)]
    listed = []
    for entry in entries:
        if download:
            from whereof.cli.progress import TerminalEvents

            with TerminalEvents() as events:
                find_folder(entry, data_dir, events)
        place = locate(entry, data_dir)
        here = {"here": place.kind, "folder": place.folder and str(place.folder)}
        listed.append(entry.to_dict() | here)
    if name is None:
        return {"datasets": listed}, partial(_list, listed)
    return listed[0], partial(_show, listed[0])


def _list(listed: list[dict[str, Any]]) -> None:
    from whereof.present.terminal import console, show
    from whereof.table import Column, Table

    sizes = [Column(name, name.removeprefix("n_"), "count") for name in _SIZES]
    columns = [Column("name", "name"), *sizes, Column("licence", "licence"), Column("here", "here")]
    rows = [[about[column.name] for column in columns] for about in listed]
    show(console(), Table("datasets", "", columns, rows))


def _show(about: dict[str, Any]) -> None:
    from whereof.present.terminal import console

    lines = {
        "sizes": ", ".join(f"{about[size]:,} {size.removeprefix('n_')}" for size in _SIZES),
        "labels": "yes" if about["labelled"] else "none; names only",
        "licence": f"{about['licence']}: {about['terms']}",
        "cite": about["citation"],
        "homepage": about["homepage"],
        "here": f"{about['here']}, in {about['folder']}" if about["folder"] else about["here"],
    }
    text = [f"{word:<9} {line}" for word, line in lines.items()]
    for file in about["files"]:
        known = file["sha256"] or "recorded at the first download"
        text += [f"{file['name']} from {file['url']}", f"{'':<9} SHA-256 {known}"]
    out = console()
    out.print(about["title"], style="bold")
    out.print("\n".join(text), soft_wrap=True)
