"""Read a dataset, or labels, from files or from tables in Python; datasets also by name."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Real
from pathlib import Path
from typing import Any, Final

from whereof.data.build import build_dataset, hold_out, split_by_time
from whereof.data.catalogue import CATALOGUE, find_folder
from whereof.data.columns import EXPECTED, FactTable, choose_layout, find_column, is_heading
from whereof.data.dataset import SPLITS, Dataset, ratings_as_objects
from whereof.data.frames import cells_of, column_at, column_names, parquet_names, read_parquet
from whereof.data.graphs import read_object
from whereof.data.options import OTHERS, ReadOptions
from whereof.data.pykeen import is_pykeen, pykeen_columns
from whereof.data.text import open_bytes, read_rows, read_text
from whereof.data.vocabulary import did_you_mean
from whereof.errors import WhereofError
from whereof.events import Events
from whereof.settings import check_text, checked, is_whole, plain, shown
from whereof.types import PLACES
from whereof.units import count

_TEXT: Final = {".txt": "tsv", ".tsv": "tsv", "": "tsv", ".csv": "csv"}
_FORMATS: Final = _TEXT | {
    ".parquet": "parquet",
    ".nt": "ntriples",
    ".ttl": "turtle",
    ".graphml": "graphml",
}


def _names(stems: str, ends: Iterable[str] = _FORMATS) -> list[str]:
    return [stem + end + packed for stem in stems.split() for packed in ("", ".gz") for end in ends]


_TRIPLES: Final = {
    "train": _names("train"),
    "valid": _names("valid validation dev"),
    "test": _names("test"),
    "entity": _names("entity2text entity2label entity_labels", _TEXT),
    "relation": _names("relation2text relation2label relation_labels", _TEXT),
}
"""The possible names of the files in a folder, by purpose."""
_MOVIELENS: Final = {
    "train": _names("ua.base", [""]),
    "test": _names("ua.test", [""]),
    "titles": _names("u.item", [""]),
}
_TITLES: Final = {"label": ("label", "title", "name", "text"), "group": ("group",)}
"""The possible headings of a column of labels, or of groups."""
_N_VALID: Final = 5000
"""The paper validates on the first lines of MovieLens' ua.test."""
_RATED: Final = ReadOptions(format="tsv", header=False, columns="1,2", rating="3")
"""How to read the ratings of MovieLens."""


@checked
def read_dataset(
    source: Any,
    /,
    *,
    events: Events | None = None,
    objects_if_rated: bool = False,
    **options: Any,
) -> Dataset:
    """Read a dataset. The options are fields of `ReadOptions`.

    The source is a file of training facts, a folder with a train file and optionally valid, test
    and label files, a name in `CATALOGUE`, a table of pandas, polars or Arrow, a dict of columns,
    a graph of NetworkX or rdflib, or a factory or dataset of PyKEEN or its name, such as
    pykeen:nations. A file or a folder with a train file has precedence over a catalogue name.
    `events` receives the progress of a download. `objects_if_rated` is the value of
    `ratings_as_objects` if it is not given and the data has ratings.
    """
    chosen = ReadOptions.from_dict(options | _as_options(options))
    dataset = _read(source, chosen, events)
    notes = dataset.notes
    if chosen.columns is None and (read_as := dataset.read.get("read_as")):
        roles = ", ".join(f"{name!r} as {role}" for role, name in read_as.items())
        notes = (f"columns read by their names: {roles}", *notes)
    if chosen.ratings_as_objects is None and objects_if_rated and dataset.ratings is not None:
        chosen = chosen.replace(ratings_as_objects=True)
        notes += ("ratings taken as objects: facts are (user, item, rating)",)
    dataset = replace(dataset, notes=notes, read={**_about(source, chosen), **dataset.read})
    if chosen.ratings_as_objects:
        dataset = ratings_as_objects(dataset)
    if chosen.held_out and chosen.time is None:
        return hold_out(dataset, chosen.valid_fraction, chosen.test_fraction, chosen.split_seed)
    return dataset


