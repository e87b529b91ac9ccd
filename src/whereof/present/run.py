"""Runs in the terminal: one run, several runs compared, and answers to queries."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.console import Console

from whereof import units
from whereof.predict.answers import Answer, Answers
from whereof.present import metrics
from whereof.present.names import named
from whereof.present.terminal import heading, on_one_line, room, show
from whereof.run.dataset import WEIGHTS
from whereof.run.folder import RunInfo
from whereof.table import Cell, Column, Table, cell_text

_Row = tuple[Any, ...]
_PLAIN = Column("", "")
_FOLD, _GAP = 16, 2
"""The minimum width of a run's column, and the gap between columns."""

_COUNTS = {
    "n_facts": ("training facts", "count"),
    "n_valid": ("validation facts", "count"),
    "n_test": ("test facts", "count"),
    "n_entities": ("entities", "count"),
    "n_relations": ("relations", "count"),
    "epochs": ("epochs trained", "count"),
    "best_epoch": ("kept epoch", "count"),
    "steps": ("steps", "count"),
    "seconds": ("training time", "seconds"),
    "trace_bytes": ("trace on disk", "bytes"),
}
_CAUSES = {
    "trace": "the steps of the facts, kept in the trace",
    "negatives": "the steps of their negatives",
    "drift": "momentum from earlier steps",
    "projection": "the norm constraint",
    "remainder": "what momentum moved in other steps, or later steps undid",
}
"""Parts of the parameters' change in training."""


def counts(info: RunInfo) -> Iterator[tuple[str, str]]:
    """Sizes of data and training, with their titles."""
    for name, (title, unit) in _COUNTS.items():
        value = getattr(info, name)
        if info.two_way:
            title = {"n_entities": "users and items"}.get(name, title)
            value = None if name == "n_relations" else value
        if value is not None:
            yield title, units.show(value, unit)


def ending(info: RunInfo) -> str:
    """How training ended, and which epoch was kept."""
    trained, best = info.epochs or 0, info.best_epoch or 0
    if info.trained_elsewhere:
        return "other software trained it"
    if info.stopped != "time":
        later = ", no better since" if best < trained else ""
        return f"kept epoch {best} of {trained}{later}"
    cut = (info.best_facts or 0) < best * info.n_facts
    kept = f"the finished part of epoch {best}" if cut else f"epoch {best}"
    epochs = info.config.get("epochs")
    return f"stopped by the time budget in epoch {trained} of {epochs}; kept {kept}"


def setting_text(value: Any) -> str:
    """The value of a setting; phases of training in words."""
    if not isinstance(value, list):
        return str(value)
    parts = []
    for phase in value:
        replayed = phase["n_replayed"]
        earlier = f", with {units.count(replayed, 'earlier fact')} in each epoch" * bool(replayed)
        facts, trained = (phase[name] for name in ("n_facts", "n_trained"))
        parts.append(f"{units.count(facts, 'fact')}: trained on {trained:,}{earlier}")
    return "; then ".join(parts)


def show_run(out: Console, info: RunInfo, model: str, state: str = "") -> None:
    """Describe a run. `model` describes the model, `state` an unfinished run."""
    show(out, f"{info.run}  written {info.created} by whereof {info.whereof}")
    if state:
        show(out, f"not finished; {state}")
    show(out, *(f"note: {note}" for note in info.notes))
    show(out, heading("Run"), _pairs(_about(info, model)))
    if any(info.metrics.values()):
        show(out, "", metrics.metrics_table(info.metrics, two_way=info.two_way))
    if info.finished:
        show(out, heading("Reliability of estimates"), *info.reliability_texts)
    if info.finished and info.bookkeeping:
        title = "What moved the parameters from their first to their last values"
        more = "A share exceeds 100% if others moved the parameters back."
        columns = [Column("cause", ""), Column("share", "", "percent")]
        shares = [(_CAUSES.get(name, name), share) for name, share in info.bookkeeping.items()]
        show(out, "", Table("change", title, columns, shares, f"The shares add up to 100%. {more}"))
    show(out, heading("Settings"), _pairs(info.config.items()))
    columns = [Column("file", "Files"), Column("bytes", "size", "bytes")]
    sizes = [(name, about["bytes"]) for name, about in info.files.items()]
    show(out, "", Table("files", "", columns, sizes))


def show_runs(out: Console, infos: Sequence[RunInfo], *, everything: bool) -> None:
    """Compare runs: one column per run, with the settings that differ, or all.

    Runs that do not fit next to the others are shown below.
    """
    rows = list(_side_by_side(infos, everything))
    folders = [info.run or "in memory" for info in infos]
    names = [Path(folder).name for folder in folders]
    if len(set(names)) < len(names):
        names = folders
    for block in _blocks(names, rows, room(out)):
        columns = [_PLAIN, *(Column("", names[place]) for place in block)]
        kept = [(row[0], *(row[place + 1] for place in block)) for row in rows]
        show(out, Table("runs", "", columns, kept), "")
    show(out, *_notes(infos, rows, everything))


def differences(infos: Sequence[RunInfo]) -> dict[str, list[Any]]:
    """The settings that are not the same in all runs."""
    return {name: found for name, found in _by_setting(infos).items() if _differ(found)}


def query_text(answers: Answers) -> str:
    """A query by names and labels, with `?` for the open place."""
    return " ".join(
        "?" if name is None else named(name, answers.labels[place] or name)
        for place, name in answers.query.items()
        if name is not None or place == answers.asks
    )


