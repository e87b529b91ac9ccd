"""Mutated data files: every reader gives a dataset or one clear line, and never hangs.

Files that once broke a reader are kept in corpus/. `make test-faults` goes on for
WHEREOF_FUZZ_SECONDS; without it, the same few mutations are tried in every run.
"""

import gzip
import io
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

import whereof
from whereof.data.read import read_dataset

SECONDS = float(os.environ.get("WHEREOF_FUZZ_SECONDS", "0"))
N_INPUTS = 60
CORPUS = Path(__file__).with_name("corpus")
PAIRS = [(i % 7, i % 3, i * 5 % 11) for i in range(30)]
TSV = "".join(f"e{s}\tr{r}\te{o}\n" for s, r, o in PAIRS).encode()
CSV = "user,item,rating,time\n" + "".join(f'"e{s}",i{o},{r},{1000 + s}\n' for s, r, o in PAIRS)
TRIPLES = "".join(f"<http://x/e{s}> <http://x/r{r}> <http://x/e{o}> .\n" for s, r, o in PAIRS)
TURTLE = "@prefix x: <http://x/> .\n" + "".join(
    f'x:e{s} x:r{r} x:e{o}, "text"@en .\n' for s, r, o in PAIRS
)
GRAPH = (
    '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="r" '
    'for="edge" attr.name="relation" attr.type="string"/><graph edgedefault="directed">'
    + "".join(f'<node id="e{n}"/>' for n in range(11))
    + "".join(
        f'<edge source="e{s}" target="e{o}"><data key="r">r{r}</data></edge>' for s, r, o in PAIRS
    )
    + "</graph></graphml>"
)
TOKENS = [
    *(b"\0", b'"', b"\t", b"\r", b"\n", b",", b"\xff", b"\xed\xa0\x80", b"NaN"),
    *(b"1e999", b"9" * 400),
    *(b"\xe2\x80\xae", b"<", b">", b"&x;", b"\\u0000", b"\\uD800", b"_:b", b"", b"-0", b"1_0"),
    *(b"\x1b[2J", b"inf", b"x" * 10_000, b"16777217", "\u05d0\u0644".encode(), b"\n" * 1000),
]  # fmt: skip


def parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    subjects, relations, objects = (
        [f"{it}" for it in column] for column in zip(*PAIRS, strict=True)
    )
    stream = io.BytesIO()
    columns = {"subject": subjects, "relation": relations, "object": objects}
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


FILES = {
    "a.tsv": TSV,
    "a.csv": CSV.encode(),
    "a.parquet": parquet(),
    "a.nt": TRIPLES.encode(),
    "a.ttl": TURTLE.encode(),
    "a.graphml": GRAPH.encode(),
    "a.tsv.gz": gzip.compress(TSV, mtime=0),
    "a.nt.gz": gzip.compress(TRIPLES.encode(), mtime=0),
}


def mutate(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, size = rng.randrange(len(data) + 1), rng.randrange(1, 40)
        match rng.randrange(5):
            case 0 if data:
                data[at % len(data)] ^= 1 << rng.randrange(8)
            case 1:
                data[at:at] = rng.choice(TOKENS)
            case 2:
                del data[at : at + size]
            case 3:
                data[at : at + size] = rng.choice(TOKENS)
            case _:
                data = data[:at] if rng.random() < 0.3 else data + data[at : at + 50]
    return bytes(data)


def check(path: Path) -> bool:
    """Whether a file is read; an error must be one line without control characters."""
    try:
        dataset = read_dataset(path)
    except whereof.WhereofError as error:
        assert str(error).isprintable(), repr(str(error))  # noqa: PT017 - both are right
        return False
    assert dataset.n_facts > 0
    assert (
        0
        <= dataset.train.min()
        <= dataset.train.max()
        < max(dataset.n_entities, dataset.n_relations)
    )
    return True


@pytest.mark.parametrize("name", FILES)
def test_a_mutated_file_is_read_or_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert check(tmp_path / name)
    rng, end, n_tried, n_read = random.Random(name), time.monotonic() + SECONDS, 0, 0
    if SECONDS:
        rng = random.Random()
    while n_tried < N_INPUTS or time.monotonic() < end:
        content = mutate(FILES[name], rng)
        (tmp_path / name).write_bytes(content)
        try:
            n_read += check(tmp_path / name)
        except Exception as error:
            kept = Path(f"found-{abs(hash(content)):x}-{name}")
            kept.write_bytes(content)
            pytest.fail(f"{kept} is kept; add it to {CORPUS.name}/: {error!r}")
        n_tried += 1
    print(f"{name}: {n_tried:,} inputs, {n_read:,} read")  # noqa: T201 - shown by pytest -s
    assert n_tried >= N_INPUTS


def test_files_that_once_broke_a_reader_are_read_or_refused() -> None:
    files: list[Any] = sorted(CORPUS.iterdir())
    assert len(files) >= 5
    for file in files:
        check(file)
