"""Runs side by side."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import Any

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from whereof.cli._screen import counted
from whereof.cli._tables import COUNTS, number, table
from whereof.drawing._metrics import (
    best_value,
    metric_names,
    metric_rows,
    metric_text,
    metric_title,
    metrics_heading,
)

Info = dict[str, Any]
"""What `whereof info --json` prints of one run."""

_Row = tuple[str | Text, ...]
_FOLD, _GAP = 16, 2


def _by_setting(infos: Sequence[Info]) -> dict[str, list[Any]]:
    """Every setting with its value in each run; None where a run does not have it."""
    configs = [info["config"] for info in infos]
    names = dict.fromkeys(chain.from_iterable(configs))
    return {name: [config.get(name) for config in configs] for name in names}


def differences(infos: Sequence[Info]) -> dict[str, list[Any]]:
    """The settings that are not the same in all runs."""
    return {name: found for name, found in _by_setting(infos).items() if _differ(found)}


def comparison_tables(infos: Sequence[Info], *, everything: bool, width: int) -> Iterator[Table]:
    """A column for each run: what it is, its metrics, and the settings that differ, or all.

    Runs that do not fit into the width beside the others go on below them.
    """
    columns = list(zip(*_rows(infos, everything), strict=True))
    for block in _blocks([max(map(_width, column)) for column in columns], width):
        header, *rows = zip(*(columns[place] for place in (0, *block)), strict=True)
        made = table("", *map(str, header))
        for row in rows:
            made.add_row(*row)
        yield made


def _rows(infos: Sequence[Info], everything: bool) -> Iterator[_Row]:
    """The names of the runs, then section by section what there is to say of them."""
    yield "", *map(_folded, _names(infos))
    yield from _about(infos)
    for section in (_metrics(infos, everything), _settings(infos, everything)):
        for place, row in enumerate(section):
            if place == 0:
                yield ("",) * len(row)
            yield row


def _blocks(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """The columns after the first in blocks that fit beside it."""
    block, used = [1], widths[0] + _GAP + widths[1]
    for column, width in enumerate(widths[2:], 2):
        if used + _GAP + width > room:
            yield block
            block, used = [], widths[0]
        block.append(column)
        used += _GAP + width
    yield block


def _width(cell: str | Text) -> int:
    return max(map(cell_len, str(cell).split("\n")))


def _folded(text: str) -> str:
    return "\n".join(wrap(text, _FOLD)) if len(text) > _FOLD else text


def comparison_notes(infos: Sequence[Info], *, everything: bool) -> Iterator[str]:
    """What has to be said of the table."""
    names = metric_names(row for info in infos for row in metric_rows(info["metrics"]))
    if names:
        cells = (cell for row in _metrics(infos, everything) for cell in row)
        starred = any(str(cell).endswith("*") for cell in cells)
        yield metrics_heading(names) + ("; * is the best." if starred else ".")
    if not _same_dataset(infos):
        datasets = ", ".join(f"{info['dataset']} {info['dataset_hash'][:8]}" for info in infos)
        yield f"The datasets differ ({datasets}): metrics cannot be compared."
    elif _mixed_sides(infos):
        yield "Metrics of runs with inverse relations are means of both sides: compare objects."
    if not everything:
        n_equal = len(_by_setting(infos)) - len(differences(infos))
        yield f"{counted(n_equal, 'equal setting')} left out; --all shows all."


def _names(infos: Sequence[Info]) -> list[str]:
    """The runs' folders, with the way to them where they share a name."""
    names = [Path(info["run"]).name for info in infos]
    return names if len(set(names)) == len(names) else [info["run"] for info in infos]


def _about(infos: Sequence[Info]) -> Iterator[_Row]:
    for name in ("dataset", "model"):
        yield name, *(_folded(info[name]) for info in infos)
    if not all(info["finished"] for info in infos):
        yield "finished", *("yes" if info["finished"] else "no" for info in infos)
    for name in COUNTS:
        yield name, *(number(info[name]) for info in infos)


def _metrics(infos: Sequence[Info], everything: bool) -> Iterator[_Row]:
    """One row a metric, of splits and, with everything, of their parts."""
    runs = [{(row.split, row.part): row for row in metric_rows(info["metrics"])} for info in infos]
    comparable = _same_dataset(infos)
    mixed = comparable and _mixed_sides(infos)
    for split, part in dict.fromkeys(chain.from_iterable(runs)):
        objects = mixed and part == "objects"
        if part and not (everything or objects):
            continue
        # A run without inverse relations has metrics of objects alone.
        rows = [run.get((split, part)) or (objects and run.get((split, ""))) for run in runs]
        for name in metric_names(row for row in rows if row):
            values = [row.values.get(name) if row else None for row in rows]
            best = best_value(name, values) if comparable and (objects or not mixed) else None
            title = " ".join(filter(None, (split, part, metric_title(name))))
            yield title, *(_cell(name, value, best) for value in values)


def _cell(name: str, value: float | None, best: float | None) -> Text:
    text, marked = metric_text(name, value), value is not None and value == best
    return Text(f"{text}*", style="bold") if marked else Text(f"{text} ")


def _settings(infos: Sequence[Info], everything: bool) -> Iterator[_Row]:
    for name, values in (_by_setting(infos) if everything else differences(infos)).items():
        if name != "model":  # shown above
            yield name, *(_folded(str(value)) for value in values)


def _same_dataset(infos: Sequence[Info]) -> bool:
    """Whether all runs have the same facts, so that their metrics can be compared."""
    return not _differ([info["dataset_hash"] for info in infos])


def _mixed_sides(infos: Sequence[Info]) -> bool:
    """Whether some runs have metrics of both sides and others of objects alone."""
    splits = (split for info in infos for split in info["metrics"].values() if split)
    return _differ(["objects" in split for split in splits])


def _differ(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values)
