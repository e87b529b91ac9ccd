"""The explanation graph: which facts are drawn, what they connect, and their positions.

The prediction's entities are two pillars, the subject on the left and the object on the right.
Every edge has its own lane between them, so that labels never overlap. Third entities are boxes in
the middle. Facts between other entities are below, two in a row.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from whereof.explain.explanation import ExplainedFact, Explanation, NamedPrediction
from whereof.present.names import (
    fact_text,
    fall_text,
    influence_text,
    label_of,
    name_of,
    named,
    standing_text,
    stands_text,
)
from whereof.present.svg import (
    LARGE,
    PLAIN,
    PREDICTED,
    SMALL,
    Sign,
    fit,
    sign_of,
    wrap,
)
from whereof.units import percent, typographic

_LISTED = 10
"""Number of listed facts to draw in addition to those of the graph."""
_OPPOSITE = {"subject": "object", "object": "subject"}

_MARGIN, _PILLAR, _GAP, _BOX = 16, 150, 230, 168
"""Widths of pillars and boxes, and of the gaps that edges cross."""
_LANE, _LOOP_LANE = 40, 58
_CELL, _CELL_BOX, _CELL_GAP = 456, 140, 16
"""Facts between other entities: the whole, each of its boxes, and the gap between two in a row."""
_TOP, _LEGEND = 68, 46
_BOLD = 1.06
"""How much wider bold text is."""
_THINNEST, _THICKEST = 1.2, 6.0


def strength(influence: float) -> float:
    """The absolute influence."""
    return abs(influence) if math.isfinite(influence) else 0.0


@dataclass(frozen=True)
class Ends:
    """Determines which entities of a fact are the prediction's.

    In rating data a user and an item may have the same name. So a name in the other place is the
    same entity only if some fact shows that entities of this data occur in both places.
    """

    prediction: NamedPrediction
    is_mixed: bool

    @classmethod
    def among(cls, prediction: NamedPrediction, facts: Sequence[ExplainedFact]) -> "Ends":
        """As these facts show it."""
        two_way = prediction.relation is None
        mixed = not two_way and any(_crosses(prediction, fact) for fact in facts)
        return cls(prediction, mixed or _is_loop(prediction, facts))

    def of(self, fact: ExplainedFact) -> dict[str, str | None]:
        """For each place of a fact, the place of the prediction with the same entity."""
        return {place: self._end(fact, place) for place in _OPPOSITE}

    def _end(self, fact: ExplainedFact, place: str) -> str | None:
        for own in (place, _OPPOSITE[place]) if self.is_mixed else (place,):
            if own in fact.parts and name_of(fact, place) == name_of(self.prediction, own):
                return own
        return None


@dataclass(frozen=True)
class Third:
    """An entity that facts connect to the prediction's subject, its object, or both."""

    label: str
    title: str
    pair: float | None = None
    """Joint influence of the strongest pair of facts through it."""
    sides: dict[str, list[ExplainedFact]] = field(
        default_factory=lambda: {"subject": [], "object": []}
    )


class Chosen:
    """The facts of a picture, by what they connect."""

    def __init__(self, explanation: Explanation) -> None:
        facts, self.n_left_out = _drawn(explanation)
        self.prediction = explanation.prediction
        self.is_loop = _is_loop(self.prediction, facts)
        """Whether the prediction's subject is its object."""
        self.ends = Ends.among(self.prediction, [*facts, *explanation.facts])
        self.between: list[ExplainedFact] = []
        self.loops: dict[str, list[ExplainedFact]] = {"subject": [], "object": []}
        """Facts that connect the subject, or the object, to itself."""
        self.others: list[ExplainedFact] = []
        """Facts that contain no entity of the prediction."""
        self._thirds: dict[tuple[str, str], Third] = {}
        for path in explanation.graph.paths if explanation.graph else ():
            # The first path of an entity is its strongest.
            third = self._third(path.entity, path.label, path.influence)
            self._thirds.setdefault(("", path.entity), third)
        for fact in facts:
            self._add(fact)

    @property
    def thirds(self) -> tuple[Third, ...]:
        return tuple(self._thirds.values())

    def facts(self) -> Iterator[ExplainedFact]:
        """All drawn facts."""
        yield from self.between
        yield from self.others
        for sides in (self.loops, *(third.sides for third in self.thirds)):
            for facts in sides.values():
                yield from facts

    def _add(self, fact: ExplainedFact) -> None:
        first, second = self.ends.of(fact).values()
        if first is None and second is None:
            self.others.append(fact)
        elif first is None or second is None:
            self._tie(fact, "subject" if first is None else "object")
        elif first == second and not self.is_loop:
            self.loops[first].append(fact)
        else:
            self.between.append(fact)

    def _tie(self, fact: ExplainedFact, place: str) -> None:
        """Add a fact to the others of its third entity, which is in this place."""
        name, label = name_of(fact, place), label_of(fact, place)
        key = ("", name) if self.ends.is_mixed or ("", name) in self._thirds else (place, name)
        third = self._thirds.setdefault(key, self._third(name, label))
        side = self.ends.of(fact)[_OPPOSITE[place]] or ""
        third.sides["subject" if self.is_loop else side].append(fact)

    def _third(self, name: str, label: str, pair: float | None = None) -> Third:
        title = named(name, label)
        called_the_same = label in self.prediction.labels.values()
        return Third(title if called_the_same else label, title, pair)


