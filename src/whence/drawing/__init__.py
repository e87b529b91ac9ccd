"""Explanations as pictures and pages, made of their plain documents."""

from typing import TYPE_CHECKING

from whence._lazy import lazily

if TYPE_CHECKING:
    from whence.drawing._bars import plot_explanation
    from whence.drawing._html import explanation_html
    from whence.drawing._page import explanation_page
    from whence.drawing._svg import explanation_svg
    from whence.drawing._text import has_falls, named

__all__ = [
    "explanation_html",
    "explanation_page",
    "explanation_svg",
    "has_falls",
    "named",
    "plot_explanation",
]

__getattr__ = lazily(
    __name__,
    {
        "explanation_html": "whence.drawing._html",
        "explanation_page": "whence.drawing._page",
        "explanation_svg": "whence.drawing._svg",
        "has_falls": "whence.drawing._text",
        "named": "whence.drawing._text",
        "plot_explanation": "whence.drawing._bars",
    },
)
