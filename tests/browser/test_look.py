"""Every page: accessible, in light and dark, and as wide as the screen."""

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

PREDICTION = "subject=india&relation=students&object=usa"
PAGES = {
    "runs": "/",
    "ask": "/runs/nations/ask",
    "answers": "/runs/nations/ask?subject=india&relation=students",
    "why": f"/runs/nations/why?{PREDICTION}&method=rollback&without=1",
    "why of ratings": "/runs/ratings/why?subject=u1&object=m3&method=rollback",
    "entity": "/runs/nations/entity?name=usa",
    "run": "/runs/nations/about",
    "run of ratings": "/runs/ratings/about",
    "compare": "/compare?a=run%3Dnations%26subject%3Dindia%26relation%3Dstudents%26object%3Dusa"
    "%26method%3Drollback&b=run%3Dcopy%26subject%3Dindia%26relation%3Dstudents%26object%3Dusa"
    "%26method%3Drollback",
    "jobs": "/jobs",
    "audit": "/runs/nations/audit",
    "audit of ratings": "/runs/ratings/audit",
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_at_every_width_and_in_light_and_dark(page: Page, name: str) -> None:
    page.goto(PAGES[name])
    if "why" in name:
        page.wait_for_selector("#graph canvas")
    if name in ("ask", "answers"):
        page.wait_for_selector("#list li")
    grounds = set()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            found = Axe().run(page).response["violations"]
            bad = [each for each in found if each["impact"] in ("serious", "critical")]
            assert [(each["id"], each["nodes"][0]["html"]) for each in bad] == []
    assert len(grounds) == 2
