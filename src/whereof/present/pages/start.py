"""Jobs that a page offers to start, and the one that is under way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whereof.present.html import Part, Site
from whereof.present.pages.address import address, api_address
from whereof.present.pages.jobs import JobView
from whereof.present.pages.price import Price


@dataclass(frozen=True)
class Offer:
    """A job that a click starts."""

    title: str
    about: str
    task: dict[str, Any]
    price: Price


def starts(site: Site, page: str, offers: Sequence[Offer], job: JobView | None = None) -> Part:
    """Buttons for the offers, or the job that is under way; its result is on the page then."""
    view = {"jobs": api_address(site.run, "jobs"), "page": address(site.run, page), "job": job}
    return "starts", offers, view
