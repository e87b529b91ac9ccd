"""Influences as bars, with matplotlib."""

from typing import Any

from whence._extras import need
from whence.drawing._colours import sign_of
from whence.drawing._text import Document, check, fact_text, middle, stands_text

_AXES = {
    "probability": "influence on probability, in percentage points",
    "score": "influence on score",
    "loss": "influence on loss",
    "log_ratio": "influence on the log of the ratio",
}
_LABEL = 50
"""Characters of a fact beside its bar."""


def plot_explanation(document: Document, ax: Any = None) -> Any:
    """One horizontal bar a fact, strongest on top; returns the axes.

    Parameters
    ----------
    document
        What `Explanation.to_dict()` gives.
    ax
        The axes to draw on; a figure is made where there are none.
    """
    check(document)
    pyplot = need("matplotlib.pyplot", "plots", "plotting")
    facts = document["facts"]
    if ax is None:
        size = (8, max(1.6 + 0.32 * len(facts), 2.4))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    scale = 100 if document["of"] == "probability" else 1
    places = range(len(facts))
    ax.barh(
        places,
        [scale * fact["influence"] for fact in facts],
        color=[sign_of(fact["influence"]).line for fact in facts],
    )
    # A dollar sign would begin a formula.
    names = [middle(fact_text(fact), _LABEL).replace("$", r"\$") for fact in facts]
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.axvline(0, color="#222222", linewidth=0.8)
    ax.set_xlabel(_AXES[document["of"]])
    title = f"{middle(fact_text(document['prediction']), _LABEL)}\n{stands_text(document)}"
    ax.set_title(title.replace("$", r"\$"), fontsize="medium")
    return ax
