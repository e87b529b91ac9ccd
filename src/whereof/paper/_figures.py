"""The paper's figures as SVG: scatter plots, box plots and example graphs."""

from collections.abc import Iterator

from whereof.drawing import Box, Scatter, boxes_svg, explanation_svg, scatter_svg
from whereof.paper._closeness_tables import Near, approximations
from whereof.paper._results import Document, Results
from whereof.paper._text import value_text

Drawn = dict[str, tuple[str, str]]
"""By the name of the file: what it shows, and the SVG."""

_FIVE = ("low", "first_quarter", "median", "third_quarter", "high", "mean")


def draw(results: Results) -> Drawn:
    """Every figure of which something was measured."""
    return {name: (title, svg) for make in _MAKERS for name, title, svg in make(results)}


def _scatter(results: Results) -> Iterator[tuple[str, str, str]]:
    found = approximations(results)
    if not found:
        return
    title = "Predicted against actual probability without rollback's first fact"
    yield "scatter", title, scatter_svg([_panel(near, change=False) for near in found], title=title)
    title = "Predicted against actual change of the probability"
    panels = [_panel(near, change=True) for near in found]
    svg = scatter_svg(panels, title=title, x_label="predicted change", y_label="actual change")
    yield "scatter-changes", title, svg


def _panel(near: Near, *, change: bool) -> Scatter:
    item = near.item
    r = item["pearson_change" if change else "pearson_probability"]
    points = [
        (predicted - original, actual - original) if change else (predicted, actual)
        for original, predicted, actual in item["points"]
        if original is not None and predicted is not None and actual is not None
    ]
    note = f"r = {value_text(r, 'number')}, Lipschitz {value_text(item['lipschitz'], 'number')}"
    constraint = item["constraint"]
    held = "" if constraint == "none" else f", constraint {constraint}"
    return Scatter(f"{', '.join(near.names)}{held}", points, note)


def _boxes(results: Results) -> Iterator[tuple[str, str, str]]:
    for mine in results.removals:
        changes = mine.evaluation["changes"]
        chosen = [c for c in changes if (c["method"], c["baseline"]) == ("rollback", "random")]
        if chosen:
            title = f"{mine.title}: how much more rollback's facts lower the probability"
            boxes = [_box(change) for change in chosen]
            label = "difference of probabilities"
            yield (
                f"boxes-{mine.model}-{mine.optimizer}",
                title,
                boxes_svg(boxes, title=title, y_label=label),
            )


def _box(change: Document) -> Box:
    five = {name: change["spread"][name] for name in _FIVE}
    k = change["k"]
    return Box(label="all" if k == "all" else f"k = {k}", count=change["removed_mean"], **five)


def _examples(results: Results) -> Iterator[tuple[str, str, str]]:
    for mine in results.removals:
        for number, document in enumerate(mine.part["examples"], 1):
            title = f"{mine.title}, example {number}"
            yield (
                f"example-{mine.model}-{mine.optimizer}-{number}",
                title,
                explanation_svg(document),
            )


_MAKERS = (_scatter, _boxes, _examples)