def read_facts(path: Path, options: ReadOptions, split: str) -> FactTable:
    """The facts of one file; `split` separates its blank nodes from those of other files."""
    form = options.format or _FORMATS[_extension(path.name)]
    if form in ("ntriples", "turtle"):
        from whereof.data.rdf import read_rdf

        return read_rdf(path, form, options, split)
    if form == "parquet":
        return read_parquet(path, options)
    if form == "graphml":
        from whereof.data.graphs import read_graphml

        return read_graphml(path, options)
    return read_text(path, options, comma=form == "csv")


def read_new_facts(source: Any, options: Mapping[str, Any]) -> FactTable:
    """More facts for a dataset: those of a file, or of a table as for `read_dataset`.

    options: fields of `ReadOptions` that say what the columns are.
    """
    chosen = ReadOptions.from_dict({**options, **_as_options({**options})})
    if is_pykeen(source):
        return read_object(pykeen_columns(source)[1]["train"], chosen)
    if not isinstance(source, (str, os.PathLike)):
        return read_object(source, chosen)
    path = Path("/dev/stdin" if str(source) == "-" else source)
    if path.is_dir():
        raise WhereofError(f"{path} is a folder; name a file of facts")
    if not path.exists():
        raise WhereofError(f"no such file: {path}; check the path")
    return read_facts(path, chosen, "train")


def is_file_name(text: str) -> bool:
    """Whether a text ends like the name of a file of facts, such as .tsv or .csv.gz."""
    return text.removesuffix(".gz").endswith((".jsonl", *filter(None, _FORMATS)))


def read_fact_names(path: Path, *, two_way: bool = False) -> list[tuple[str, ...]]:
    """The names of each fact of a file, in a format of data or in JSON lines.

    Other columns, such as weights, are not read. Facts of two-way data have no relation.
    """
    if ".jsonl" not in path.suffixes:
        columns = read_facts(path, _names_only(path, two_way=two_way), "train").fact_columns
        return [*zip(*(column.to_pylist() for column in columns), strict=True)]
    try:
        with open_bytes(path) as file:
            documents = [json.loads(line) for line in file if line.strip()]
        # An explanation is a document with facts; a fact of an audit is a document of its own.
        rows = (row for each in documents for row in each.get("facts", [each]))
        names = ([row.get(place) for place in PLACES[3]] for row in rows)
        return [tuple(str(name) for name in each if name is not None) for each in names]
    except (ValueError, AttributeError, RecursionError) as error:
        raise WhereofError(f"{path}: not JSON lines of facts: {error}") from error


def _names_only(path: Path, *, two_way: bool) -> ReadOptions:
    """Options that read nothing but the names of the facts of a file."""
    named = (form := _FORMATS[_extension(path.name)]) == "parquet"
    if form not in ("tsv", "csv", "parquet"):
        return ReadOptions()
    if named:
        cells, where = parquet_names(path), str(path)
    elif (row := next(read_rows(path), None)) is not None:
        cells, where = row.cells, f"{path}:{row.line}"
    else:
        return ReadOptions()  # reading says that the file is empty
    try:
        layout = choose_layout(cells, where, ReadOptions(), named=named)
    except WhereofError:
        raise WhereofError(
            f"{where}: {count(len(cells), 'column')}, expected {EXPECTED}, separated by TAB, or by "
            "comma in .csv files; drop the others, or name the columns so in the first line"
        ) from None
    places = PLACES[2] if two_way and layout.read_as else PLACES[3]
    used = [str(layout.places[place] + 1) for place in places if place in layout.places]
    return ReadOptions(columns=",".join(used), header=None if named else layout.header)


