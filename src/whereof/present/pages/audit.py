"""The page Audit: what an audit found, and how to start one."""

from whereof.evaluate.audit import Audit
from whereof.evaluate.dropped import AuditedGroup
from whereof.explain.explanation import NamedFact
from whereof.explain.method import get_method
from whereof.present.audit import audit_parts
from whereof.present.html import Part, Site, page
from whereof.present.pages.address import address
from whereof.present.pages.jobs import JobView, job_downloads
from whereof.present.pages.price import Prices
from whereof.present.pages.start import Offer, starts
from whereof.types import PLACES

_WHAT = (
    "An audit lists training facts that look wrong, facts that are most responsible for wrong "
    "answers, the influence of relations, entities and sources, and facts that repeat or "
    "contradict each other."
)
_GONE = (
    "The server no longer has the audit of this address. Start it again; the run stores finished "
    "retrainings."
)
_RUNNING = "The audit is running. This page shows the result when it is done."


def audit_page(site: Site, audit: Audit, job: str, offer: Part) -> str:
    """What an audit found; job: its id."""

    def link(item: NamedFact | AuditedGroup) -> str:
        """The page of what a row is about; empty if there is none."""
        if isinstance(item, NamedFact):
            query = {place: getattr(item, place) for place in PLACES[3]}
            return address(site.run, "why", **query)
        place = {"place": item.place} if item.place else {}
        return address(site.run, "entity", name=item.name, **place) if item.kind == "entity" else ""

    parts: list[Part] = [
        *audit_parts(audit, link=link),
        ("heading", "Start another"),
        offer,
        ("downloads", job_downloads(job)),
    ]
    return page(parts, title="Audit", heading="Audit", site=site, scripts=["start.js"])


def start_page(site: Site, offer: Part, *, gone: bool = False, running: bool = False) -> str:
    """The page before the first audit, while one is under way, or in place of a lost one."""
    parts: list[Part] = [
        ("paragraphs", [_RUNNING if running else _WHAT], "lead"),
        ("paragraphs", [_GONE] if gone else [], "notice"),
        offer,
    ]
    return page(parts, title="Audit", heading="Audit", site=site, scripts=["start.js"])


def audit_offer(
    site: Site, method: str, costs: tuple[float, float], prices: Prices, job: JobView | None
) -> Part:
    """The two ways to audit. costs: of both, in trainings. job: an audit that is under way."""
    follows, task = "sweep" in get_method(method).can, {"kind": "audit", "method": method}
    estimate, check = (prices.of(cost, follows=follows) for cost in costs)
    checked = "It also retrains without the facts and groups that it lists."
    offers = [
        Offer("Start an audit", "Influences are estimates.", task, estimate),
        Offer("Start an audit with a check", checked, task | {"verify": True}, check),
    ]
    return starts(site, "audit", offers, job)
