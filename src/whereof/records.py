"""Convert results that consist of records to JSON values and to tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from whereof.registry import unknown
from whereof.table import Tabular, arrow_schema, arrow_table
from whereof.types import PLACES

_LEAVES = (str, int, float, bool, type(None))


def as_plain(value: Any) -> Any:
    """Convert records to dicts and tuples to lists, recursively; `dataclasses.asdict` is slow."""
    if type(value) in _LEAVES:
        return value
    if isinstance(value, tuple):
        return [as_plain(item) for item in value]
    fields = value if isinstance(value, dict) else vars(value)
    return {name: as_plain(item) for name, item in fields.items()}


class RecordTables(Tabular):
    """A result with a table for each of its fields that is a tuple of records."""

    main_part: ClassVar[str]
    """The table that is meant if none is named."""

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        raise NotImplementedError

    def to_arrow(self, part: str | None = None) -> Any:
        """An Arrow table of one list of the document: a row for each of its records."""
        hints = get_type_hints(type(self)).items()
        items = {name: get_args(hint)[0] for name, hint in hints if get_origin(hint) is tuple}
        kinds = {name: kind for name, kind in items.items() if is_dataclass(kind)}
        part = part or self.main_part
        if part not in kinds:
            raise unknown("part", part, kinds)
        rows = [record_row(record, kinds[part]) for record in self.to_dict()[part]]
        return arrow_table(arrow_schema(record_columns(kinds[part])), rows)


def record_columns(kind: Any) -> dict[str, Any]:
    """Columns of a table with one row per record of this class, and their types.

    The fields of a record within a record are columns too, such as `before_rank`.
    """
    columns: dict[str, Any] = {}
    for name, labelled, inner, hint in _record_fields(kind):
        if labelled:
            columns |= dict.fromkeys((f"{each}_label" for each in labelled), str)
        elif inner:
            columns |= {f"{name}_{key}": each for key, each in record_columns(inner).items()}
        else:
            columns[name] = hint
    return columns


def record_row(record: Mapping[str, Any] | None, kind: Any) -> list[Any]:
    """The values of a record, as a dict, for `record_columns`; all None if there is no record."""
    cells: list[Any] = []
    for name, labelled, inner, _ in _record_fields(kind):
        value = None if record is None else record[name]
        if labelled:
            cells += [value and value.get(each) for each in labelled]
        elif inner:
            cells += record_row(value, inner)
        else:
            cells.append(value)
    return cells


def _record_fields(kind: Any) -> Iterator[tuple[str, Sequence[str], Any, Any]]:
    """Name, what it labels, class if it is a record, and type of each field; names come first."""
    hints = get_type_hints(kind)
    for name in sorted(hints, key=lambda name: name not in ("fact_id", *PLACES[3])):
        labelled = [
            each for each in (*PLACES[3], "top_answer") if name == "labels" and each in hints
        ]
        inner = get_args(hints[name] | None)[0]
        yield name, labelled, inner if is_dataclass(inner) else None, hints[name]