def _as_options(given: dict[str, Any]) -> dict[str, Any]:
    """Normalise options: columns to text as typed, labels in a frame to a dict."""
    found: dict[str, Any] = {}
    for name in ("columns", *OTHERS):
        value = plain(given.get(name))
        values = [value] if isinstance(value, int) else value
        if isinstance(values, Iterable) and not isinstance(values, str):
            found[name] = ",".join(map(str, values))
    for kind in ("entity", "relation"):
        labels = given.get(f"{kind}_labels")
        if hasattr(labels, "items") or hasattr(labels, "columns"):
            found[f"{kind}_labels"] = as_labels(labels, kind)
    return found


def _about(source: Any, options: ReadOptions) -> dict[str, Any]:
    """What was read, and the options that differ from the defaults, as JSON values."""
    about: dict[str, Any] = {"data": source if isinstance(source, (str, os.PathLike)) else "table"}
    for item in fields(options):
        value = getattr(options, item.name)
        if value != item.default:
            about[item.name] = "given" if isinstance(value, dict) else value
    for name, value in about.items():
        if isinstance(value, (str, os.PathLike)):
            # Bytes of a path that are not UTF-8 are escaped.
            about[name] = str(value).encode(errors="backslashreplace").decode()
    return about


def _read(source: Any, options: ReadOptions, events: Events | None) -> Dataset:
    files: dict[str, Path] = {}
    if is_pykeen(source):
        name, columns = pykeen_columns(source)
        if options.held_out and len(columns) > 1:
            raise WhereofError(
                f"{name} has held-out facts already; leave out valid_fraction and test_fraction, "
                "or give its training factory alone"
            )
        tables = {split: read_object(it, options) for split, it in columns.items()}
    elif isinstance(source, (str, os.PathLike)):
        name, files = _find_files(str(source), options, events)
        tables = _read_files(name, files, options)
    else:
        name, tables = "table", {"train": read_object(source, options)}
    times = tables["train"].times
    if options.time is not None:
        tables = split_by_time(tables["train"], options.valid_fraction, options.test_fraction)
    entities = find_labels(options.entity_labels, files.get("entity"))
    if entities is None and "titles" in files:
        entities = _read_titles(files["titles"])
    relations = find_labels(options.relation_labels, files.get("relation"))
    dataset = build_dataset(options.name or name, tables, entities, relations)
    if options.columns is None and (unread := tables["train"].unread):
        listed = ", ".join(map(repr, unread))
        note = f"columns not read: {listed}; name one with --weight, --source, --rating or --time"
        dataset = replace(dataset, notes=(note, *dataset.notes))
    if options.time is None and options.held_out and times:
        note = f"held-out facts are random; to hold out the latest facts, use --time {times[0]}"
        dataset = replace(dataset, notes=(*dataset.notes, note))
    lost = [split for split in tables if not len(getattr(dataset, split))]
    if options.time is not None and lost:
        names = "user and its item" if dataset.two_way else "entities and its relation"
        note = (
            f"split by time: no fact of {' and '.join(lost)} is left: none has its {names} in "
            "train, and a model cannot rank what it has not seen; to hold out random facts, leave "
            "out --time"
        )
        dataset = replace(dataset, notes=(*dataset.notes, note))
    return dataset


def _find_files(
    source: str, options: ReadOptions, events: Events | None
) -> tuple[str, dict[str, Path]]:
    """The name and the files of an existing path, else of a catalogue name."""
    text = "/dev/stdin" if source == "-" else source
    path, entry = Path(text), CATALOGUE.get(text.lower())
    # Path refuses impossible names, such as one with a NUL; os.path says that there is none.
    exists = os.path.exists(text)  # noqa: PTH110
    if exists and not path.is_dir():  # a file, or a pipe
        name = path.name.removesuffix(".gz").removesuffix(_extension(path.name))
        return name, {"train": path}
    if exists and (entry is None or "train" in _folder_files(path, _TRIPLES)):
        name = path.name if path.name not in ("", "..") else path.resolve().name
        return name, _folder_files(path, _TRIPLES, "train")
    if entry is None:
        raise WhereofError(
            f"{text!r} is neither a file, a folder nor a catalogue name; "
            f"{did_you_mean(text, CATALOGUE)}the catalogue has {', '.join(CATALOGUE)}"
        )
    folder = find_folder(entry, options.data_dir, events)
    if entry.layout == "movielens":
        return entry.name, _folder_files(folder, _MOVIELENS, *_MOVIELENS)
    return entry.name, _folder_files(folder, _TRIPLES, "train")


