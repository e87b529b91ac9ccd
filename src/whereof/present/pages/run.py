"""A run: its figures, curves, metrics and evaluations."""

from collections.abc import Sequence

from whereof.evaluate.evaluation import Evaluation
from whereof.present.html import Site, page
from whereof.present.report import run_parts, run_title
from whereof.run.folder import RunInfo


def run_page(
    site: Site, info: RunInfo, evaluations: Sequence[Evaluation], notes: Sequence[str]
) -> str:
    """What a report has, without examples: the pages Ask and Why have those."""
    title, parts = run_title(info), run_parts(info, evaluations, notes=notes)
    return page(parts, title=f"{title} · run", heading=title, site=site)
