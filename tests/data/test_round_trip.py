"""The same facts in every format: one vocabulary, one dataset, one model, bit for bit."""

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whereof
from whereof.data import Dataset, read_dataset

Rows = list[tuple[str, str, str]]
HEADER = ("subject", "relation", "object")


def _csv(path: Path, rows: Rows) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([HEADER, *rows])


def _parquet(path: Path, rows: Rows) -> None:
    columns = zip(HEADER, zip(*rows, strict=True), strict=True)
    pq.write_table(pa.table({name: list(cells) for name, cells in columns}), path)


def _ntriples(path: Path, rows: Rows) -> None:
    path.write_text("".join(f"<{s}> <{r}> <{o}> .\n" for s, r, o in rows))


def _tsv(path: Path, rows: Rows) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows))


WRITERS: dict[str, Callable[[Path, Rows], None]] = {
    ".tsv": _tsv,
    ".csv": _csv,
    ".parquet": _parquet,
    ".nt": _ntriples,
    ".ttl": _ntriples,
}


@pytest.fixture(scope="module")
def rows() -> Rows:
    nations = read_dataset("nations")
    facts = (nations.fact_names(fact) for fact in nations.train)
    return [tuple(f"http://nations/{name}" for name in fact) for fact in facts]  # type: ignore[misc]


@pytest.fixture(scope="module")
def expected(rows: Rows) -> Dataset:
    return read_dataset(pd.DataFrame(rows, columns=HEADER), valid_fraction=0.1, split_seed=5)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("end", WRITERS)
def test_every_format_gives_the_same_dataset(
    tmp_path: Path, rows: Rows, expected: Dataset, end: str, packed: bool
) -> None:
    path = tmp_path / f"facts{end}"
    WRITERS[end](path, rows)
    if packed:
        content = path.read_bytes()
        path.unlink()
        path = path.with_name(path.name + ".gz")
        path.write_bytes(gzip.compress(content))
    dataset = read_dataset(path, valid_fraction=0.1, split_seed=5)
    assert dataset.hash == expected.hash
    assert dataset.entities.names == expected.entities.names
    assert np.array_equal(dataset.valid, expected.valid)


def test_the_same_model_comes_of_them(tmp_path: Path, rows: Rows, expected: Dataset) -> None:
    _ntriples(tmp_path / "facts.nt", rows)
    settings = {"epochs": 2, "dim": 4, "seed": 1}
    first = whereof.train(expected, out=tmp_path / "first", **settings)
    second = whereof.train(
        tmp_path / "facts.nt",
        out=tmp_path / "second",
        valid_fraction=0.1,
        split_seed=5,
        **settings,
    )
    assert np.array_equal(first.entity_rows, second.entity_rows)
    assert np.array_equal(first.relation_rows, second.relation_rows)
    assert np.array_equal(first.trace, second.trace)
