"""Labels as their sources have them, made into lines of name, TAB, label."""

import json
from collections.abc import Iterable


def before_comma(content: bytes) -> bytes:
    """From lines of name, TAB, words, comma, description: the words alone."""
    cells = (line.partition("\t") for line in content.decode().splitlines())
    return _lines((name, text.partition(",")[0]) for name, _, text in cells)


def from_json(content: bytes) -> bytes:
    """From a JSON object of name -> {"label": label, ...}."""
    return _lines((name, about["label"]) for name, about in json.loads(content).items())


def _lines(labels: Iterable[tuple[str, str]]) -> bytes:
    """Names without a label are left out; a label keeps to its line and cell."""
    tidy = ((name, " ".join(label.split())) for name, label in labels)
    return "".join(f"{name}\t{label}\n" for name, label in tidy if label).encode()
