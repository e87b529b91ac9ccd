"""The explanation graph as one self-contained SVG document.

The prediction's entities are two pillars, the subject on the left and the object on the right.
Every edge has its own lane between them, so that labels never overlap. Third entities are boxes in
the middle. Facts between other entities are below, two in a row.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from whereof.explain.explanation import ExplainedFact, Explanation, NamedPrediction
from whereof.present import names, svg
from whereof.present.names import fact_text, full_text_of, label_of, name_of, named, text_of
from whereof.present.svg import MUTED, PLAIN, PREDICTED, SMALL, fit, tag, with_tip, words, wrap
from whereof.units import chance, show, typographic

_LISTED = 10
"""Number of listed facts to draw in addition to those of the graph."""
_OPPOSITE = {"subject": "object", "object": "subject"}

_MARGIN, _PILLAR, _GAP, _BOX = 16, 150, 230, 168
"""Widths of pillars and boxes, and of the gaps that edges cross."""
_LEFT = _MARGIN + _PILLAR
_MIDDLE = _LEFT + _GAP
_RIGHT = _MIDDLE + _BOX + _GAP
_GAPS = {"subject": (_LEFT, _MIDDLE), "object": (_RIGHT, _RIGHT - _GAP)}
"""From a pillar to the boxes in the middle."""
_LANE, _LOOP_LANE = 40, 58
_LOOP = 20
"""Distance between the two lines of a loop."""
_CELL, _CELL_BOX, _CELL_GAP = 456, 140, 16
"""Facts between other entities: the whole, each of its boxes, and the gap between two in a row."""
_TOP, _LEGEND, _LEGEND_LINE = 68, 46, 20
_Place = tuple[float, float, float, float]
"""x, y, width and height of a box."""
_Sides = dict[str, list[ExplainedFact]]
"""Facts at the pillar of the subject, and at that of the object."""
_BOLD = 1.06
"""How much wider bold text is."""


def explanation_svg(explanation: Explanation, *, styled: bool = True) -> str:
    """Draw the explanation graph; styled: as a file of its own, with colours for a dark page."""
    return _Picture(explanation).draw(styled=styled)


def ground_names(*, two_way: bool) -> dict[str, str]:
    """What the grounds of the graph mean: which facts stand on them, or lead to them."""
    return {
        "between": "between the same two entities",
        "third": "other users and items" if two_way else "through a third entity",
        "other": "between other entities",
    }


@dataclass(frozen=True)
class Third:
    """An entity that facts connect to the prediction's subject, its object, or both."""

    label: str
    title: str
    pair: float | None = None
    """Joint influence of the strongest pair of facts through it."""
    sides: _Sides = field(default_factory=lambda: defaultdict(list))


class Chosen:
    """The facts of a picture, by what they connect."""

    def __init__(self, explanation: Explanation, n_listed: int = _LISTED) -> None:
        self.facts, self.n_left_out = _drawn(explanation, n_listed)
        self.prediction = explanation.prediction
        self.is_loop = _is_loop(self.prediction, self.facts)
        """Whether the prediction's subject is its object."""
        self._is_mixed = _is_mixed(explanation, self.facts)
        self.between: list[ExplainedFact] = []
        self.loops: _Sides = defaultdict(list)
        """Facts that connect the subject, or the object, to itself."""
        self.others: list[ExplainedFact] = []
        """Facts that contain no entity of the prediction."""
        self._thirds: dict[tuple[str, str], Third] = {}
        for path in explanation.graph.paths if explanation.graph else ():
            # The first path of an entity is its strongest.
            title = named(path.entity, path.label)
            self._third(("", path.entity), path.label, title, path.influence)
        for fact in self.facts:
            self._add(fact)
        self.thirds = tuple(self._thirds.values())

    def end(self, fact: ExplainedFact, place: str) -> str | None:
        """The place of the prediction with the same entity as this place of a fact."""
        for own in (place, _OPPOSITE[place]) if self._is_mixed else (place,):
            if own in fact.parts and name_of(fact, place) == name_of(self.prediction, own):
                return own
        return None

    def _add(self, fact: ExplainedFact) -> None:
        first, second = self.end(fact, "subject"), self.end(fact, "object")
        side = first or second
        if first and second:
            loop = first == second and not self.is_loop
            (self.loops[first] if loop else self.between).append(fact)
        elif side is None:
            self.others.append(fact)
        else:
            place = "object" if first else "subject"  # of the third entity
            name = name_of(fact, place)
            shared = self._is_mixed or ("", name) in self._thirds
            key = "" if shared else place, name
            third = self._third(key, text_of(fact, place), full_text_of(fact, place))
            third.sides["subject" if self.is_loop else side].append(fact)

    def _third(
        self, key: tuple[str, str], label: str, title: str, pair: float | None = None
    ) -> Third:
        """The third entity with this name, by its place if entities have only one."""
        shown = title if label in self.prediction.labels.values() else label
        return self._thirds.setdefault(key, Third(shown, title, pair))


