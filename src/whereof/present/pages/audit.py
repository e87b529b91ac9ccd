"""The page Audit: what an audit found, and how to start one."""

from collections.abc import Iterable

from whereof.evaluate.audit import Audit
from whereof.present.audit import audit_tables, audit_words, methods_of
from whereof.present.html import Part, Site, page, render
from whereof.present.pages.address import address, api_address
from whereof.present.pages.jobs import JobView
from whereof.units import seconds

_WHAT = (
    "An audit lists training facts that look wrong, facts that are most responsible for wrong "
    "answers, the influence of relations, entities and sources, and facts that repeat or "
    "contradict each other."
)
_LISTED = 25
"""Rows of a table that are shown."""


def audit_page(site: Site, audit: Audit) -> str:
    """What an audit found."""
    took = f"In {seconds(audit.seconds)}; {methods_of(audit)}."
    parts: list[Part] = [
        ("sentence", " ".join(audit_words(audit)), "" if audit.verified else "estimate"),
        *(("titled", table, table.name) for table in audit_tables(audit, most=_LISTED)),
        ("paragraphs", [*audit.notes, took], "quiet"),
        ("links", [*_links(site, verified=bool(audit.verified))]),
    ]
    return page(parts, title="Audit", heading="Audit", site=site)


def start_page(site: Site) -> str:
    """The page before the first audit."""
    parts: list[Part] = [
        ("paragraphs", [_WHAT], "lead"),
        ("links", [*_links(site, verified=False)]),
    ]
    return page(parts, title="Audit", heading="Audit", site=site)


def waiting_page(site: Site, job: JobView | None, method: str, *, verify: bool) -> str:
    """The page while an audit is under way: a script starts it, and follows it."""
    task = {"kind": "audit", "method": method, "verify": verify}
    own = address(site.run, "audit")
    view = {"jobs": api_address(site.run, "jobs"), "task": task, "page": own}
    return render("audit", "Audit", site, ["audit.js"], view=view, job=job)


def _links(site: Site, *, verified: bool) -> Iterable[tuple[str, str]]:
    """Names and addresses of what to do next."""
    yield "Start an audit", address(site.run, "audit", start="estimate")
    if not verified:
        yield "Start one that checks by retraining", address(site.run, "audit", start="verify")
