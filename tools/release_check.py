"""Check what `python -m build` made: contents, metadata, and a fresh installation.

make release-check PYTHONS="python3.11 python3.12" also says which interpreters to install for.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator
from email import message_from_string
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SDIST_HAS = (
    *("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "pyproject.toml"),
    *("Makefile", "PKG-INFO", "requirements/dev.txt", "docs/index.md", "tests/conftest.py"),
)
NOWHERE = re.compile(
    r"(^|/)(\.venv[^/]*|\.git|__pycache__|_build|dist|runs|\.[a-z_]+_cache|\.hypothesis)(/|$)"
    r"|\.(pyc|pyo|nbi|nbc|so)$"
)
SMOKE = """
import importlib.resources, pathlib, sys, whereof
assert importlib.resources.files("whereof").joinpath("py.typed").is_file()
assert pathlib.Path(whereof.__file__).is_relative_to(sys.prefix), whereof.__file__
run = whereof.train("nations", out="run", model="distmult", dim=4, epochs=1, search=False)
answer = run.predict("egypt", "embassy", top=1).answers[0]
found = run.explain("egypt", "embassy", answer.entity, method="rollback", top=3)
assert len(found.facts) == found.to_arrow().num_rows == 3
assert whereof.Run.open("run").explain("egypt", "embassy", answer.entity, method="rollback",
                                       top=3).facts == found.facts
print("trained, predicted and explained with Python", sys.version.split()[0])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with one wheel and one sdist")
    parser.add_argument("--python", nargs="*", default=[sys.executable], help="interpreters")
    arguments = parser.parse_args()
    (wheel,), (sdist,) = (
        sorted(arguments.folder.glob(each)) or [None] for each in ("*.whl", "*.tar.gz")
    )
    if wheel is None or sdist is None:
        sys.exit(f"{arguments.folder}: expected one wheel and one sdist; run: python -m build")
    faults = [*check_wheel(wheel), *check_sdist(sdist)]
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        sys.exit(f"{len(faults)} faults")
    print(f"{wheel.name} and {sdist.name}: contents and metadata are as expected")
    for python in arguments.python:
        check_installation(wheel, python)


def package_files() -> set[str]:
    """The files that git has of the package."""
    done = subprocess.run(
        ["git", "ls-files", "src/whereof"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.removeprefix("src/") for name in done.stdout.splitlines()}


def check_wheel(path: Path) -> Iterator[str]:
    """The package as git has it, a licence, an entry point and complete metadata; nothing else."""
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
        metadata = message_from_string(wheel.read(f"{info}/METADATA").decode())
        entry_points = wheel.read(f"{info}/entry_points.txt").decode()
    expected = package_files()
    ours = {f"{info}/{each}" for each in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    ours.add(f"{info}/licenses/LICENSE")
    yield from _differ("wheel", names, expected | ours)
    if "whereof = whereof.cli:main" not in entry_points:
        yield "wheel: the command whereof is missing from the entry points"
    yield from check_metadata(metadata)


def check_metadata(found: Message) -> Iterator[str]:
    """What an index shows, and what pip installs."""
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/whereof/_version.py").read_text())
    assert version is not None
    wanted = {
        "Name": PROJECT["name"],
        "Version": version[1],
        "Summary": PROJECT["description"],
        "License-Expression": PROJECT["license"],
        "Description-Content-Type": "text/markdown",
    }
    for name, value in wanted.items():
        if found[name] != value:
            yield f"metadata: {name} is {found[name]!r}, expected {value!r}"
    if {*found["Requires-Python"].split(",")} != {*PROJECT["requires-python"].split(",")}:
        yield f"metadata: Requires-Python is {found['Requires-Python']!r}"
    needed = [each for each in found.get_all("Requires-Dist", []) if "extra ==" not in each]
    yield from _differ("requirements", needed, PROJECT["dependencies"])
    extras = PROJECT["optional-dependencies"]
    yield from _differ("extras", found.get_all("Provides-Extra", []), extras)
    if "Typing :: Typed" not in found.get_all("Classifier", []):
        yield "metadata: the classifier Typing :: Typed is missing"


def check_sdist(path: Path) -> Iterator[str]:
    """The package and what is needed to test and document it; no outputs and no caches."""
    with tarfile.open(path) as archive:
        names = {each.name.partition("/")[2] for each in archive if each.isfile()}
    missing = ({*SDIST_HAS} | {f"src/{name}" for name in package_files()}) - names
    yield from (f"sdist: {name} is missing" for name in sorted(missing))
    yield from (
        f"sdist: {name} must not be there" for name in sorted(names) if NOWHERE.search(name)
    )


def _differ(where: str, found: Iterable[str], wanted: Iterable[str]) -> Iterator[str]:
    yield from (f"{where}: {name} is missing" for name in sorted({*wanted} - {*found}))
    yield from (f"{where}: {name} must not be there" for name in sorted({*found} - {*wanted}))


def check_installation(wheel: Path, python: str) -> None:
    """Install the wheel alone into a fresh environment, and use it outside of the clone."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "env"
        if python == sys.executable:
            venv.create(place, with_pip=True)
        else:
            subprocess.run([python, "-m", "venv", str(place)], check=True)
        scripts = place / ("Scripts" if sys.platform == "win32" else "bin")

        def run(program: str, *given: str) -> str:
            done = subprocess.run(
                [str(scripts / program), *given], cwd=folder, capture_output=True, text=True
            )
            if done.returncode:
                sys.exit(f"{python}: {program} {' '.join(given)[:80]} failed:\n{done.stderr}")
            return done.stdout.strip()

        quiet = ("-m", "pip", "--disable-pip-version-check")
        run("python", *quiet, "install", "--quiet", str(wheel.resolve()))
        run("python", *quiet, "check")
        optional = {
            re.split(r"[\[<>=]", each)[0]
            for name, packages in PROJECT["optional-dependencies"].items()
            if name not in ("dev", "docs", "bench")
            for each in packages
        }
        listed = run("python", *quiet, "list", "--format", "freeze").lower()
        installed = {line.partition("==")[0] for line in listed.splitlines()}
        if extra := optional & installed:
            sys.exit(f"{python}: installed without being asked for: {', '.join(sorted(extra))}")
        print(run("whereof", "--version"), "with", ", ".join(sorted(installed - {"whereof"})))
        print(run("python", "-c", SMOKE))


if __name__ == "__main__":
    main()