def answers_table(
    title: str, answers: Sequence[Answer], scale: tuple[float, float] | None = None
) -> Table:
    """Answers; those known from training or validation have no rank.

    scale: the lowest and the highest rating, for a rating model: its scores are
    ratings, and it has no probabilities.
    """
    output = [Column("score", "rating", "score")]
    if scale is None:
        output = [Column(name, name, name) for name in ("probability", "score")]
    columns = [Column("answer", "answer"), *output, Column("rank", "rank", "count")]
    rows = []
    for answer in answers:
        is_ranked = len(answers) == 1 or answer.is_new
        values: list[Any] = [answer.probability, answer.score]
        if scale is not None:
            values = [min(max(answer.score, scale[0]), scale[1])]
        rank = answer.rank if is_ranked else ""
        row = [named(answer.entity, answer.label), *values, rank, answer.known or ""]
        rows.append([Cell(value, tone="" if is_ranked else "faint") for value in row])
    return Table("answers", title, [*columns, Column("known", "known")], rows)


def _about(info: RunInfo, model: str) -> Iterator[tuple[str, str]]:
    yield "model", model
    yield "dataset", info.dataset
    read = info.read | info.read.get("read_as", {})
    for name in (name for name in read if name != "read_as"):
        yield "read from" if name == "data" else f"  {name}", str(read[name])
    yield from counts(info)
    yield "sources of facts", "yes" if "sources.json" in info.files else "no"
    if WEIGHTS in info.files:
        yield "weights of facts", "yes"
    if info.finished:
        yield "ended", ending(info)
        yield "largest gradient of a score in training", units.show(info.lipschitz, "number")


def _pairs(pairs: Any) -> Table:
    columns = [Column("name", ""), Column("value", "")]
    return Table("pairs", "", columns, [(name, setting_text(value)) for name, value in pairs])


def _side_by_side(infos: Sequence[RunInfo], everything: bool) -> Iterator[_Row]:
    blank = ("",) * (len(infos) + 1)
    yield "dataset", *(info.dataset for info in infos)
    yield "model", *(info.model for info in infos)
    if not all(info.finished for info in infos):
        yield "finished", *(info.finished for info in infos)
    for name, (title, unit) in _COUNTS.items():
        yield title, *(Cell(getattr(info, name), unit=unit) for info in infos)
    measured = list(_metrics(infos, everything))
    yield from [blank, *measured] if measured else []
    settings = _by_setting(infos) if everything else differences(infos)
    settings.pop("model", None)  # shown above
    yield from [blank] if settings else []
    for name, values in settings.items():
        yield name, *map(setting_text, values)


def _metrics(infos: Sequence[RunInfo], everything: bool) -> Iterator[_Row]:
    """One row per metric of every split and, with `everything`, of its parts."""
    runs = [metrics.metric_rows(info.metrics) for info in infos]
    same = not _differ([info.dataset_hash for info in infos])
    mixed = same and _mixed_sides(infos)
    for split, part in dict.fromkeys(chain.from_iterable(runs)):
        objects = mixed and part == "objects"
        if part and not (everything or objects):
            continue
        # A run without inverse relations has metrics of objects only.
        other = (split, "" if objects else part)
        rows = [run.get((split, part)) or run.get(other, {}) for run in runs]
        for column in map(metrics.metric_column, metrics.metric_names(rows)):
            values = [row.get(column.name) for row in rows]
            comparable = same and (objects or not mixed)
            best = metrics.best_value(column.name, values) if comparable else None
            title = " ".join(filter(None, (split, part, column.title)))
            yield title, *(_metric_cell(column, value, best) for value in values)


def _metric_cell(column: Column, value: float | None, best: float | None) -> Cell:
    is_best = value is not None and value == best
    return Cell("" if value is None else value, column.unit, "*" * is_best, "changed" * is_best)


def _notes(infos: Sequence[RunInfo], rows: list[_Row], everything: bool) -> Iterator[str]:
    if any(isinstance(cell, Cell) and cell.mark for row in rows for cell in row):
        yield "Metrics are filtered; * is the best."
    if _differ([info.dataset_hash for info in infos]):
        datasets = ", ".join(f"{info.dataset} {info.dataset_hash[:8]}" for info in infos)
        yield f"The datasets differ ({datasets}): do not compare their metrics."
    elif _mixed_sides(infos):
        means = "With inverse relations, metrics are means over subjects and objects"
        yield f"{means}; without, they rank objects only. Compare the `objects` rows."
    if not everything:
        n_equal = len(_by_setting(infos)) - len(differences(infos))
        yield f"{units.count(n_equal, 'equal setting')} left out; --all shows all."


def _blocks(names: list[str], rows: list[_Row], width: int | None) -> Iterator[list[int]]:
    first = max(cell_len(str(row[0])) for row in rows)
    block, used = list[int](), first
    for place, name in enumerate(names):
        cells = [name, *(cell_text(row[place + 1], _PLAIN) for row in rows)]
        wanted = _GAP + min(max(map(cell_len, map(on_one_line, cells))), _FOLD)
        if width is not None and block and used + wanted > width:
            yield block
            block, used = [], first
        block.append(place)
        used += wanted
    yield block


def _by_setting(infos: Sequence[RunInfo]) -> dict[str, list[Any]]:
    """Every setting with its value in each run; None if a run does not have it."""
    configs = [info.config for info in infos]
    names = dict.fromkeys(chain.from_iterable(configs))
    return {name: [config.get(name) for config in configs] for name in names}


def _mixed_sides(infos: Sequence[RunInfo]) -> bool:
    """Whether some runs have metrics of both sides and others of objects alone."""
    splits = (split for info in infos for split in info.metrics.values() if split)
    return _differ(["objects" in split for split in splits])


def _differ(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values)
