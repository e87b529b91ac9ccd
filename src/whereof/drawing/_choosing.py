"""Which facts of an explanation are drawn, and what each of them joins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from whereof.drawing._colours import strength
from whereof.drawing._text import Document, label_of, named

_LISTED = 10
"""Facts of the list that are drawn beside those of the graph."""

_OPPOSITE = {"subject": "object", "object": "subject"}


@dataclass(frozen=True)
class Ends:
    """Tells which of a fact's entities are the prediction's.

    In data of ratings a user and an item may have the same name. So a name in the other place is
    the same entity only where some fact shows that entities of this data take either place.
    """

    prediction: Document
    is_mixed: bool

    @classmethod
    def among(cls, prediction: Document, facts: Sequence[Document]) -> "Ends":
        """As those facts show it."""
        two_way = prediction["relation"] is None
        mixed = not two_way and any(_crosses(prediction, fact) for fact in facts)
        return cls(prediction, mixed or _is_loop(prediction, facts))

    def of(self, fact: Document) -> dict[str, str | None]:
        """By place of a fact, the place of the prediction whose entity stands there."""
        return {place: self._end(fact, place) for place in _OPPOSITE}

    def _end(self, fact: Document, place: str) -> str | None:
        for own in (place, _OPPOSITE[place]) if self.is_mixed else (place,):
            if own in fact["parts"] and fact[place] == self.prediction[own]:
                return own
        return None


@dataclass(frozen=True)
class Third:
    """An entity that facts tie to the prediction's subject, to its object, or to both."""

    label: str
    title: str
    pair: float | None = None
    """Joint influence of the strongest pair of facts through it."""
    sides: dict[str, list[Document]] = field(default_factory=lambda: {"subject": [], "object": []})


@dataclass(frozen=True)
class Chosen:
    """The facts of a picture by what they join."""

    ends: Ends
    is_loop: bool
    """Whether the prediction's subject is its object."""
    between: tuple[Document, ...]
    loops: dict[str, list[Document]]
    """Facts that join the subject, or the object, to itself."""
    thirds: tuple[Third, ...]
    others: tuple[Document, ...]
    """Facts of which neither end is in the prediction."""
    n_left_out: int

    def facts(self) -> Iterator[Document]:
        """All that are drawn."""
        yield from self.between
        yield from self.others
        for sides in (self.loops, *(third.sides for third in self.thirds)):
            for facts in sides.values():
                yield from facts


def choose(document: Document) -> Chosen:
    """All facts of the graph, and the strongest of the list that are not among them."""
    facts = {fact["fact_id"]: fact for fact in _of_graph(document)}
    listed = sorted(document["facts"], key=lambda fact: -strength(fact["influence"]))
    more = [fact for fact in listed if fact["fact_id"] not in facts]
    facts |= {fact["fact_id"]: fact for fact in more[:_LISTED]}
    sorting = _Sorting(document, list(facts.values()))
    return sorting.chosen(max(len(more) - _LISTED, 0))


def _of_graph(document: Document) -> Iterator[Document]:
    graph = document.get("graph")
    if graph is not None:
        yield from graph["between"]
        for path in graph["paths"]:
            yield from path["facts"]
        yield from graph["same_relation"]


class _Sorting:
    """Facts being told apart by what they join."""

    def __init__(self, document: Document, facts: Sequence[Document]) -> None:
        self.prediction = document["prediction"]
        self.is_loop = _is_loop(self.prediction, facts)
        self.ends = Ends.among(self.prediction, [*facts, *document["facts"]])
        self.between: list[Document] = []
        self.loops: dict[str, list[Document]] = {"subject": [], "object": []}
        self.others: list[Document] = []
        self.thirds: dict[tuple[str, str], Third] = {}
        for path in (document.get("graph") or {}).get("paths", ()):
            self._add_path(path)
        for fact in facts:
            self._add(fact)

    def chosen(self, n_left_out: int) -> Chosen:
        return Chosen(
            self.ends,
            self.is_loop,
            tuple(self.between),
            self.loops,
            tuple(self.thirds.values()),
            tuple(self.others),
            n_left_out,
        )

    def _add_path(self, path: Document) -> None:
        entity, label = path["entity"], path["label"]
        # The first of an entity's paths is its strongest.
        self.thirds.setdefault(("", entity), self._third(entity, label, path["influence"]))

    def _add(self, fact: Document) -> None:
        first, second = self.ends.of(fact).values()
        if first is None and second is None:
            self.others.append(fact)
        elif first is None or second is None:
            self._tie(fact, "subject" if first is None else "object")
        elif first == second and not self.is_loop:
            self.loops[first].append(fact)
        else:
            self.between.append(fact)

    def _tie(self, fact: Document, place: str) -> None:
        """Put a fact beside the others of its third entity, which stands in that place."""
        name, label = fact[place], label_of(fact, place)
        key = ("", name) if self.ends.is_mixed or ("", name) in self.thirds else (place, name)
        third = self.thirds.setdefault(key, self._third(name, label))
        side = self.ends.of(fact)[_OPPOSITE[place]] or ""
        third.sides["subject" if self.is_loop else side].append(fact)

    def _third(self, name: str, label: str, pair: float | None = None) -> Third:
        title = named(name, label)
        called_the_same = label in self.prediction["labels"].values()
        return Third(title if called_the_same else label, title, pair)


def _is_loop(prediction: Document, facts: Sequence[Document]) -> bool:
    if prediction["relation"] is None or prediction["subject"] != prediction["object"]:
        return False
    return all(("subject" in fact["parts"]) == ("object" in fact["parts"]) for fact in facts)


def _crosses(prediction: Document, fact: Document) -> bool:
    """Whether one of the prediction's entities stands in the other place, beyond doubt."""
    return any(
        other in fact["parts"]
        and fact[place] == prediction[other]
        and fact[other] != prediction[other]
        for place, other in _OPPOSITE.items()
    )
