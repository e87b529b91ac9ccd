"""Explanations as pictures and pages, made of their plain documents; numbers as charts."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.drawing._bars import plot_explanation
    from whence.drawing._boxes import Box, boxes_svg
    from whence.drawing._curves import Curve, Strip, line_svg, strip_svg
    from whence.drawing._groups import Bar, bars_svg
    from whence.drawing._html import explanation_html
    from whence.drawing._page import explanation_page
    from whence.drawing._scatter import Scatter, scatter_svg
    from whence.drawing._svg import explanation_svg
    from whence.drawing._text import has_falls, named

__all__ = [
    "Bar",
    "Box",
    "Curve",
    "Scatter",
    "Strip",
    "bars_svg",
    "boxes_svg",
    "explanation_html",
    "explanation_page",
    "explanation_svg",
    "has_falls",
    "line_svg",
    "named",
    "plot_explanation",
    "scatter_svg",
    "strip_svg",
]

__getattr__ = lazily(
    __name__,
    {
        "Bar": "whence.drawing._groups",
        "Box": "whence.drawing._boxes",
        "Curve": "whence.drawing._curves",
        "Scatter": "whence.drawing._scatter",
        "Strip": "whence.drawing._curves",
        "bars_svg": "whence.drawing._groups",
        "boxes_svg": "whence.drawing._boxes",
        "explanation_html": "whence.drawing._html",
        "explanation_page": "whence.drawing._page",
        "explanation_svg": "whence.drawing._svg",
        "has_falls": "whence.drawing._text",
        "line_svg": "whence.drawing._curves",
        "named": "whence.drawing._text",
        "plot_explanation": "whence.drawing._bars",
        "scatter_svg": "whence.drawing._scatter",
        "strip_svg": "whence.drawing._curves",
    },
)
