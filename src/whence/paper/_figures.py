"""The paper's figures as SVG: scatter plots, box plots and example graphs."""

from collections.abc import Iterator

from whence.drawing import Box, Scatter, boxes_svg, explanation_svg, scatter_svg
from whence.paper._published import TITLES
from whence.paper._results import Document, Results
from whence.paper._text import value_text

Drawn = dict[str, tuple[str, str]]
"""By the name of the file: what it shows, and the SVG."""

_FIVE = ("low", "first_quarter", "median", "third_quarter", "high", "mean")


def draw(results: Results) -> Drawn:
    """Every figure of which something was measured."""
    return {
        name: (title, svg)
        for made in (_scatter(results), _boxes(results), _examples(results))
        for name, title, svg in made
    }


def _scatter(results: Results) -> Iterator[tuple[str, str, str]]:
    found = (results.evaluation("approximation") or {}).get("approximation") or []
    if not found:
        return
    title = "Predicted against actual probability without rollback's first fact"
    yield "scatter", title, scatter_svg([_panel(item, change=False) for item in found], title=title)
    title = "Predicted against actual change of the probability"
    panels = [_panel(item, change=True) for item in found]
    svg = scatter_svg(panels, title=title, x_label="predicted change", y_label="actual change")
    yield "scatter-changes", title, svg


def _panel(item: Document, *, change: bool) -> Scatter:
    r = item["pearson_change" if change else "pearson_probability"]
    points = [
        (predicted - original, actual - original) if change else (predicted, actual)
        for original, predicted, actual in item["points"]
        if original is not None and predicted is not None and actual is not None
    ]
    note = f"r = {value_text(r, 'number')}, Lipschitz {value_text(item['lipschitz'], 'number')}"
    return Scatter(f"constraint {item['constraint']}", points, note)


def _boxes(results: Results) -> Iterator[tuple[str, str, str]]:
    for model in results.models:
        changes = (results.evaluation(f"removal-{model}") or {}).get("changes") or []
        chosen = [c for c in changes if (c["method"], c["baseline"]) == ("rollback", "random")]
        if chosen:
            title = f"{TITLES[model]}: how much more rollback's facts lower the probability"
            boxes = [_box(change) for change in chosen]
            label = "difference of probabilities"
            yield f"boxes-{model}", title, boxes_svg(boxes, title=title, y_label=label)


def _box(change: Document) -> Box:
    five = {name: change["spread"][name] for name in _FIVE}
    k = change["k"]
    return Box(label="all" if k == "all" else f"k = {k}", count=change["removed_mean"], **five)


def _examples(results: Results) -> Iterator[tuple[str, str, str]]:
    for model in results.models:
        part = results.parts.get(f"removal-{model}", {"examples": ()})
        for number, document in enumerate(part["examples"], 1):
            title = f"{TITLES[model]}, example {number}"
            yield f"example-{model}-{number}", title, explanation_svg(document)