def _drawn(explanation: Explanation) -> tuple[list[ExplainedFact], int]:
    """All facts of the graph and the strongest listed facts; the number of facts left out."""
    graph = explanation.graph
    of_graph: list[ExplainedFact] = []
    if graph is not None:
        of_paths = (fact for path in graph.paths for fact in path.facts)
        of_graph = [*graph.between, *of_paths, *graph.same_relation]
    facts = {fact.fact_id: fact for fact in of_graph}
    listed = sorted(explanation.facts, key=lambda fact: -strength(fact.influence))
    more = [fact for fact in listed if fact.fact_id not in facts]
    facts |= {fact.fact_id: fact for fact in more[:_LISTED]}
    return list(facts.values()), max(len(more) - _LISTED, 0)


def _is_loop(prediction: NamedPrediction, facts: Sequence[ExplainedFact]) -> bool:
    if prediction.relation is None or prediction.subject != prediction.object:
        return False
    return all(("subject" in fact.parts) == ("object" in fact.parts) for fact in facts)


def _crosses(prediction: NamedPrediction, fact: ExplainedFact) -> bool:
    """Whether one of the prediction's entities certainly occurs in the other place."""
    return any(
        other in fact.parts
        and name_of(fact, place) == name_of(prediction, other)
        and name_of(fact, other) != name_of(prediction, other)
        for place, other in _OPPOSITE.items()
    )


