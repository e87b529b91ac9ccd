"""The runs that the server has."""

from collections.abc import Mapping
from typing import Any

from whereof.present.html import Site, render
from whereof.present.metrics import metric_column
from whereof.present.pages.address import address
from whereof.units import show

_METRICS = ("mrr", "hits@10", "rmse", "mae", "ndcg@10", "recall@10")
_MOST = 2
"""Metrics that tell a run from others, and how many of them a card shows."""


def runs_page(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The runs by id, each with what `Run.info` returns."""
    listed = [
        {
            "id": key,
            "ask": address(key, "ask"),
            "about": address(key, "about"),
            "quality": _quality(about.get("metrics", {})),
            "date": about.get("created", "")[:10],
            **about,
        }
        for key, about in runs.items()
    ]
    return render("runs", "Whereof", Site(), runs=listed)


def _quality(metrics: Mapping[str, Any]) -> str:
    """The first metrics of a run, on its test set if it has one."""
    split = next((each for each in ("test", "valid") if metrics.get(each)), "")
    found = metrics.get(split, {})
    columns = [metric_column(name) for name in _METRICS if name in found]
    shown = [f"{it.title} {show(found[it.name], it.unit)}" for it in columns]
    where = {"test": "the test set", "valid": "the validation set"}.get(split)
    return f"{', '.join(shown[:_MOST])} on {where}" if shown else ""
