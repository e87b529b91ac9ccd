"""What the run is: its data, model and settings, how good it is and how it was trained."""

from collections.abc import Iterator, Sequence

from whereof.drawing import Curve, line_svg
from whereof.drawing._metrics import (
    metric_names,
    metric_rows,
    metric_text,
    metric_title,
    metrics_heading,
)
from whereof.report._parts import Document, Section, count, figures, items, number, paragraph, table

_SIZES = (
    ("n_facts", "training facts"),
    ("n_valid", "validation facts"),
    ("n_test", "test facts"),
    ("n_entities", "entities"),
    ("n_relations", "relations"),
)
_NO_METRICS = ("epoch", "facts", "loss", "seconds")
"""What an epoch has besides the metric that is validated."""


def about_run(info: Document) -> Section:
    """Where the run lies, what it was made of and when."""
    pairs = [
        ("run", info.get("run") or "in memory"),
        ("dataset", info["dataset"]),
        ("model", info["model"]),
        *((title, f"{info[name]:,}") for name, title in _SIZES if info.get(name) is not None),
    ]
    if info.get("created"):
        pairs.append(("trained", f"{info['created']} by whereof {info['whereof']}"))
    if info.get("dataset_hash"):
        pairs.append(("hash of the data", info["dataset_hash"]))
    settings = [(name, _setting(value)) for name, value in info["config"].items()]
    notes = [paragraph(f"Note: {note}") for note in info.get("notes", ())]
    folded = f"<details><summary>Settings</summary>{items(settings)}</details>"
    return Section("The run", (items(pairs), *notes, folded), "run")


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def metrics(info: Document) -> Section:
    """How good the model is, split by split."""
    rows = list(metric_rows(info.get("metrics") or {}))
    if not rows:
        return Section("Metrics", (), "metrics")
    names = metric_names(rows)
    lines = [
        [
            f"{row.split}, {row.part}" if row.part else row.split,
            *(metric_text(name, row.values.get(name)) for name in names),
        ]
        for row in rows
    ]
    about = f"{metrics_heading(names)}. Each answer is ranked among those that are not known."
    return Section("Metrics", (table(["", *map(metric_title, names)], lines, about),), "metrics")


def training(info: Document) -> Section:
    """The curve of the loss, and of the metric that picked the best epoch."""
    history: Sequence[Document] = info.get("history") or []
    if not history:
        return Section("Training", (), "training")
    charts = [_curve(history, "loss", "Loss by epoch", in_percent=False)]
    names = dict.fromkeys(name for epoch in history for name in epoch)
    for name in (name for name in names if name not in _NO_METRICS):
        errors = name in ("rmse", "mae")
        title = f"{metric_title(name)} on validation by epoch"
        charts.append(_curve(history, name, title, in_percent=not errors))
    return Section("Training", (paragraph(*_ended(info)), figures(*charts)), "training")


def _curve(history: Sequence[Document], name: str, title: str, *, in_percent: bool) -> str:
    curve = Curve(name, [(epoch["epoch"], epoch.get(name)) for epoch in history])
    label = metric_title(name) if name != "loss" else name
    return line_svg([curve], title=title, x_label="epoch", y_label=label, in_percent=in_percent)


def _ended(info: Document) -> Iterator[str]:
    """How long it took, and which epoch was kept."""
    if "best_epoch" in info and "epochs" in info:
        yield f"Epoch {info['best_epoch']} of {info['epochs']} was kept."
    if info.get("seconds") is not None and info.get("steps"):
        yield f"{count(info['steps'], 'step')} took {info['seconds']:.3g} s."
    if info.get("lipschitz"):
        yield f"The steepest slope of the score that training met is {number(info['lipschitz'])}."