@dataclass(frozen=True)
class EntityBox:
    """An entity."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    title: str
    in_prediction: bool = False
    note: str = ""


@dataclass(frozen=True)
class Look:
    """How a fact or the prediction is drawn."""

    sign: Sign
    width: float
    label: str
    note: str
    title: str


@dataclass(frozen=True)
class Edge:
    """A line from one x to another at a height; a loop turns and comes back."""

    x1: float
    x2: float
    y: float
    look: Look
    is_loop: bool = False


@dataclass(frozen=True)
class Words:
    """A line of text at a position."""

    x: float
    y: float
    text: str
    size: float
    bold: bool = False


@dataclass(frozen=True)
class Scene:
    """A whole picture."""

    width: float
    height: float
    boxes: tuple[EntityBox, ...]
    edges: tuple[Edge, ...]
    words: tuple[Words, ...]


def lay_out(explanation: Explanation) -> Scene:
    """The scene of an explanation."""
    return _Layout(explanation).scene()


class _Layout:
    """Builds a scene from top to bottom."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation, self.chosen = explanation, Chosen(explanation)
        self.prediction = explanation.prediction
        self.y: float = _TOP
        self.boxes: list[EntityBox] = []
        self.edges: list[Edge] = []
        self.words: list[Words] = []
        self.most = max((strength(fact.influence) for fact in self.chosen.facts()), default=0.0)
        self.left = _MARGIN + _PILLAR
        self.middle = self.left + _GAP
        self.right = self.middle + _BOX + _GAP
        last = self.middle + _BOX if self.chosen.is_loop else self.right + _PILLAR
        self.width = last + _MARGIN

    def scene(self) -> Scene:
        self._add_heading()
        self._add_lane(self._prediction_look(), "subject")
        for fact in self.chosen.between:
            self._add_lane(self._look(fact), self.chosen.ends.of(fact)["subject"])
        for side, facts in self.chosen.loops.items():
            for fact in facts:
                self._add_edge(*self._across(side), self._look(fact), is_loop=True)
        for third in self.chosen.thirds:
            self._add_third(third)
        self._add_pillars()
        self._add_others()
        if self.chosen.n_left_out:
            self.y += 28
            more = f"{self.chosen.n_left_out:,} more of the listed facts are not drawn."
            self.words.append(Words(_MARGIN, self.y - 6, more, SMALL))
        lists = (tuple(self.boxes), tuple(self.edges), tuple(self.words))
        return Scene(self.width, self.y + _LEGEND, *lists)

    def _add_heading(self) -> None:
        room = self.width - 2 * _MARGIN
        title = fit(fact_text(self.prediction), room, LARGE * _BOLD)
        self.words.append(Words(_MARGIN, 28, title, LARGE, bold=True))
        stands = fit(typographic(stands_text(self.explanation)), room, PLAIN)
        self.words.append(Words(_MARGIN, 48, stands, PLAIN))

    def _add_lane(self, look: Look, start: str | None) -> None:
        """Add an edge from pillar to pillar, or a loop if there is only one."""
        if self.chosen.is_loop:
            self._add_edge(self.left, self.middle, look, is_loop=True)
        elif start == "subject":
            self._add_edge(self.left, self.right, look)
        else:
            self._add_edge(self.right, self.left, look)

    def _add_third(self, third: Third) -> None:
        """Add a box in the middle, as high as its lanes and its text."""
        lines = wrap(third.label, _BOX - 14, PLAIN, 2)
        # Pairs are always rolled back.
        note = "" if third.pair is None else f"pair {fall_text(third.pair, self.explanation.of)}"
        lanes = max(map(len, third.sides.values()))
        top, height = self.y, max(_LANE * lanes, 16 * len(lines) + 15 * bool(note) + 14)
        place = (self.middle, top + 3, _BOX, height - 6)
        self.boxes.append(EntityBox(*place, lines, third.title, note=typographic(note)))
        for side, facts in third.sides.items():
            self.y = top + (height - _LANE * len(facts)) / 2
            for fact in facts:
                outwards = self.chosen.ends.of(fact)["subject"] is not None
                pillar, box = self._across(side)
                x1, x2 = (pillar, box) if outwards else (box, pillar)
                self._add_edge(x1, x2, self._look(fact))
        self.y = top + height

    def _across(self, side: str) -> tuple[float, float]:
        """The x range from a pillar to the boxes in the middle."""
        if side == "subject":
            return self.left, self.middle
        return self.right, self.right - _GAP

    def _add_edge(self, x1: float, x2: float, look: Look, *, is_loop: bool = False) -> None:
        """Add an edge in its own lane."""
        lane, room = _LOOP_LANE if is_loop else _LANE, abs(x2 - x1) - 24
        look = replace(look, label=fit(look.label, room, SMALL), note=fit(look.note, room, SMALL))
        self.edges.append(Edge(x1, x2, self.y + lane / 2, look, is_loop))
        self.y += lane

    def _add_pillars(self) -> None:
        self.y = max(self.y, _TOP + 64)
        places = {"subject": _MARGIN, "object": self.right}
        for place in ("subject",) if self.chosen.is_loop else places:
            name, label = name_of(self.prediction, place), label_of(self.prediction, place)
            lines = wrap(label, _PILLAR - 16, PLAIN * _BOLD, 3)
            size = (places[place], _TOP, _PILLAR, self.y - _TOP)
            self.boxes.append(EntityBox(*size, lines, named(name, label), in_prediction=True))

    def _add_others(self) -> None:
        facts = self.chosen.others
        if not facts:
            return
        self.y += 34
        heading = "Facts between other entities"
        self.words.append(Words(_MARGIN, self.y - 8, heading, PLAIN, bold=True))
        columns = 1 if self.chosen.is_loop else 2
        for index, fact in enumerate(facts):
            if index % columns:
                self.y -= _LANE
            self._add_other(_MARGIN + index % columns * (_CELL + _CELL_GAP), fact)

    def _add_other(self, x: float, fact: ExplainedFact) -> None:
        start, stop = x + _CELL_BOX, x + _CELL - _CELL_BOX
        for place, left in (("subject", x), ("object", stop)):
            name, label = name_of(fact, place), label_of(fact, place)
            lines = wrap(label, _CELL_BOX - 10, PLAIN, 2)
            size = (left, self.y + 2, _CELL_BOX, _LANE - 4)
            self.boxes.append(EntityBox(*size, lines, named(name, label)))
        self._add_edge(start, stop, self._look(fact))

    def _prediction_look(self) -> Look:
        """The prediction's own edge."""
        stands = typographic(standing_text(self.prediction))
        title = f"Predicted: {fact_text(self.prediction, full=True)}\n{stands}"
        label = label_of(self.prediction, "relation") or "predicted"
        return Look(PREDICTED, 3.0, label, stands, title)

    def _look(self, fact: ExplainedFact) -> Look:
        """A fact's edge; its width shows the influence."""
        share = strength(fact.influence) / self.most if self.most else 0.0
        sign = sign_of(fact.influence)
        note = typographic(influence_text(fact.influence, self.explanation))
        lines = [fact_text(fact, full=True), f"influence {note}: {sign.word}"]
        if fact.probability_without is not None:
            lines.append(f"probability without it {percent(fact.probability_without)}")
        title = "\n".join([*lines, f"fact {fact.fact_id}"])
        width = _THINNEST + (_THICKEST - _THINNEST) * share
        return Look(sign, width, label_of(fact, "relation"), note, title)
