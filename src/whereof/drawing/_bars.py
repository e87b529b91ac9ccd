"""Influences as bars, with matplotlib."""

from typing import Any

from whereof._extras import need
from whereof.drawing._colours import sign_of
from whereof.drawing._fitting import fit
from whereof.drawing._text import Document, check, fact_text, has_falls, stands_text

_AXES = {
    "probability": "influence on probability, in percentage points",
    "score": "influence on score",
    "loss": "influence on loss",
    "log_ratio": "influence on the log of the ratio",
}
_LABEL = 32
"""Room of a fact beside its bar, in heights of its letters."""


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
    places = range(len(facts))
    ax.barh(
        places,
        [_scale(document) * fact["influence"] for fact in facts],
        color=[sign_of(fact["influence"]).line for fact in facts],
    )
    ax.set_yticks(places, [_name(fact) for fact in facts])
    ax.invert_yaxis()
    ax.axvline(0, color="#222222", linewidth=0.8)
    ax.set_xlabel(_axis(document))
    stands = _literal(stands_text(document))
    ax.set_title(f"{_name(document['prediction'])}\n{stands}", fontsize="medium")
    return ax


def _scale(document: Document) -> int:
    return 100 if document["of"] == "probability" and has_falls(document) else 1


def _axis(document: Document) -> str:
    if has_falls(document):
        return _AXES[document["of"]]
    return f"influence, as {document['method']} estimates it"


def _name(fact: Document) -> str:
    return _literal(fit(fact_text(fact), _LABEL, 1))


def _literal(text: str) -> str:
    """A text in which a dollar sign begins no formula."""
    return text.replace("$", r"\$")
