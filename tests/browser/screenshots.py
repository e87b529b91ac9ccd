"""Screenshots for the docs: `make screenshots`, or `python tests/browser/screenshots.py NAME ...`.

They show runs on Nations and MovieLens 100k, trained in a temporary folder. With --runs FOLDER they
show its runs `nations` and `movielens`. With --look FOLDER, every page is drawn whole there, light,
dark and as on a phone: look at each of them after a change of the pages.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Literal
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page

import whereof

sys.path.append(str(Path(__file__).resolve().parents[1]))

from browser import chromium, served

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
WHY = "/runs/nations/why?subject=india&relation=students&object=usa&method=unrolled"
UNSTABLE = "/runs/nations/why?subject=burma&relation=treaties&object=usa&method=unrolled"
RATED = "/runs/movielens/why?subject=65&object=496&method=rollback"
WAIT_MS = 180_000
Scheme = Literal["light", "dark"]


def open_why(page: Page, address: str = WHY) -> None:
    page.goto(address)
    page.wait_for_selector("#graph canvas")
    for _ in range(2):  # until it is drawn
        page.evaluate("new Promise(requestAnimationFrame)")


def show(page: Page, selector: str) -> None:
    """Scroll an element to the top of the picture."""
    page.mouse.move(0, 0)
    page.locator(selector).evaluate("each => each.scrollIntoView({ block: 'start' })")
    page.evaluate("new Promise(requestAnimationFrame)")


def ask(page: Page) -> None:
    page.goto("/runs/nations/ask?subject=india&relation=students")
    page.wait_for_selector("#list li")


def check(page: Page) -> None:
    open_why(page)
    boxes = page.locator("table.facts input[type=checkbox]")
    for place in range(5):
        boxes.nth(place).uncheck()
    page.wait_for_selector("#whatif .estimate")
    page.get_by_role("button", name="Check by retraining").click()
    page.wait_for_selector("#result .verdict")
    show(page, "#result")


def smallest(page: Page) -> None:
    open_why(page, UNSTABLE)
    page.get_by_role("button", name="Find the smallest set").click()
    page.wait_for_selector("#result .verdict")
    page.wait_for_selector("#whatif .says > *")
    page.wait_for_selector("#graph canvas")
    show(page, "#result")


def completion(page: Page) -> None:
    page.goto("/runs/movielens/ask")
    page.get_by_label("Find users").check()
    page.locator("#object").press_sequentially("star")
    page.wait_for_selector("#object-names li")


def rated(page: Page) -> None:
    open_why(page, RATED)


def about(page: Page) -> None:
    page.goto("/runs/nations/about")


def compare(page: Page) -> None:
    view = "run=nations&relation=students&method=unrolled"
    sides = (f"{view}&subject=india&object=usa", f"{view}&subject=india&object=netherlands")
    page.goto(f"/compare?{urlencode(dict(zip('ab', sides, strict=True)))}")


def audit(page: Page) -> None:
    page.goto("/runs/nations/audit")
    if not page.get_by_role("heading", name="Suspicious facts").count():
        page.get_by_role("button", name="Start an audit").first.click()
        page.wait_for_selector("#suspicious")


def jobs(page: Page) -> None:
    page.goto("/jobs")


def card(page: Page) -> None:
    page.goto("/runs/nations/entity?name=israel")


SHOTS: dict[str, tuple[Callable[[Page], None], tuple[int, int], Scheme]] = {
    "ask": (ask, (1280, 800), "light"),
    "completion": (completion, (1280, 560), "light"),
    "why": (open_why, (1280, 900), "light"),
    "check": (check, (1280, 860), "light"),
    "smallest": (smallest, (1280, 860), "light"),
    "ratings": (rated, (1280, 1200), "light"),
    "run": (about, (1280, 700), "light"),
    "compare": (compare, (1280, 900), "light"),
    "audit": (audit, (1280, 900), "light"),
    "card": (card, (1280, 900), "light"),
    "jobs": (jobs, (1280, 700), "light"),
    "dark": (open_why, (1280, 900), "dark"),
    "phone": (check, (390, 844), "light"),
}


def take(browser: Browser, address: str, name: str) -> None:
    act, (width, height), scheme = SHOTS[name]
    page = browser.new_page(
        base_url=address, viewport={"width": width, "height": height}, color_scheme=scheme
    )
    page.set_default_timeout(WAIT_MS)
    act(page)
    shot = Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    # 128 colours are enough for text and lines, and make a third of the size.
    shot.quantize(128, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)
    page.close()


LOOKS: dict[str, tuple[int, Scheme]] = {
    "light": (1280, "light"),
    "dark": (1280, "dark"),
    "phone": (390, "light"),
}


def take_all(browser: Browser, address: str, folder: Path) -> None:
    """Every page, whole, in every look."""
    folder.mkdir(parents=True, exist_ok=True)
    acts = {name: act for name, (act, _, _) in SHOTS.items() if name not in ("dark", "phone")}
    for name, act in acts.items():
        for look, (width, scheme) in LOOKS.items():
            page = browser.new_page(
                base_url=address, viewport={"width": width, "height": 844}, color_scheme=scheme
            )
            page.set_default_timeout(WAIT_MS)
            act(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, look)
            file = folder / f"{name}-{look}.png"
            page.screenshot(path=file, full_page=True, animations="disabled")
            page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*SHOTS], metavar="NAME")
    parser.add_argument("--runs", type=Path, metavar="FOLDER")
    parser.add_argument("--look", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    look = options.look and options.look.absolute()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium.browser() as browser:
        if browser is None:
            sys.exit(chromium.MISSING)
        runs = options.runs or Path(folder)
        if options.runs is None:
            whereof.train("nations", out=runs / "nations").evaluate(protocols=["steadiness"])
            whereof.train("movielens-100k", out=runs / "movielens")
        for names in (
            ("india", "students", "usa"),
            ("india", "students", "netherlands"),
            ("burma", "treaties", "usa"),
        ):  # stored in the run
            whereof.Run.open(runs / "nations").explain(*names, method="unrolled")
        os.chdir(runs)  # pages show the path of a run
        with served.serving(Path("nations"), Path("movielens")) as address:
            if look:
                take_all(browser, address, look)
                return
            for name in options.names:
                take(browser, address, name)


if __name__ == "__main__":
    main()
