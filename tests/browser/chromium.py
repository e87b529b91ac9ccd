"""The browser that tests and screenshots use: one of the system, or Playwright's own.

`python tests/browser/chromium.py` installs one if there is none.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "no browser: there is no command chromium or google-chrome, and Playwright has none; install "
    "the package chromium, or run `playwright install chromium`"
)
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
APT = ["apt-get", "-qq", "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20"]
INSTALL = [
    [*APT, "update"],
    [*APT, "install", "-y", "--no-install-recommends", "chromium"],
    [sys.executable, "-m", "playwright", "install", *["--with-deps"] * ROOT, "chromium"],
]
QUIET = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
MOST_SECONDS = 300
"""For one command that installs."""


def find(playwright: Playwright) -> str | None:
    """The program to start, if there is one."""
    for path in filter(None, map(shutil.which, NAMES)):
        # Ubuntu's may be a script that only says where to get it.
        if subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    own = playwright.chromium.executable_path
    return own if Path(own).exists() else None


@contextmanager
def browser() -> Iterator[Browser | None]:
    """A browser without a window; None if no browser is installed."""
    with sync_playwright() as playwright:
        program = find(playwright)
        if program is None:
            yield None
            return
        options = ["--no-sandbox", "--disable-dev-shm-usage"] if ROOT else []
        chromium = playwright.chromium.launch(executable_path=program, args=options)
        yield chromium
        chromium.close()


def install() -> str:
    """Install a browser if there is none; its program, or why there is none."""
    with sync_playwright() as playwright:
        for command in INSTALL:
            if found := find(playwright):
                return found
            if command[0] != APT[0] or (ROOT and shutil.which(APT[0])):
                with suppress(subprocess.TimeoutExpired):
                    subprocess.run(command, env=QUIET, capture_output=True, timeout=MOST_SECONDS)
        return find(playwright) or f"{MISSING}. The tests of pages are skipped."


if __name__ == "__main__":
    sys.stdout.write(install() + "\n")
