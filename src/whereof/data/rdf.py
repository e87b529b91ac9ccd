"""Read N-Triples and Turtle: names are IRIs, and the file contains labels."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

from whereof._extras import need
from whereof.data.columns import FactTable, Part, as_arrow, gather
from whereof.data.layout import PLACES, ColumnLayout
from whereof.data.options import ReadOptions
from whereof.data.text import FilePath, open_bytes, read_lines
from whereof.errors import WhereofError

_LABELS: Final = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
)
_LAYOUT: Final = ColumnLayout({place: at for at, place in enumerate(PLACES[3])})
_N_ROWS: Final = 1 << 17


def read_rdf(path: FilePath, form: str, options: ReadOptions, split: str) -> FactTable:
    """Read the triples of a file; those with a literal become labels, or are skipped and counted.

    Blank nodes are numbered in order of appearance, separately for each split.
    """
    chosen = ("columns", "header", "rating", "source")
    options.refuse(chosen, f"{path}: RDF has no columns to choose from")
    rdf = need("pyoxigraph", "rdf", "reading RDF")
    formats = {"ntriples": rdf.RdfFormat.N_TRIPLES, "turtle": rdf.RdfFormat.TURTLE}
    triples = _Triples(rdf, "" if split == "train" else split)
    with open_bytes(path) as file:
        try:
            table = triples.read(rdf.parse(file, formats[form]))
        except SyntaxError as error:
            reason = re.sub(r"^Parser error at line[^:]*: ", "", error.msg)
            reason = reason.replace("Quads must", "A triple must")
            line = _faulty_line(path, error.lineno or 1, partial(rdf.parse, format=formats[form]))
            raise WhereofError(f"{path}:{line}: {reason}; correct the line") from None
        except MemoryError:
            raise WhereofError(
                f"{path}: a name or literal of more than 16 MiB; expected N-Triples or Turtle"
            ) from None
    if not len(table):
        raise WhereofError(f"{path}: no facts; expected triples whose object is not a literal")
    return table


def _faulty_line(path: FilePath, found: int, parse: Callable[[bytes], Iterable[Any]]) -> int:
    """The line of the error: the parser notices a missing dot only on the next line."""
    before = found - 1
    for line in islice(read_lines(path), max(before - 1, 0), before):
        try:
            list(parse(line.encode()))
        except SyntaxError as error:
            return before if "dot" in error.msg else found
    return found


class _Triples:
    """Converts triples to facts and collects labels."""

    def __init__(self, rdf: Any, scope: str) -> None:
        self._named, self._blank, self._literal = rdf.NamedNode, rdf.BlankNode, rdf.Literal
        self._scope = scope
        self._blanks: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        self._foreign: set[str] = set()
        self._n_left_out = 0

    def read(self, triples: Iterable[Any]) -> FactTable:
        table = gather(self._parts(triples), _LAYOUT)
        subjects, relations, objects = (c.dictionary.to_pylist() for c in table.fact_columns)
        entities = dict.fromkeys([*subjects, *objects])
        n = self._n_left_out
        notes = (f"{n} triple{'s' * (n > 1)} left out: the object is a literal",)
        return replace(
            table,
            entity_labels={n: self._labels[n] for n in entities if n in self._labels},
            relation_labels={n: self._labels[n] for n in relations if n in self._labels},
            notes=notes if n else (),
        )

    def _parts(self, triples: Iterable[Any]) -> Iterator[Part]:
        facts = self._facts(triples)
        while some := list(islice(facts, _N_ROWS)):
            columns = zip(PLACES[3], zip(*some, strict=True), strict=True)
            yield {place: [as_arrow(names)] for place, names in columns}

    def _facts(self, triples: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
        for triple in triples:
            target = triple.object
            if isinstance(target, (self._named, self._blank)):
                yield self._name(triple.subject), triple.predicate.value, self._name(target)
            elif isinstance(target, self._literal) and triple.predicate.value in _LABELS:
                self._label(self._name(triple.subject), target)
            else:
                self._n_left_out += 1

    def _name(self, node: Any) -> str:
        if isinstance(node, self._named):
            name: str = node.value
            return name
        return self._blanks.setdefault(node.value, f"_:{self._scope}{len(self._blanks) + 1}")

    def _label(self, name: str, literal: Any) -> None:
        """Keep the first label in English or without a language, else the first label."""
        foreign = literal.language is not None and not literal.language.startswith("en")
        if name not in self._labels or (name in self._foreign and not foreign):
            self._labels[name] = literal.value
            (self._foreign.add if foreign else self._foreign.discard)(name)
