"""Answers to a file, query by query."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

from whereof.errors import Interrupted
from whereof.events import Advanced, Events
from whereof.files._formats import Layout, find_format
from whereof.files._writing import check_free, new_file
from whereof.predict.answers import Answer, Answers

_FIELDS = tuple(field.name for field in fields(Answer))
_TYPES = {"probability": "float64", "score": "float64", "rank": "int64"}
_COLUMNS = ("subject", "relation", "object", "asks", *_FIELDS)

_values = attrgetter(*_FIELDS)


def _rows(answers: Answers) -> Iterator[tuple[Any, ...]]:
    """One row an answer: the query, then the answer."""
    query = (*answers.query.values(), answers.asks)
    return (query + _values(answer) for answer in answers.answers)


_LAYOUT = Layout({name: _TYPES.get(name, "string") for name in _COLUMNS}, _rows, Answers.to_dict)


@dataclass(frozen=True)
class Written:
    """What was answered, and where it is."""

    path: str
    n_queries: int
    n_answers: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def write_answers(
    path: Path,
    answers: Iterable[Answers],
    n_queries: int,
    *,
    force: bool = False,
    events: Events | None = None,
) -> Written:
    """Write answers as they come, in the format that the file's name ends in."""
    start, n_answers, events = time.perf_counter(), 0, events or Events()
    fill = find_format(path, _LAYOUT)
    check_free(path, force=force)
    with new_file(path, fill) as write:
        for number, each in enumerate(answers, 1):
            write(each)
            n_answers += len(each.answers)
            events.emit(Advanced(number, n_queries, "queries"))
            if events.should_stop():
                raise Interrupted("interrupted; nothing was written")
    return Written(str(path), n_queries, n_answers, time.perf_counter() - start)
