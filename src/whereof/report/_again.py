"""How to run it all again, and with which versions it was made."""

import platform
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version

from whereof.evaluate.evaluation import Evaluation
from whereof.report._parts import Document, Section, commands, items
from whereof.training.config import TrainConfig
from whereof.training.defaults import CHOSEN

_PACKAGES = ("whereof", "numpy", "numba")


def again(info: Document, evaluations: Sequence[Evaluation], made: str) -> Section:
    """The commands that lead to this page, versions and the date."""
    run = shlex.quote(str(info.get("run") or "RUN"))
    lines = [*_train(info, run), *(_evaluate(each, run) for each in evaluations)]
    if not evaluations:
        traced = info["config"].get("trace", True)
        others = "" if traced else " --methods gradient-dot,random --k 1,10"
        lines.append(f"whereof evaluate {run}{others}")
    lines.append(f"whereof report {run}")
    parts = (commands(lines), items([("made", made), *_versions()]))
    return Section("Run it again", parts, "again")


def _train(info: Document, run: str) -> Iterator[str]:
    """The training with every setting that is no plain default, those chosen from the data too."""
    read = dict(info.get("read") or {})
    data = read.pop("data", None)
    if data is None:
        return
    given = {name: value for name, value in read.items() if name != "read_as"}
    plain = {item.name: item.default for item in fields(TrainConfig) if item.name not in CHOSEN}
    told = {
        name: value
        for name, value in info["config"].items()
        if name not in plain or value != plain[name]
    }
    flags = [flag for pairs in (given, told) for flag in _flags(pairs)]
    yield " ".join(["whereof train", shlex.quote(str(data)), *flags, "-o", run])


def _flags(settings: Document) -> Iterator[str]:
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{flag}" if value else f"--no-{flag}"
        elif isinstance(value, list | tuple):
            yield f"--{flag} {shlex.quote(','.join(map(str, value)))}"
        elif isinstance(value, str | int | float):
            yield f"--{flag} {shlex.quote(str(value))}"


def _evaluate(evaluation: Evaluation, run: str) -> str:
    """With the options that it was asked with."""
    return " ".join(["whereof evaluate", run, *_flags(evaluation.options)])


def _versions() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            from whereof._version import __version__

            yield name, __version__ if name == "whereof" else "unknown"
    yield "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
