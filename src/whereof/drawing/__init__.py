"""Explanations as pictures and pages, made of their plain documents; numbers as charts."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.drawing._bars import plot_explanation
    from whereof.drawing._boxes import Box, boxes_svg
    from whereof.drawing._curves import Curve, Strip, line_svg, strip_svg
    from whereof.drawing._groups import Bar, bars_svg
    from whereof.drawing._html import explanation_html
    from whereof.drawing._page import explanation_page
    from whereof.drawing._scatter import Scatter, scatter_svg
    from whereof.drawing._svg import explanation_svg
    from whereof.drawing._text import has_falls, named

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
        "Bar": "whereof.drawing._groups",
        "Box": "whereof.drawing._boxes",
        "Curve": "whereof.drawing._curves",
        "Scatter": "whereof.drawing._scatter",
        "Strip": "whereof.drawing._curves",
        "bars_svg": "whereof.drawing._groups",
        "boxes_svg": "whereof.drawing._boxes",
        "explanation_html": "whereof.drawing._html",
        "explanation_page": "whereof.drawing._page",
        "explanation_svg": "whereof.drawing._svg",
        "has_falls": "whereof.drawing._text",
        "line_svg": "whereof.drawing._curves",
        "named": "whereof.drawing._text",
        "plot_explanation": "whereof.drawing._bars",
        "scatter_svg": "whereof.drawing._scatter",
        "strip_svg": "whereof.drawing._curves",
    },
)
