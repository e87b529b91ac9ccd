"""Read N-Triples, Turtle and graphs of rdflib: names are IRIs, and labels are among the triples."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from whereof.data.columns import ColumnLayout, FactTable, Part, as_array, gather
from whereof.data.options import OTHERS, ReadOptions
from whereof.data.text import open_bytes, read_lines
from whereof.errors import WhereofError, need
from whereof.types import PLACES

_LABELS: Final = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
)
_LAYOUT: Final = ColumnLayout({place: at for at, place in enumerate(PLACES[3])})
_N_ROWS: Final = 1 << 17


def read_rdf(path: Path, form: str, options: ReadOptions, split: str) -> FactTable:
    """Read the triples of a file; those with a literal become labels, or are skipped and counted.

    Blank nodes are numbered in order of appearance, separately for each split.
    """
    rdf = _parser(str(path), options)
    formats = {"ntriples": rdf.RdfFormat.N_TRIPLES, "turtle": rdf.RdfFormat.TURTLE}
    parse = partial(rdf.parse, format=formats[form])
    with open_bytes(path) as file:
        triples = _Triples(rdf, parse(file), "" if split == "train" else split)
        try:
            return triples.table(str(path))
        except SyntaxError as error:
            line = _faulty_line(path, error.lineno or 1, parse)
            raise WhereofError(f"{path}:{line}: {_reason(error)}; correct the line") from None


def read_rdflib(graph: Any, options: ReadOptions) -> FactTable:
    """Read the triples of a graph of rdflib, sorted: its own order differs between processes."""
    rdf = _parser("graph", options.replace(format=None))
    try:
        lines = graph.serialize(format="nt", encoding="utf-8").splitlines(keepends=True)
    except Exception as error:  # of rdflib, about an IRI with a space
        raise WhereofError(f"graph: {error}; correct the triple") from None
    text = b"".join(sorted(lines))
    try:
        return _Triples(rdf, rdf.parse(text, format=rdf.RdfFormat.N_TRIPLES), "").table("graph")
    except SyntaxError as error:
        raise WhereofError(f"graph: {_reason(error)}; correct the triple") from None


def _parser(where: str, options: ReadOptions) -> Any:
    options.refuse(("columns", "header", *OTHERS), f"{where}: RDF has no columns to choose from")
    return need("pyoxigraph", "rdf", "reading RDF")


def _reason(error: SyntaxError) -> str:
    reason = re.sub(r"^Parser error at line[^:]*: ", "", error.msg)
    return reason.replace("Quads must", "A triple must")


def _faulty_line(path: Path, found: int, parse: Callable[[bytes], Iterable[Any]]) -> int:
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

    def __init__(self, rdf: Any, triples: Iterable[Any], scope: str) -> None:
        self._rdf, self._triples, self._scope = rdf, triples, scope
        self._blanks: dict[str, str] = {}
        self.labels: dict[str, tuple[bool, str]] = {}
        """Name -> whether its label is in a foreign language, and the label."""
        self.n_left_out = 0

    def table(self, where: str) -> FactTable:
        """All facts; `where` is what messages call the file."""
        try:
            table = gather(self.parts(), _LAYOUT)
        except MemoryError:
            raise WhereofError(
                f"{where}: a name or literal of more than 16 MiB; expected N-Triples or Turtle"
            ) from None
        if not len(table):
            raise WhereofError(f"{where}: no facts; expected triples whose object is not a literal")
        labels = {name: label for name, (_, label) in self.labels.items()}
        n = self.n_left_out
        notes = (f"{n} triple{'s' * (n > 1)} left out: the object is a literal",)
        return replace(table, labels=labels, notes=notes if n else ())

    def parts(self) -> Iterator[Part]:
        facts = self._facts()
        while some := list(islice(facts, _N_ROWS)):
            columns = zip(PLACES[3], zip(*some, strict=True), strict=True)
            yield {place: [as_array(place, names)] for place, names in columns}

    def _facts(self) -> Iterator[tuple[str, str, str]]:
        for triple in self._triples:
            target = triple.object
            if isinstance(target, (self._rdf.NamedNode, self._rdf.BlankNode)):
                yield self._name(triple.subject), triple.predicate.value, self._name(target)
            elif isinstance(target, self._rdf.Literal) and triple.predicate.value in _LABELS:
                subject = self._name(triple.subject)
                # The first label in English or without a language, else the first label.
                foreign = not (target.language or "en").startswith("en")
                if self.labels.setdefault(subject, (foreign, target.value))[0] and not foreign:
                    self.labels[subject] = (foreign, target.value)
            else:
                self.n_left_out += 1

    def _name(self, node: Any) -> str:
        if isinstance(node, self._rdf.NamedNode):
            return str(node.value)
        return self._blanks.setdefault(node.value, f"_:{self._scope}{len(self._blanks) + 1}")
