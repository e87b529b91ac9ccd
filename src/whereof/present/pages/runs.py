"""The runs that the server has."""

from collections.abc import Mapping
from typing import Any

from whereof.present.html import Site, render
from whereof.present.pages.words import address


def runs_page(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The runs by id, each with its summary."""
    listed = [
        {"id": key, "ask": address(key, "ask"), "about": address(key, "about"), **about}
        for key, about in runs.items()
    ]
    return render("runs", "Whereof", Site(), runs=listed)
