"""Write answers and retrainings to files; the ending decides: text, Parquet or JSON lines."""

import csv
import gzip
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TextIO, get_args, get_type_hints

from whereof.errors import Interrupted, WhereofError
from whereof.events import Advanced, Events
from whereof.predict.answers import Answer, Answers
from whereof.run.files import check_free, draft_of

Document = Mapping[str, Any]
"""Plain JSON values."""
Write = Callable[[Document], None]

_ENDS_A_CELL: Final = dict.fromkeys(map(ord, "\t\n\r"), " ")
_TEXTS: Final = (".tsv", ".txt", ".csv", ".jsonl")


@dataclass(frozen=True)
class RowFormat:
    """How a document appears in a table; a file of JSON lines has the document itself."""

    columns: Mapping[str, Any]
    """Types by name, such as `float | None`."""
    rows: Callable[[Document], Iterable[Iterable[Any]]]


def find_ending(path: Path) -> tuple[str, bool]:
    """The ending that says the format of a file, and whether the file is packed."""
    name = path.name.lower()
    packed, ending = name.endswith(".gz"), Path(name.removesuffix(".gz")).suffix
    if ending not in _TEXTS and (packed or ending != ".parquet"):
        allowed = f"{', '.join(_TEXTS)}, each also with .gz, or .parquet"
        raise WhereofError(f"{path}: unknown ending {path.suffix!r}; choose from {allowed}")
    return ending, packed


def check_file(path: Path, *, force: bool) -> None:
    """Raise an error if a file cannot be written, before any work is done."""
    find_ending(path)
    check_free(path, force=force)


@contextmanager
def new_file(path: Path, layout: RowFormat) -> Iterator[Write]:
    """A new file in the format of its ending. It gets its name when it is complete."""
    ending, packed = find_ending(path)
    with draft_of(path) as draft:
        if ending == ".parquet":
            with _parquet(draft, layout) as write:
                yield write
            return
        with draft.open("wb") as raw:
            # Without a name and a time, the same results give the same bytes.
            binary: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
            with io.TextIOWrapper(binary, encoding="utf-8", newline="") as file:
                yield write_text(file, layout, ending)


def write_text(file: TextIO, layout: RowFormat, ending: str) -> Write:
    """JSON lines, or a table with a header. Only .csv quotes cells, where it is necessary."""
    if ending == ".jsonl":
        return lambda document: print(json_line(document), file=file)
    tabs = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
    dialect: dict[str, Any] = {} if ending == ".csv" else tabs
    writer = csv.writer(file, lineterminator="\n", **dialect)
    writer.writerow(layout.columns)

    def write(document: Document) -> None:
        for row in layout.rows(document):
            writer.writerow([_cell(value, clean=bool(dialect)) for value in row])

    return write


def _cell(value: Any, *, clean: bool) -> Any:
    """A list becomes text, separated by blanks; clean: TABs and line ends become spaces."""
    value = " ".join(map(str, value)) if isinstance(value, tuple) else value
    return value.translate(_ENDS_A_CELL) if clean and isinstance(value, str) else value


def json_line(document: Document) -> str:
    """A document as one line of JSON; raises ValueError for NaN and infinity."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


@contextmanager
def _parquet(path: Path, layout: RowFormat) -> Iterator[Write]:
    import pyarrow as pa
    from pyarrow import parquet

    types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    types[tuple[int, ...]] = pa.list_(pa.int64())
    kinds = {name: get_args(kind | None)[0] for name, kind in layout.columns.items()}
    schema = pa.schema((name, types[kind]) for name, kind in kinds.items())
    rows: list[Iterable[Any]] = []

    def flush() -> None:
        columns = map(pa.array, zip(*rows, strict=True), schema.types)
        file.write_table(pa.Table.from_arrays(list(columns), schema=schema))
        rows.clear()

    def write(document: Document) -> None:
        rows.extend(layout.rows(document))
        if len(rows) >= 1 << 16:
            flush()

    with parquet.ParquetWriter(path, schema) as file:
        yield write
        if rows:
            flush()


def _answer_rows(answers: Document) -> Iterator[list[Any]]:
    for answer in answers["answers"]:
        yield [*answers["query"].values(), answers["asks"], *answer.values()]


_QUERY = dict.fromkeys(("subject", "relation", "object", "asks"), str)
_ANSWERS = RowFormat(_QUERY | get_type_hints(Answer), _answer_rows)


@dataclass(frozen=True)
class Written:
    """The number of answers, and the file they are in."""

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
    """Write answers as they come, in the format of the file's ending."""
    start, n_answers, events = time.perf_counter(), 0, events or Events()
    check_file(path, force=force)
    with new_file(path, _ANSWERS) as write:
        for number, each in enumerate(answers, 1):
            write(each.to_dict())
            n_answers += len(each.answers)
            events.emit(Advanced(number, n_queries, "queries"))
            if events.should_stop():
                raise Interrupted("interrupted; nothing was written")
    return Written(str(path), n_queries, n_answers, time.perf_counter() - start)


def write_retrainings(path: Path, rows: Iterable[Document], force: bool) -> None:
    """Retrainings in the format of the file's ending, one row each."""
    from whereof.evaluate.sample import Retraining  # slow to import

    check_file(path, force=force)
    layout = RowFormat(get_type_hints(Retraining), lambda row: [row.values()])
    with new_file(path, layout) as write:
        for row in rows:
            write(row)
