"""Jobs: what is under way, and what retraining found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from whereof.present import names
from whereof.present.html import Site, render
from whereof.present.names import Words, query_text
from whereof.present.pages.address import WhyAddress, address
from whereof.present.smallest import smallest_words
from whereof.present.verdict import claim_words, verdict_words
from whereof.retrain.smallest import Smallest
from whereof.retrain.verify import Verdict
from whereof.units import ordinal, show, typographic

_TITLES = {
    "explain": "Explanation",
    "verify": "Check by retraining",
    "smallest": "Smallest set",
    "evaluate": "Evaluation",
    "audit": "Audit",
}
_MOST_LISTED = 20
"""Removed facts that a result names."""


def job_downloads(job: str) -> list[tuple[str, str]]:
    """Names and addresses of the files with the result of a job."""
    result = f"/api/jobs/{quote(job, safe='')}/result?format="
    return [(name, f"{result}{name.lower()}") for name in ("JSON", "CSV", "HTML")]


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
    labels: Mapping[str, str | None] = field(default_factory=dict)
    """The labels of its prediction, by place."""
    mine: bool = True
    """Whether the reader started it."""

    @property
    def downloads(self) -> list[tuple[str, str]]:
        return job_downloads(self.id)

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "running")

    @property
    def title(self) -> str:
        method = self.options.get("method") if self.kind == "explain" else None
        return _TITLES.get(self.kind, self.kind) + (f" by {method}" if method else "")

    @property
    def took(self) -> str:
        return "" if self.seconds is None else show(self.seconds, "seconds")

    @property
    def about(self) -> str:
        """What it is about: the labels of its prediction."""
        found = getattr(self.result, "prediction", None)
        if found is not None:
            return query_text(vars(found), found.labels)
        return query_text(self.options, self.labels)

    @property
    def run_page(self) -> str:
        """The address of the first page of its run."""
        return address(self.run, "ask")

    @property
    def page(self) -> str:
        """The address of the page that shows it."""
        if self.kind == "evaluate":
            return address(self.run, "about")
        if self.kind == "audit":
            return address(self.run, "audit", job=self.id)
        fields = ("subject", "relation", "object", "asks", "method", "of", "top")
        given = {name: self.options[name] for name in fields if name in self.options}
        removed = tuple(getattr(self.result, "removed", self.options.get("facts", ())))
        why = WhyAddress(**given, without=removed)
        if self.kind == "explain":
            why = replace(why, opposing=str(self.options.get("opposing", False)).lower())
            return address(self.run, "why", **why.query())
        if self.kind == "smallest":
            why = replace(why, method=getattr(self.result, "method", ""))
        return address(self.run, "why", **why.query(job=self.id, result=self.kind))

    @property
    def found(self) -> "RetrainedResult | None":
        """What retraining found, if this job retrained without some facts and is done."""
        if isinstance(self.result, Verdict | Smallest):
            return RetrainedResult(self.result, self.run)
        return None


@dataclass(frozen=True)
class RetrainedResult:
    """Estimated against retrained, in words and as a table."""

    result: Verdict | Smallest
    run: str
    """The id of the run."""

    @property
    def words(self) -> Words:
        facts = self.result.facts
        rated = names.is_rated(self.result.before) or any(fact.rating is not None for fact in facts)
        return Words.of(two_way=self.result.prediction.relation is None, rated=rated)

    @property
    def claim(self) -> str | None:
        """confirmed, partly confirmed, refuted, found or not found; None without an estimate."""
        if isinstance(self.result, Verdict):
            return self.result.claim
        return "found" if self.result.found else "not found"

    @property
    def reason(self) -> str:
        """What retraining confirmed of the estimate, as a sentence."""
        why = claim_words(self.result) if isinstance(self.result, Verdict) else ""
        why = why.partition(": ")[2]
        return f"{why[0].upper()}{why[1:]}." if why else ""

    @property
    def sentence(self) -> str:
        words = verdict_words if isinstance(self.result, Verdict) else smallest_words
        return words(self.result)  # type: ignore[arg-type]

    @property
    def these(self) -> str:
        """Words for the removed facts."""
        return names.these_facts(len(self.result.removed), self.words.fact)

    @property
    def named(self) -> str:
        """Words for the removed facts; a single one by its name."""
        return names.removed_text(self.result.facts, self.result.prediction)

    @property
    def lead(self) -> str:
        """What the retrained model says; `Without these 3 facts` comes before it."""
        prediction, before, actual = self.result.prediction, self.result.before, self.result.actual
        place, words = prediction.asks, self.words
        own = names.name_of(prediction, place)
        answer = words.label(own, names.label_of(prediction, place), place)
        recommends = words.two_way and place == "object"
        says, first = ("recommends", " first") if recommends else ("says", "")
        if own in (before.top_answer, actual.top_answer) and before.top_answer != actual.top_answer:
            top, old = (words.label(it.top_answer, it.top_label, place) for it in (actual, before))
            return f"the model {says} {top}{first}, not {old}."
        values = f"{names.amount_text(actual)} instead of {names.amount_text(before)}"
        values = f"a rating of {values}" if names.is_rated(before) else values
        if own == actual.top_answer:
            return f"the model still {says} {answer}{first}, with {values}."
        return f"the model gives {answer} {values}."

    @property
    def facts(self) -> Iterator[dict[str, Any]]:
        """The removed facts: their parts with addresses, and the rating."""
        words, own = self.words, names.name_of(self.result.prediction, "subject")
        for fact in self.result.facts[:_MOST_LISTED]:
            parts = [
                (place, label, address(self.run, "entity", name=name, place=place))
                for place, label, name in words.parts(fact)
            ]
            mine = words.two_way and names.name_of(fact, "subject") == own
            yield {"parts": parts[-1:] if mine else parts, "mine": mine, "rating": fact.rating}

    @property
    def n_more(self) -> int:
        """The number of removed facts that `facts` leaves out."""
        return max(len(self.result.facts) - _MOST_LISTED, 0)

    @property
    def noun(self) -> str:
        """What the model predicts: probability or rating."""
        return names.output_noun(self.result.before)

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """Before, estimated and actual: texts, and the share of the largest probability."""
        result, fact = self.result, self.words.fact
        every = [
            ("before", f"retrained with all {fact}s", result.before, ""),
            ("estimated", "without retraining", result.predicted, "guess"),
            ("actual", f"retrained without {self.these}", result.actual, "supports"),
        ]
        known = [(name, about, each, tone) for name, about, each, tone in every if each is not None]
        most = max(each.value for _, _, each, _ in known)
        for name, about, each, tone in known:
            yield {
                "name": name,
                "about": about,
                "value": typographic(names.amount_text(each)),
                "share": None if names.is_rated(each) or not most else each.value / most,
                "tone": tone,
                "rank": self._rank(each.rank) if each.rank else "",
                "top": each.top_label,
                "changes": each.top_answer not in ("", result.before.top_answer),
            }

    def _rank(self, rank: int) -> str:
        """The rank; for a known answer, which has none, where it would be."""
        return f"{rank:,}" if self.result.prediction.is_new else f"would be {ordinal(rank)}"

    @property
    def answers(self) -> Iterator[dict[str, Any]]:
        """The top answers before and after retraining: texts, and shares of the largest value."""
        result, place = self.result, self.result.prediction.asks
        own, unit = names.name_of(result.prediction, place), names.output_unit(result.before)
        found, is_new = result.top_answers, result.prediction.is_new
        most = max((value for each in found for value in (each.before, each.actual)), default=0.0)
        for each in found:
            is_ranked = is_new or each.entity != own
            yield {
                "label": self.words.label(each.entity, each.label, place),
                "own": each.entity == own,
                "moved": is_ranked and each.rank_actual != each.rank_before,
                "cells": [
                    (
                        typographic(show(value, unit)),
                        None if unit == "rating" or not most else value / most,
                        f"{rank:,}." if is_ranked else "known",
                        tone,
                    )
                    for value, rank, tone in (
                        (each.before, each.rank_before, ""),
                        (each.actual, each.rank_actual, "supports"),
                    )
                ],
            }

    @property
    def effort(self) -> str:
        return names.effort_text(self.result)


def jobs_page(site: Site, jobs: Sequence[JobView]) -> str:
    """All jobs of the server, those of the reader first."""
    mine = sorted(jobs, key=lambda job: not job.mine)
    return render("jobs", "Jobs", site, ["jobs.js"], jobs=mine)