def _extension(name: str) -> str:
    name = name.removesuffix(".gz")
    return next((end for end in _FORMATS if end and name.endswith(end)), "")


def _folder_files(folder: Path, purposes: Mapping[str, list[str]], *needed: str) -> dict[str, Path]:
    """The files of a folder by purpose, found by name."""
    files: dict[str, Path] = {}
    for purpose, names in purposes.items():
        try:
            found = [path for path in map(folder.joinpath, names) if path.is_file()]
        except OSError as error:
            raise WhereofError(f"{folder}: cannot be read: {error.strerror or error}") from None
        if len(found) > 1:
            listed = ", ".join(path.name for path in found)
            raise WhereofError(
                f"{folder}: {len(found)} files for {purpose}: {listed}; keep one of them"
            )
        if not found and purpose in needed:
            listed = ", ".join(name for name in names if not name.endswith(".gz"))
            raise WhereofError(
                f"{folder}: no {purpose} file in this folder; expected {listed}, plain or .gz"
            )
        if found:
            files[purpose] = found[0]
    return files


def _read_files(name: str, files: dict[str, Path], options: ReadOptions) -> dict[str, FactTable]:
    movielens = "titles" in files
    if options.held_out and (there := files.get("valid") or files.get("test")):
        alone = f"{files['train']} alone"
        if movielens:
            alone += ", with --columns 1,2 --rating 3" + " --time 4" * (options.time is not None)
        raise WhereofError(
            f"{there} contains held-out facts already; leave out valid_fraction and test_fraction, "
            f"or give {alone}"
        )
    if movielens:
        chosen = ("format", "columns", "header", *OTHERS)
        options.refuse(chosen, f"the files of {name} have a fixed format")
        options = _RATED
    tables = {str(s): read_facts(files[s], options, s) for s in SPLITS if s in files}
    if movielens:
        both = tables["test"]
        tables |= {"valid": both.take(slice(_N_VALID)), "test": both.take(slice(_N_VALID, None))}
    return tables


def _read_titles(path: Path) -> dict[str, str]:
    with open_bytes(path) as file:
        # The titles are in Latin-1, although the README does not say so.
        lines = file.read().decode("latin-1").replace("\r\n", "\n").split("\n")
    titles: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        item, _, rest = line.partition("|")
        title = rest.partition("|")[0]
        if line and not (item and title):
            raise WhereofError(f"{path}:{number}: expected item, title, ..., separated by '|'")
        titles |= {item: title} if line else {}
    return titles


def find_labels(
    given: Any, found: Path | None = None, *, noun: str = "label"
) -> dict[str, str] | None:
    """The given labels, from a file or from Python; else those of the file in the folder.

    A file is given as PATH or PATH:NAMES,LABELS. noun: what is read, label or group.
    """
    if given is None:
        return read_labels(found) if found is not None else None
    if not isinstance(given, str | Path):
        return as_labels(given, noun=noun)
    return read_labels(*_split_columns(given), noun=noun)


def find_label_line(given: Any, name: str) -> str:
    """Where the file of `find_labels` has a name, as PATH:LINE; empty if it is not a file."""
    if not isinstance(given, str | Path):
        return ""
    path, _ = _split_columns(given)
    line = next((row.line for row in read_rows(path) if name in row.cells), 1)
    return f"{path}:{line}"


def _split_columns(given: str | Path) -> tuple[Path, str | None]:
    """A path, and the columns that may be named after it: PATH or PATH:NAMES,LABELS."""
    path = Path(given)
    before, colon, after = str(given).rpartition(":")
    if not path.exists() and colon and Path(before).exists():
        return Path(before), after
    return path, None


