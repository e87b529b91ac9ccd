"""What was measured by which command, on which machine, and when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from whereof.paper._options import PaperOptions
from whereof.retrain import Engine


@dataclass(frozen=True)
class Measured:
    """Parts that were measured alike, on one day."""

    command: str
    machine: str
    date: str
    """Of UTC."""
    parts: tuple[str, ...]
    """Their titles."""


def note_measured(options: PaperOptions, engine: Engine) -> dict[str, str]:
    """What a part keeps of how it was measured, once it is finished."""
    return {
        "command": options.command,
        "machine": engine.describe(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def gather_measured(parts: Mapping[str, Mapping[str, Any]]) -> list[Measured]:
    """What parts keep, by their titles: those measured alike come together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for title, part in parts.items():
        noted = part["measured"]
        day = noted["date"].partition("T")[0]
        found.setdefault((noted["command"], noted["machine"], day), []).append(title)
    return [Measured(*key, tuple(titles)) for key, titles in found.items()]


def measured_text(measured: Sequence[Measured], *, code: str = "") -> list[str]:
    """A sentence for each; where there are several, with the parts it is of."""
    sentences = []
    for each in measured:
        of = f" ({'; '.join(each.parts)})" if len(measured) > 1 else ""
        command = f"{code}{each.command}{code}"
        sentences.append(f"Measured {each.date} on {each.machine}: {command}{of}.")
    return sentences
