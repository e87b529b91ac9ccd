"""Speed of the pages in a real browser: completion, click to drawn explanation, estimate, check.

    python benchmarks/pages.py RUN [--number 20] [--check]

Times are those of a reader: from the key or the click until the browser has drawn the result. The
server is warm, and shares this machine with the browser. With --check, the three strongest facts
are removed and the model is retrained without them, for a quarter of the predictions.
"""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import Page

import whereof

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from browser import chromium, served

# Notes when a key or a click came, and when what a selector names was drawn after it.
WATCH = """
const now = () => performance.timeOrigin + performance.now();
for (const kind of ["keydown", "click"]) {
  addEventListener(kind, () => sessionStorage.setItem("began", now()), { capture: true });
}
window.drawn = (selector) => new Promise((resolve) => {
  const look = () => {
    if (!document.querySelector(selector)) return requestAnimationFrame(look);
    const painted = new MessageChannel(); // its message comes after this frame
    painted.port1.onmessage = () => resolve(now() - Number(sessionStorage.getItem("began")));
    painted.port2.postMessage(null);
  };
  look();
});
"""
LIST, GRAPH = "[role=listbox]:not([hidden]) li", "#graph svg, #graph canvas"
ESTIMATE, VERDICT = "#whatif .says .estimate", "#result .verdict"


def measure(page: Page, action: Callable[[], Any], selector: str) -> float:
    """Milliseconds from the key or click of an action until a selector was drawn.

    The page looks for it in every frame: asking from here would add the way to the browser.
    """
    page.evaluate("selector => { window.took = drawn(selector); }", selector)
    action()
    return float(page.evaluate("window.took"))


def drawn_page(page: Page, action: Callable[[], Any], selector: str) -> float:
    """The same for a click that opens a page: the time is noted in the page that opens."""
    page.evaluate("selector => sessionStorage.setItem('awaits', selector)", selector)
    with page.expect_navigation():
        action()
    return float(page.evaluate("window.took"))


NAMES = """performance.getEntriesByType("resource").filter((each) => each.name.includes("/names?"))
  .at(-1).duration"""
OPENED = """
const awaited = sessionStorage.getItem("awaits");
sessionStorage.removeItem("awaits");
if (awaited) window.took = window.drawn(awaited);
"""


def read(page: Page, run: whereof.Run, name: str, row: list[int], check: bool) -> dict[str, float]:
    """What one reader waits for at one prediction."""
    data, found = run.dataset, dict[str, float]()
    question = {"subject": data.entities.name(row[0]), "top": "1000"}
    if not data.two_way:
        question["relation"] = data.relations.name(row[1])
    page.goto(f"/runs/{name}/ask")
    label = data.entities.label(row[0])
    key = page.locator("#subject")
    found["completion"] = measure(page, lambda: key.press(label[0]), LIST)
    found["of it, the server"] = float(page.evaluate(NAMES))
    page.goto(f"/runs/{name}/ask?{urlencode(question)}")
    answers = page.locator("table.answers a")
    found["explanation"] = drawn_page(page, lambda: answers.first.click(), GRAPH)
    if page.locator("#closer[data-title*=closer]").count():
        found["closer estimate, by itself"] = measure(page, lambda: None, "#closer p.quiet")
    boxes = page.locator("table.facts input[type=checkbox]")
    found["estimate"] = measure(page, lambda: boxes.first.click(), ESTIMATE)
    if check:
        for place in (1, 2):
            boxes.nth(place).uncheck()
        button = page.get_by_role("button", name="Check by retraining")
        found["check by retraining"] = measure(page, button.click, VERDICT)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    run, times = whereof.Run.open(options.run), defaultdict[str, list[float]](list)
    rows = random.Random(0).sample(run.dataset.test.tolist(), options.number + 1)
    with served.serving(options.run) as address, chromium.browser() as browser:
        if browser is None:
            sys.exit(chromium.MISSING)
        page = browser.new_page(base_url=address, viewport={"width": 1280, "height": 900})
        page.add_init_script(WATCH + OPENED)
        page.goto("/")
        name = page.url.split("/")[-2]
        for number, row in enumerate(rows):
            found = read(page, run, name, row, options.check and number % 4 == 0)
            for kind, milliseconds in found.items() if number else ():  # the first one warms up
                times[kind].append(milliseconds)
    print("| from key or click to drawn | number | median | slowest |\n|---|--:|--:|--:|")
    for kind, found_times in times.items():
        half, most = np.percentile(found_times, [50, 100])
        print(f"| {kind} | {len(found_times)} | {half:.0f} ms | {most:.0f} ms |")


if __name__ == "__main__":
    main()