def as_labels(given: Any, kind: str = "entity", *, noun: str = "label") -> dict[str, str]:
    """Name -> label (or group), from a dict, a pandas series or a frame of two columns.

    A name may be a number; rows without a label are skipped. noun: as in `find_labels`.
    """
    pairs: Iterable[tuple[Any, Any]]
    if hasattr(given, "columns"):
        places, _ = _find_pair([*map(str, column_names(given))], f"{noun}s", None, noun)
        pairs = zip(*(cells_of(column_at(given, at)) for at in places), strict=True)
    elif hasattr(given, "items"):
        pairs = given.items()
    else:
        raise WhereofError(f"{noun}s are {shown(given)}; give a path, a dict or a table")
    labels: dict[str, str] = {}
    for name, label in pairs:
        if label is None or label != label:  # missing in a frame
            continue
        if not isinstance(label, str) or not isinstance(name, str | Real):
            raise WhereofError(f"{kind} {noun} {label!r} for {name!r}; give both as text")
        check_text(f"a {noun}", label)
        number = plain(name)
        whole = isinstance(number, float) and number.is_integer()
        labels[str(int(number) if whole else number)] = label  # 5.0 is 5 in a file
    return labels


def read_labels(path: Path, columns: str | None = None, *, noun: str = "label") -> dict[str, str]:
    """Name -> label (or group), from a file of two columns, or of more if two are named.

    columns: the column of names and the column of labels, by name or position, such as
    `movieId,title`. Without it, a file with more than two columns needs a header that says which
    column holds the labels: label, title, name or text; for groups, group.
    """
    labels: dict[str, str] = {}
    places: Sequence[int] = ()
    for row in read_rows(path):
        where = f"{path}:{row.line}"
        if not places:
            width = len(row.cells)
            places, header = _find_pair(row.cells, where, columns, noun)
            if header:
                continue
        if len(row.cells) != width:
            raise WhereofError(
                f"{where}: {count(len(row.cells), 'column')}, expected {width} as above"
            )
        name, label = (row.cells[at] for at in places)
        if not (name.strip() and label.strip()):
            word = "name" if label.strip() else noun
            raise WhereofError(f"{where}: an empty {word}; fill it or delete the line")
        if labels.setdefault(name, label) != label:
            raise WhereofError(
                f"{where}: second {noun} {label!r} for {name!r}, already {labels[name]!r}; keep one"
            )
    if not labels:
        raise WhereofError(f"{path}: an empty file; expected lines of 2 (name, {noun})")
    return labels


def _find_pair(
    cells: Sequence[str], where: str, columns: str | None, noun: str
) -> tuple[Sequence[int], bool]:
    """The positions of name and label (or group), and whether the row is a header."""
    if columns is not None:
        asked = [text.strip() for text in columns.split(",")]
        if len(asked) != 2:
            raise WhereofError(
                f"{columns!r} names {len(asked)} columns of {noun}s; give 2, such as movieId,title"
            )
        header = not all(map(is_whole, asked))
        return [find_column(text, cells, where, header=header) for text in asked], header
    words = [cell.strip().casefold() for cell in cells]
    titles = [word for word in _TITLES[noun] if word in words]
    if len(cells) > 1 and titles:
        label = words.index(titles[0])
        ids = [at for at, word in enumerate(words) if word.endswith("id") and at != label]
        name = ids[0] if ids else int(label == 0)
        if len(cells) > 2 or is_heading(cells[name]):
            return [name, label], True
    if len(cells) == 2:
        return (0, 1), False
    remedy = "name two of them after the path, such as FILE:1,2 or FILE:movieId,title"
    raise WhereofError(
        f"{where}: {count(len(cells), 'column')}, expected 2 (name, {noun})"
        + f"; {remedy}" * (len(cells) > 1)
    )
