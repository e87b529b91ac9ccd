"""An explanation for notebooks, terminals and pages."""

from typing import Any

from whereof import drawing
from whereof.explain import Explanation


def explanation_html(explanation: Explanation) -> str:
    """A heading and a table of the facts, for notebooks."""
    return drawing.explanation_html(explanation.to_dict())


def plot_explanation(explanation: Explanation, ax: Any = None) -> Any:
    """One horizontal bar a fact, with matplotlib; returns the axes."""
    return drawing.plot_explanation(explanation.to_dict(), ax)
