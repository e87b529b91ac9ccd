"""A server with four runs, and a browser that notes every problem of a page."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra web")
pytest.importorskip("playwright", reason="the tests of pages need playwright")

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect
from trained import train_ratings

import whereof
from browser import chromium, served

WAIT_MS = 120_000
"""Kernels may have to be compiled before an answer comes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium.browser() as found:
        if found is None:
            pytest.skip(chromium.MISSING)
        yield found


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Nations, a copy in which no test measures reliability, one in which one does, and ratings.

    The one in which reliability is measured has a label.
    """
    folder = tmp_path_factory.mktemp("runs")
    whereof.train("nations", out=folder / "nations")
    for name in ("copy", "measured"):
        shutil.copytree(folder / "nations", folder / name)
    whereof.Run.open(folder / "measured").add_labels({"uk": "Great Britain"})
    train_ratings(folder, epochs=30)
    (folder / "run").rename(folder / "ratings")
    return [folder / name for name in ("nations", "copy", "measured", "ratings")]


@pytest.fixture(scope="package")
def address(browser: Browser, runs: list[Path]) -> Iterator[str]:
    """The server; without a browser none is started."""
    with served.serving(*runs) as found:
        yield found


@pytest.fixture
def problems() -> list[str]:
    """What the console of the page says; a test that expects some clears it."""
    return []


@pytest.fixture
def context(browser: Browser, address: str) -> Iterator[BrowserContext]:
    expect.set_options(timeout=WAIT_MS)
    context = browser.new_context(base_url=address, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(WAIT_MS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, problems: list[str]) -> Iterator[Page]:
    """A page without errors: not in its scripts, and none of the content-security-policy."""

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"{message.text} ({message.location.get('url')})")

    page = context.new_page()
    page.on("console", note)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    assert problems == []


@pytest.fixture
def why(page: Page) -> Callable[..., Page]:
    """Open Why for one prediction of Nations; its graph is drawn then."""

    def open_why(more: str = "&method=rollback", run: str = "nations") -> Page:
        page.goto(f"/runs/{run}/why?subject=india&relation=students&object=usa{more}")
        page.wait_for_selector("#graph canvas")
        return page

    return open_why
