"""Jobs: what is under way, and what retraining found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whereof.present import names
from whereof.present.html import Site, render
from whereof.present.pages.words import address
from whereof.present.smallest import smallest_words
from whereof.present.verdict import verdict_words
from whereof.retrain.smallest import Smallest
from whereof.retrain.verify import Verdict
from whereof.table import Table
from whereof.units import show

_TITLES = {
    "explain": "Explanation",
    "verify": "Check by retraining",
    "smallest": "Smallest set",
    "evaluate": "Evaluation",
}


@dataclass(frozen=True)
class JobView:
    """A job as pages show it."""

    id: str
    run: str
    kind: str
    state: str
    """waiting, running, done, failed or cancelled."""
    options: Mapping[str, Any]
    text: str = ""
    """How far it is, or why it failed."""
    share: float | None = None
    seconds: float | None = None
    result: Any = None

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "running")

    @property
    def title(self) -> str:
        return _TITLES.get(self.kind, self.kind)

    @property
    def took(self) -> str:
        return "" if self.seconds is None else show(self.seconds, "seconds")

    @property
    def about(self) -> str:
        """What it is about: the names of its prediction."""
        asked = self.options
        parts = (str(asked.get(place) or "") for place in ("subject", "relation", "object"))
        return " ".join(filter(None, parts))

    @property
    def page(self) -> str:
        """The address of the page that shows it."""
        if self.kind == "evaluate":
            return address(self.run, "about")
        places = ("subject", "relation", "object", "method", "asks", "of", "top")
        query = {name: self.options.get(name, "") for name in places}
        query["opposing"] = str(self.options.get("opposing", "")).lower()
        query["asks"] = "" if query["asks"] == "object" else query["asks"]
        if self.kind == "smallest":
            query["method"] = ""
        removed = getattr(self.result, "removed", self.options.get("facts", ()))
        without = ",".join(map(str, removed))
        return address(self.run, "why", **query, without=without, job=self.id)

    @property
    def found(self) -> "RetrainedResult | None":
        """What retraining found, if this job retrained without some facts and is done."""
        if isinstance(self.result, Verdict | Smallest):
            return RetrainedResult.of(self.result)
        return None


@dataclass(frozen=True)
class RetrainedResult:
    """Estimated against retrained, in words and as a table."""

    claim: str | None
    """confirmed, partly confirmed, refuted, found or not found; None if there was no estimate."""
    sentence: str
    table: Table
    removed: Sequence[int]
    effort: str
    notes: Sequence[str]

    @classmethod
    def of(cls, result: Verdict | Smallest) -> "RetrainedResult":
        if isinstance(result, Verdict):
            claim, sentence = result.claim, verdict_words(result)
        else:
            claim, sentence = "found" if result.found else "not found", smallest_words(result)
        table = names.removal_table(
            len(result.removed), result.before, result.predicted, result.actual
        )
        effort = names.effort_text(result)
        return cls(claim, sentence, table, result.removed, effort, result.notes)


def jobs_page(site: Site, jobs: Sequence[JobView]) -> str:
    """All jobs of the server."""
    return render("jobs", "Jobs", site, ["jobs.js"], jobs=jobs)