def _drawn(explanation: Explanation, n_listed: int) -> tuple[list[ExplainedFact], int]:
    """All facts of the graph and the strongest listed facts; the number of facts left out."""
    graph, facts = explanation.graph, dict[int, ExplainedFact]()
    if graph is not None:
        of_paths = (fact for path in graph.paths for fact in path.facts)
        of_graph = (*graph.between, *of_paths, *graph.same_relation)
        facts |= {fact.fact_id: fact for fact in of_graph}
    listed = sorted(explanation.facts, key=_strength, reverse=True)
    more = [fact for fact in listed if fact.fact_id not in facts]
    return [*facts.values(), *more[:n_listed]], max(len(more) - n_listed, 0)


def _strength(fact: ExplainedFact) -> float:
    return abs(fact.influence) if math.isfinite(fact.influence) else 0.0


def _is_loop(prediction: NamedPrediction, facts: Sequence[ExplainedFact]) -> bool:
    if prediction.relation is None or prediction.subject != prediction.object:
        return False
    return all(("subject" in fact.parts) == ("object" in fact.parts) for fact in facts)


def _is_mixed(explanation: Explanation, drawn: Sequence[ExplainedFact]) -> bool:
    """Whether some fact shows that entities of this data occur in both places.

    In rating data a user and an item may have the same name. Only in mixed data is a name in the
    other place the same entity.
    """
    prediction, facts = explanation.prediction, [*drawn, *explanation.facts]
    crossing = (
        other in fact.parts
        and name_of(fact, place) == name_of(prediction, other)
        and name_of(fact, other) != name_of(prediction, other)
        for fact in facts
        for place, other in _OPPOSITE.items()
    )
    return prediction.relation is not None and (any(crossing) or _is_loop(prediction, facts))


