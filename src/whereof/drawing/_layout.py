"""What stands where in the picture of an explanation graph.

The prediction's entities are two pillars, its subject left and its object right; every edge is a
lane of its own between them, so that no two labels meet. Third entities are boxes in the middle.
Facts between other entities stand below, two in a row.
"""

from dataclasses import replace

from whereof.drawing._choosing import Chosen, Third, choose
from whereof.drawing._colours import strength
from whereof.drawing._fitting import fit, wrap
from whereof.drawing._scene import (
    LARGE,
    PLAIN,
    SMALL,
    Box,
    Edge,
    Look,
    Scene,
    Words,
    fact_look,
    prediction_look,
)
from whereof.drawing._text import Document, fact_text, fall_text, label_of, named, stands_text

_MARGIN, _PILLAR, _GAP, _BOX = 16, 150, 230, 168
"""Widths: pillars and boxes, with the gaps that edges cross."""
_LANE, _LOOP_LANE = 40, 58
_CELL, _CELL_BOX, _CELL_GAP = 456, 140, 16
"""Facts between other entities: the whole, each of its boxes, and what parts two in a row."""
_TOP, _LEGEND = 68, 46
_BOLD = 1.06
"""How much wider bold text is."""


def lay_out(document: Document) -> Scene:
    """The scene of an explanation."""
    return _Laying(document, choose(document)).scene()


class _Laying:
    """A scene in the making, from top to bottom."""

    def __init__(self, document: Document, chosen: Chosen) -> None:
        self.document, self.chosen = document, chosen
        self.prediction = document["prediction"]
        self.y: float = _TOP
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self.words: list[Words] = []
        self.most = max((strength(fact["influence"]) for fact in chosen.facts()), default=0.0)
        self.left = _MARGIN + _PILLAR
        self.middle = self.left + _GAP
        self.right = self.middle + _BOX + _GAP
        last = self.middle + _BOX if chosen.is_loop else self.right + _PILLAR
        self.width = last + _MARGIN

    def scene(self) -> Scene:
        self._add_heading()
        self._add_lane(prediction_look(self.prediction), "subject")
        for fact in self.chosen.between:
            self._add_lane(self._look(fact), self.chosen.ends.of(fact)["subject"])
        for side, facts in self.chosen.loops.items():
            for fact in facts:
                self._add_edge(*self._across(side), self._look(fact), is_loop=True)
        for third in self.chosen.thirds:
            self._add_third(third)
        self._add_pillars()
        self._add_others()
        self._add_left_out()
        lists = (tuple(self.boxes), tuple(self.edges), tuple(self.words))
        return Scene(self.width, self.y + _LEGEND, *lists)

    def _add_heading(self) -> None:
        room = self.width - 2 * _MARGIN
        title = fit(fact_text(self.prediction), room, LARGE * _BOLD)
        self.words.append(Words(_MARGIN, 28, title, LARGE, bold=True))
        stands = fit(stands_text(self.document), room, PLAIN)
        self.words.append(Words(_MARGIN, 48, stands, PLAIN))

    def _add_lane(self, look: Look, start: str | None) -> None:
        """An edge from pillar to pillar, or back to the only one."""
        if self.chosen.is_loop:
            self._add_edge(self.left, self.middle, look, is_loop=True)
        elif start == "subject":
            self._add_edge(self.left, self.right, look)
        else:
            self._add_edge(self.right, self.left, look)

    def _add_third(self, third: Third) -> None:
        """A box in the middle, as high as its lanes on either side and its words."""
        lines = wrap(third.label, _BOX - 14, PLAIN, 2)
        note = "" if third.pair is None else self._pair(third.pair)
        lanes = max(map(len, third.sides.values()))
        top, height = self.y, max(_LANE * lanes, 16 * len(lines) + 15 * bool(note) + 14)
        place = (self.middle, top + 3, _BOX, height - 6)
        self.boxes.append(Box(*place, lines, third.title, note=note))
        for side, facts in third.sides.items():
            self.y = top + (height - _LANE * len(facts)) / 2
            for fact in facts:
                outwards = self.chosen.ends.of(fact)["subject"] is not None
                pillar, box = self._across(side)
                x1, x2 = (pillar, box) if outwards else (box, pillar)
                self._add_edge(x1, x2, self._look(fact))
        self.y = top + height

    def _across(self, side: str) -> tuple[float, float]:
        """From a pillar to where boxes in the middle begin."""
        if side == "subject":
            return self.left, self.middle
        return self.right, self.right - _GAP

    def _add_edge(self, x1: float, x2: float, look: Look, *, is_loop: bool = False) -> None:
        """An edge in a lane of its own."""
        lane, room = _LOOP_LANE if is_loop else _LANE, abs(x2 - x1) - 24
        look = replace(look, label=fit(look.label, room, SMALL), note=fit(look.note, room, SMALL))
        self.edges.append(Edge(x1, x2, self.y + lane / 2, look, is_loop))
        self.y += lane

    def _add_pillars(self) -> None:
        self.y = max(self.y, _TOP + 64)
        places = {"subject": _MARGIN, "object": self.right}
        for place in ("subject",) if self.chosen.is_loop else places:
            name, label = self.prediction[place], label_of(self.prediction, place)
            lines = wrap(label, _PILLAR - 16, PLAIN * _BOLD, 3)
            size = (places[place], _TOP, _PILLAR, self.y - _TOP)
            self.boxes.append(Box(*size, lines, named(name, label), in_prediction=True))

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

    def _add_other(self, x: float, fact: Document) -> None:
        start, stop = x + _CELL_BOX, x + _CELL - _CELL_BOX
        for place, left in (("subject", x), ("object", stop)):
            name, label = fact[place], label_of(fact, place)
            lines = wrap(label, _CELL_BOX - 10, PLAIN, 2)
            size = (left, self.y + 2, _CELL_BOX, _LANE - 4)
            self.boxes.append(Box(*size, lines, named(name, label)))
        self._add_edge(start, stop, self._look(fact))

    def _add_left_out(self) -> None:
        if self.chosen.n_left_out:
            self.y += 28
            more = f"{self.chosen.n_left_out:,} more of the listed facts are not drawn."
            self.words.append(Words(_MARGIN, self.y - 6, more, SMALL))

    def _look(self, fact: Document) -> Look:
        return fact_look(fact, self.document, self.most)

    def _pair(self, influence: float) -> str:
        """What both facts of a pair do; pairs are always rolled back."""
        return f"pair {fall_text(influence, self.document['of'])}"
