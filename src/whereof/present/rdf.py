"""Explanations as RDF: predictions are quoted triples (RDF-star), annotated with their facts.

A quoted triple is mentioned, not asserted: a store that loads the file does not take a prediction
for a fact. Turtle is readable as RDF-star and as RDF 1.2, N-Triples as RDF 1.2.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, TextIO
from urllib.parse import quote

Document = Mapping[str, Any]
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
_OURS: Final = "urn:whereof:"
_LABEL: Final = "http://www.w3.org/2000/01/rdf-schema#label"
_REIFIES: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies"
_TYPES: Final = "http://www.w3.org/2001/XMLSchema#"
_PREDICTION: Final = ("probability", "score", "rank", "method", "of")
_FACT: Final = (
    *("fact_id", "influence", "rank", "probability_without", "score_without", "role"),
    *("rating", "source", "weight", "predicted", "estimate"),
)


def annotations(file: TextIO, *, turtle: bool) -> Callable[[Document], None]:
    """A function that writes the documents of explanations into a file, as Turtle or N-Triples."""
    labelled, numbers = set[str](), count(1)
    if turtle:
        file.write(f"@prefix whereof: <{_OURS}> .\n")

    def write(document: Document) -> None:
        lines = _turtle(document) if turtle else _ntriples(document, next(numbers))
        file.writelines(lines)
        for term, label in _labels(document).items():
            if term not in labelled:
                labelled.add(term)
                file.write(f"{term} <{_LABEL}> {_text(label)} .\n")

    return write


def _turtle(document: Document) -> Iterator[str]:
    """One explanation, with the prediction as subject."""
    asked, facts = _parts(document)
    pairs = [f"whereof:{name} {_short(value)}" for name, value in _values(asked, _PREDICTION)]
    nodes = []
    for fact in facts:
        known = [f"whereof:{name} {_short(value)}" for name, value in _values(fact, _FACT)]
        nodes.append(" ;\n      ".join([f"whereof:fact << {_triple(fact)} >>", *known]))
    if nodes:
        pairs.append("whereof:explainedBy " + " , ".join(f"[\n      {node} ]" for node in nodes))
    yield f"\n<< {_triple(asked)} >>\n    " + " ;\n    ".join(pairs) + " .\n"


def _ntriples(document: Document, number: int) -> Iterator[str]:
    """One explanation; blank nodes stand for the quoted triples."""
    asked, facts = _parts(document)
    prediction = f"_:p{number}"
    yield f"{prediction} <{_REIFIES}> <<( {_triple(asked)} )>> .\n"
    for name, value in _values(asked, _PREDICTION):
        yield f"{prediction} <{_OURS}{name}> {_literal(value)} .\n"
    for place, fact in enumerate(facts, 1):
        node = f"{prediction}f{place}"
        yield f"{prediction} <{_OURS}explainedBy> {node} .\n"
        yield f"{node} <{_OURS}fact> {node}t .\n"
        yield f"{node}t <{_REIFIES}> <<( {_triple(fact)} )>> .\n"
        for name, value in _values(fact, _FACT):
            yield f"{node} <{_OURS}{name}> {_literal(value)} .\n"


def _parts(document: Document) -> tuple[Document, list[Document]]:
    """The prediction and its facts, each with what the document says about all of them."""
    common = {name: document[name] for name in ("method", "of", "estimate")}
    return document["prediction"] | common, [fact | common for fact in document["facts"]]


def _values(record: Document, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The known values; `fact_id` becomes `factId`."""
    for name in names:
        if record.get(name) is not None:
            yield re.sub("_(.)", lambda found: found[1].upper(), name), record[name]


def _triple(record: Document) -> str:
    return " ".join(_terms(record).values())


def _terms(record: Document) -> dict[str, str]:
    """The terms of subject, relation and object; without a relation there is one for all facts."""
    if record["relation"] is None:
        subject, object_ = (_term(record[place], place) for place in ("subject", "object"))
        return {"subject": subject, "relation": f"<{_OURS}chose>", "object": object_}
    kinds = {"subject": "entity", "relation": "relation", "object": "entity"}
    return {place: _term(record[place], kind) for place, kind in kinds.items()}


def _term(name: str, kind: str) -> str:
    """A name that is an IRI or a blank node as it is; any other as an IRI of ours."""
    if re.fullmatch(r"_:\w+", name):
        return f"_:b{name[2:]}"  # ours begin with p
    if _IRI.fullmatch(name):
        return f"<{name}>"
    return f"<{_OURS}{kind}:{quote(name, safe='')}>"


def _labels(document: Document) -> dict[str, str]:
    """The labels of all names, by term."""
    found: dict[str, str] = {}
    for record in (document["prediction"], *document["facts"]):
        for place, term in _terms(record).items():
            label = record["labels"][place]
            if label is not None and f"<{label}>" != term:
                found[term] = label
    return found


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}INF"
    return repr(value) if "e" in repr(value) else f"{value!r}e0"


def _literal(value: Any) -> str:
    """A value as N-Triples."""
    if isinstance(value, bool):
        return f'"{str(value).lower()}"^^<{_TYPES}boolean>'
    if isinstance(value, int):
        return f'"{value}"^^<{_TYPES}integer>'
    return _text(value) if isinstance(value, str) else f'"{_number(value)}"^^<{_TYPES}double>'


def _short(value: Any) -> str:
    """A value as Turtle."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    finite = isinstance(value, float) and math.isfinite(value)
    return _number(value) if finite else _literal(value)
