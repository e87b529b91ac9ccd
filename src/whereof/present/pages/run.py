"""A run: its figures, curves, metrics and evaluations."""

from collections.abc import Sequence

from whereof.evaluate.evaluation import Evaluation
from whereof.present.html import Part, Site, page
from whereof.present.pages.address import api_address
from whereof.present.pages.jobs import JobView
from whereof.present.pages.price import (
    EVALUATE,
    MEASURE,
    RETRAININGS,
    Prices,
    evaluation_retrainings,
)
from whereof.present.pages.start import Offer, starts
from whereof.present.report import run_parts, run_title
from whereof.run.folder import RunInfo


def run_page(
    site: Site, info: RunInfo, evaluations: Sequence[Evaluation], notes: Sequence[str], offer: Part
) -> str:
    """What a report has, without examples: the pages Ask and Why have those.

    offer: what can be measured here.
    """
    title, (summary, *parts) = (
        run_title(info),
        run_parts(info, evaluations, notes=notes, offered=True),
    )
    files = [
        ("JSON", api_address(site.run, "").rstrip("/")),
        ("HTML", api_address(site.run, "report")),
    ]
    parts = [summary, offer, *parts, ("downloads", files)]
    return page(parts, title=f"{title} · run", heading=title, site=site, scripts=["start.js"])


def run_offer(
    site: Site, info: RunInfo, default_method: str, prices: Prices, job: JobView | None
) -> Part:
    """Buttons that measure reliability and evaluate. job: an evaluation that is under way."""
    n_evaluation = evaluation_retrainings(default_method, info.n_facts)
    measure = Offer(
        "Measure reliability",
        "Retrains without single facts, to measure how far you can trust estimates.",
        MEASURE,
        prices.of(RETRAININGS["measure"], up_to=True, follows=True),
    )
    evaluate = Offer(
        "Evaluate",
        "Retrains without the strongest facts of 20 predictions, and without random facts.",
        EVALUATE,
        prices.of(n_evaluation, up_to=True, follows=True),
    )
    offers = [evaluate] if info.reliability.is_measured else [measure, evaluate]
    possible = info.n_test and not info.trained_elsewhere
    return starts(site, "about", offers if possible else [], job)