class _Picture:
    """Draws edges, boxes and words from top to bottom."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation, self.chosen = explanation, Chosen(explanation)
        self.prediction = explanation.prediction
        self.y: float = _TOP
        self.band = ""
        """The ground of facts between the prediction's entities."""
        self.boxes, self.edges, self.words = list[str](), list[str](), list[str]()
        self.most = max(map(_strength, self.chosen.facts), default=0.0)
        last = _MIDDLE + _BOX if self.chosen.is_loop else _RIGHT + _PILLAR
        self.width = last + _MARGIN

    def draw(self, *, styled: bool) -> str:
        room = self.width - 2 * _MARGIN
        title = fit(fact_text(self.prediction), room, svg.LARGE * _BOLD)
        stands = fit(typographic(names.stands_text(self.explanation)), room, PLAIN)
        self.words.append(words(_MARGIN, 28, title, font_size=svg.LARGE, bold=True))
        self.words.append(words(_MARGIN, 48, stands, font_size=PLAIN))
        self._add_facts()
        self._add_pillars()
        self._add_others()
        if self.chosen.n_left_out:
            self.y += 28
            noun = names.fact_noun(self.explanation)
            more = f"{self.chosen.n_left_out:,} more of the listed {noun}s are not drawn."
            self.words.append(words(_MARGIN, self.y - 6, more))
        has = self.chosen.between, self.chosen.thirds, self.chosen.others
        every = ground_names(two_way=self.prediction.relation is None)
        grounds = [each for each, facts in zip(every.items(), has, strict=True) if facts]
        height = self.y + _LEGEND + _LEGEND_LINE * bool(grounds)
        title = names.prediction_text(self.explanation)
        about = f"{names.measure_text(self.explanation)}. Positive supports, negative opposes."
        more = names.estimated_title("influence", self.explanation)
        signs = [PREDICTED, *dict.fromkeys(svg.sign_of(it.influence) for it in self.chosen.facts)]
        first = self.y + _LEGEND - 18
        legend = [*_legend(first, [it for it in signs if it is not svg.NEITHER], more)]
        legend += _ground_legend(first + _LEGEND_LINE, grounds)
        parts = [self.band, *self.edges, *self.boxes, *self.words, *legend]
        return svg.picture(title, self.width, height, about, parts, dark=True, styled=styled)

    def _add_facts(self) -> None:
        chosen, is_loop = self.chosen, self.chosen.is_loop
        across = (_LEFT, _MIDDLE if is_loop else _RIGHT)
        self._add_edge(*across, None, is_loop=is_loop)
        top = self.y
        for fact in chosen.between:
            forwards = is_loop or chosen.end(fact, "subject") == "subject"
            self._add_edge(*(across if forwards else across[::-1]), fact, is_loop=is_loop)
        if chosen.between:
            size = {"width": across[1] - across[0], "height": self.y - top}
            self.band = tag("rect", x=_LEFT, y=top, **size, **_ground("between"))
        for side, gap in _GAPS.items():
            for fact in chosen.loops[side]:
                self._add_edge(*gap, fact, is_loop=True)
        for third in chosen.thirds:
            self._add_third(third)

    def _add_third(self, third: Third) -> None:
        lines = wrap(third.label, _BOX - 14, PLAIN, 2)
        note = "" if third.pair is None else f"pair {self._influence(third.pair)}"
        lanes = max(map(len, third.sides.values()), default=0)
        top, height = self.y, max(_LANE * lanes, 16 * len(lines) + 15 * bool(note) + 14)
        place = (_MIDDLE, top + 3, _BOX, height - 6)
        self.boxes.append(_box(place, lines, third.title, "third", note=note))
        for side, gap in _GAPS.items():
            self.y = top + (height - _LANE * len(third.sides[side])) / 2
            for fact in third.sides[side]:
                outwards = self.chosen.end(fact, "subject") is not None
                self._add_edge(*(gap if outwards else gap[::-1]), fact)
        self.y = top + height

    def _add_edge(
        self, x1: float, x2: float, fact: ExplainedFact | None, *, is_loop: bool = False
    ) -> None:
        """Add a fact, or the prediction, as an arrow in its own lane: label above, influence below.

        The width of a fact's arrow shows its influence.
        """
        if fact is None:
            sign, width = PREDICTED, 3.0
            label = label_of(self.prediction, "relation") or "predicted"
            note = typographic(names.standing_text(self.prediction))
            title = f"Predicted: {fact_text(self.prediction, full=True)}\n{note}"
        else:
            sign, label = svg.sign_of(fact.influence), label_of(fact, "relation")
            width = 1.2 + 4.8 * (_strength(fact) / self.most if self.most else 0.0)  # up to 6
            note = self._influence(fact.influence)
            estimated = partial(names.estimated_title, explanation=self.explanation)
            title = f"{fact_text(fact, full=True)}\n{estimated('influence')} {note}: {sign.word}"
            if fact.probability_without is not None:
                without = chance(fact.probability_without)
                title += f"\n{estimated('probability without it')} {without}"
            title += f"\nfact {fact.fact_id}"
        lane = _LOOP_LANE if is_loop else _LANE
        y, room, middle = self.y + lane / 2, abs(x2 - x1) - 24, (x1 + x2) / 2
        away = width / 2 + (_LOOP / 2 if is_loop else 0)
        label, bold = fit(label, room, SMALL), fact is None
        above = words(middle, y - away - 4, label, "middle", bold=bold) if label else ""
        below = words(middle, y + away + 11, fit(note, room, SMALL), "middle", fill=sign.text)
        arrow = _arrow(x1, x2, y, sign, width, is_loop=is_loop)
        which = None if fact is None else str(fact.fact_id)
        self.edges.append(with_tip(title, arrow, above, below, data_fact=which))
        self.y += lane

    def _add_pillars(self) -> None:
        self.y = max(self.y, _TOP + 64)
        places = {"subject": _MARGIN, "object": _RIGHT}
        for place in ("subject",) if self.chosen.is_loop else places:
            label, title = (write(self.prediction, place) for write in (text_of, full_text_of))
            lines = wrap(label, _PILLAR - 16, PLAIN * _BOLD, 3)
            size = (places[place], _TOP, _PILLAR, self.y - _TOP)
            self.boxes.append(_box(size, lines, title, "pillar"))

    def _add_others(self) -> None:
        if not self.chosen.others:
            return
        self.y += 34
        title = "Facts between other entities"
        self.words.append(words(_MARGIN, self.y - 8, title, font_size=PLAIN, bold=True))
        columns = 1 if self.chosen.is_loop else 2
        for index, fact in enumerate(self.chosen.others):
            if index % columns:
                self.y -= _LANE
            x = _MARGIN + index % columns * (_CELL + _CELL_GAP)
            start, stop = x + _CELL_BOX, x + _CELL - _CELL_BOX
            for place, left in (("subject", x), ("object", stop)):
                label, title = (write(fact, place) for write in (text_of, full_text_of))
                lines = wrap(label, _CELL_BOX - 10, PLAIN, 2)
                size = (left, self.y + 2, _CELL_BOX, _LANE - 4)
                self.boxes.append(_box(size, lines, title, "other"))
            self._add_edge(start, stop, fact)

    def _influence(self, value: float) -> str:
        return typographic(show(value, names.influence_unit(self.explanation)))


