"""The journal: results of retrainings on disk, so that nothing is retrained twice.

It has one line for every retraining: JSON and a checksum. Each line is written in one piece, so
several processes can add to one journal. A line that was cut short or altered is ignored.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof._jit import code_digest
from whereof.events import Events, Note
from whereof.predict.scored import STANDING, Standings
from whereof.retrain.engine import Engine, Recipe, removed_key
from whereof.run.files import read_sealed_line, sealed_line
from whereof.training.step import STEP_VERSION
from whereof.types import FactIds

JournalKey = tuple[int, int, int]  # a prediction: given entity, relation row, target

_FORMAT = 1  # raise it when the lines of the journal change their meaning


def recipe_key(recipe: Recipe, engine: Engine) -> str:
    """Name the journal by what changes a result: config, data, model, engine and the step."""
    problem = recipe.problem
    sizes = (problem.n_entities, problem.n_relations, problem.subjects, problem.objects)
    # Another model may be installed under the same name.
    model = [code_digest(it) for it in (problem.model.query, problem.model.query_vjp)]
    # The recipe has the number of facts to train on, and no retraining keeps a trace.
    config = {
        field.name: getattr(problem.config, field.name)
        for field in fields(problem.config)
        if field.metadata["group"] not in ("Stopping", "Trace")
    }
    parts = (_FORMAT, STEP_VERSION, engine.identity, config, model)
    digest = sha256(f"{parts} {recipe.n_facts} {sizes}".encode())
    for array in (problem.facts, problem.targets, problem.weights):
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


class Journal:
    """Standings of predictions in all retrainings so far, by removed facts."""

    def __init__(self, file: int | None = None) -> None:
        self.file = file  # its descriptor; with None, results are kept in memory only
        self._found: dict[str, dict[JournalKey, tuple[Any, ...]]] = {}

    def __len__(self) -> int:
        """The number of known retrainings."""
        return len(self._found)

    def lacks(self, removed: FactIds, keys: NDArray[np.int64], factor: float = 0.0) -> list[int]:
        """Which of these predictions, (n, 3), have no result without these facts."""
        known = self._found.get(removed_key(removed, factor), {})
        return [number for number, each in enumerate(keys.tolist()) if tuple(each) not in known]

    def get(self, removed: FactIds, keys: NDArray[np.int64], factor: float = 0.0) -> Standings:
        """Standings of predictions, (n, 3), without these facts."""
        known = self._found.get(removed_key(removed, factor), {})
        return np.array([known[tuple(each)] for each in keys.tolist()], STANDING)

    def add(
        self,
        removed: FactIds,
        keys: NDArray[np.int64],
        standings: Standings,
        factor: float = 0.0,
    ) -> None:
        """Add a retraining; it is on disk afterwards, unless OSError is raised."""
        key = removed_key(removed, factor)
        self._write({"removed": key, "spots": keys.tolist(), "standings": standings.tolist()})

    def add_all(self, other: "Journal") -> None:
        """Add the retrainings of another journal."""
        for key, known in other._found.items():
            self._write({"removed": key, "spots": [*known], "standings": [*known.values()]})

    def _write(self, record: Mapping[str, Any]) -> None:
        self._remember(record)
        if self.file is not None:
            # Start on a new line, because the last line may have been cut short.
            os.write(self.file, b"\n" + sealed_line(record))

    def _remember(self, record: Mapping[str, Any]) -> None:
        known = self._found.setdefault(record["removed"], {})
        known.update(zip(map(tuple, record["spots"]), map(tuple, record["standings"]), strict=True))

    def read(self, path: Path) -> None:
        """Read the results from a file, without lines that were cut short or are not valid."""
        with path.open("rb") as file:
            for line in file:
                with suppress(ValueError, TypeError, KeyError, OverflowError):
                    record = read_sealed_line(line)
                    keys, standings = np.array(record["spots"], np.int64), record["standings"]
                    np.array([*map(tuple, standings)], STANDING)  # raises if it is not valid
                    if isinstance(record["removed"], str) and keys.shape == (len(standings), 3):
                        self._remember(record)


@contextmanager
def open_journal(path: Path, events: Events | None = None) -> Iterator[Journal]:
    """Open or create the journal at a path; if that is impossible, it is in memory only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab", buffering=0)
    except OSError as error:
        note = f"retrainings are not stored: {path.parent}: {error.strerror}"
        (events or Events()).emit(Note(note))
        yield Journal()
        return
    with file:
        journal = Journal(file.fileno())
        journal.read(path)
        yield journal