def _arrow(x1: float, x2: float, y: float, sign: svg.Sign, width: float, *, is_loop: bool) -> str:
    """A line and its head; a loop turns before x2 and comes back."""
    length, half = round(7 + width, 2), 3.5 + width / 2
    out, end, tip = 1 if x2 > x1 else -1, y, x2
    base = tip - out * length
    path = f"M{x1:g} {y:g}H{base:g}"
    if is_loop:
        end, tip, base = y + _LOOP / 2, x1, x1 + out * length
        turn = f"a{_LOOP / 2:g} {_LOOP / 2:g} 0 0 {int(out > 0)} 0 {_LOOP:g}"
        path = f"M{x1:g} {y - _LOOP / 2:g}H{x2 - out * 30:g}{turn}H{base:g}"
    line = tag("path", d=path, fill="none", **_stroke(sign), stroke_width=width)
    head = f"M{tip:g} {end:g}L{base:g} {end - half:.2f}V{end + half:.2f}Z"
    return line + tag("path", class_=sign.fill, d=head, fill=sign.line)


def _stroke(sign: svg.Sign) -> dict[str, str | None]:
    dashes = "9 5" if sign is PREDICTED else None
    return {"class_": sign.stroke, "stroke": sign.line, "stroke_dasharray": dashes}


def _ground(kind: str, rim: str = "") -> dict[str, str | None]:
    """The look of a surface, by its kind; rim: the colour of its border."""
    look = {"class_": f"{kind} rim" if rim else kind, "fill": svg.GROUNDS[kind]}
    return look | {"stroke": rim or None}


def _box(place: _Place, lines: Sequence[str], title: str, kind: str, *, note: str = "") -> str:
    """An entity: a rectangle with a name in the middle and a note below it."""
    x, y, width, height = place
    is_pillar = kind == "pillar"
    step, middle = PLAIN + 3, x + width / 2
    spare = height - step * len(lines) - bool(note) * (SMALL + 3)
    # At the height of the prediction's edge, a pillar's name reads on with it.
    first = y + (min(spare, 26) if is_pillar else spare) / 2 + PLAIN - 1
    texts = [
        words(middle, first + n * step, line, "middle", font_size=PLAIN, bold=is_pillar)
        for n, line in enumerate(lines)
    ]
    if note:
        texts.append(words(middle, first + len(lines) * step - 1, note, "middle", fill=MUTED))
    look = _ground(kind, MUTED if is_pillar else svg.RIM)
    body = tag("rect", x=x, y=y, width=width, height=height, rx=7, **look)
    return with_tip(title, body, *texts)


def _legend(y: float, signs: Sequence[svg.Sign], more: str) -> Iterator[str]:
    for x, sign in zip(count(16, 100), signs, strict=False):
        yield tag("path", d=f"M{x} {y - 4:g}h26", stroke_width=3, **_stroke(sign))
        yield words(x + 32, y, sign.word)
    yield words(16 + 100 * len(signs), y, f"thicker: more {more}", fill=MUTED)


def _ground_legend(y: float, grounds: Iterable[tuple[str, str]]) -> Iterator[str]:
    x = 16.0
    for kind, text in grounds:
        yield tag("rect", x=x, y=y - 10, width=12, height=12, rx=3, **_ground(kind, svg.RIM))
        yield words(x + 18, y, text)
        x += 18 + svg.text_width(text, SMALL) + 16
