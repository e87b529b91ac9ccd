"""Where the explanation graph of a page has its nodes and edges: the same for the same facts.

The prediction's entities are two pillars; every edge has its own lane between them. If they are
the same entity, it stands on both sides: facts lead from the left to the right. From the top:
facts between the two, the prediction, facts through third entities, what opposes it, and facts
between other entities.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from whereof.explain.explanation import ExplainedFact, Explanation
from whereof.present.graph import Chosen, Third
from whereof.present.names import label_of, name_of
from whereof.present.pages.words import Words, short_relation
from whereof.present.svg import PLAIN, SMALL, fit, sign_of, wrap

_PILLAR, _BOX, _GAP, _LANE = 112, 150, 118, 30
_LEFT, _RIGHT = -(_BOX / 2 + _GAP + _PILLAR / 2), _BOX / 2 + _GAP + _PILLAR / 2
_APART, _SPACE = 18, 8
"""Room above a part of another kind, and between two boxes."""
_DRAWN = 40
"""Number of listed facts to draw at most."""


def graph_layout(explanation: Explanation, words: Words) -> dict[str, Any]:
    """Nodes and edges with their positions, as a script draws them."""
    return _Layout(explanation, words).document()


@dataclass
class _Layout:
    explanation: Explanation
    words: Words
    y: float = 0.0
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        chosen = self.chosen = Chosen(self.explanation, _DRAWN)
        listed = {fact.fact_id for fact in self.explanation.facts}
        self.most = max((abs(fact.influence) for fact in chosen.facts), default=0.0)
        self.listed = listed
        for fact in _signed(chosen.between, positive=True):
            self._between(fact)
        self._prediction()
        for positive in (True, False):
            self.y += _APART / 2
            if not positive:
                for fact in _signed(chosen.between, positive=False):
                    self._between(fact)
            for third in self._thirds(positive=positive):
                self._third(third)
        self._pillars()
        self._others()
        return {
            "nodes": self.nodes,
            "edges": self.edges,
            "width": 2 * _RIGHT + _PILLAR,
            "height": self.y,
        }

    def _thirds(self, *, positive: bool) -> list[Third]:
        """Third entities, those in favour or those against, strongest first."""
        thirds = [*self.chosen.thirds]
        for side, facts in self.chosen.loops.items():
            label = label_of(self.explanation.prediction, side) if facts else ""
            if facts:
                thirds.append(Third(label, label, sides={side: facts}))
        sums = {
            id(each): sum(f.influence for side in each.sides.values() for f in side)
            for each in thirds
        }
        found = [
            each
            for each in thirds
            if (sums[id(each)] >= 0) == positive and any(each.sides.values())
        ]
        return sorted(found, key=lambda each: -abs(sums[id(each)]))

    def _prediction(self) -> None:
        prediction = self.explanation.prediction
        label = label_of(prediction, "relation") if prediction.relation is not None else "predicted"
        self.prediction_y = self.y + _LANE / 2
        width = 2 * _GAP + _BOX
        self._edge("prediction", "subject", "object", label, width, sign="predicted", thick=3.0)
        self.y += _LANE

    def _between(self, fact: ExplainedFact) -> None:
        forwards = self.chosen.is_loop or self.chosen.end(fact, "subject") == "subject"
        ends = ("subject", "object") if forwards else ("object", "subject")
        self._fact(fact, *ends, 2 * _GAP + _BOX)
        self.y += _LANE

    def _third(self, third: Third) -> None:
        fact, place = _first(third, self.chosen)
        name = name_of(fact, place)
        key = f"third-{len(self.nodes)}"
        label = self.words.label(name, label_of(fact, place), place)
        lines = wrap(label, _BOX - 12, PLAIN, 2)
        lanes = max(len(facts) for facts in self._sides(third).values())
        top, height = self.y, max(_LANE * lanes, 15 * len(lines) + 10)
        self._node(key, 0, top + height / 2, _BOX, height, lines, "third", name, place)
        for side, facts in self._sides(third).items():
            self.y = top + (height - _LANE * len(facts)) / 2
            for fact in facts:
                outwards = self.chosen.end(fact, "subject") is not None
                self._fact(fact, *((side, key) if outwards else (key, side)), _GAP)
                self.y += _LANE
        self.y = top + height + _SPACE

    def _sides(self, third: Third) -> dict[str, list[ExplainedFact]]:
        """The facts of a third entity by pillar; of a loop, those that lead back on the right."""
        if not self.chosen.is_loop:
            return dict(third.sides)
        sides: dict[str, list[ExplainedFact]] = {"subject": [], "object": []}
        for fact in (fact for side in third.sides.values() for fact in side):
            sides["subject" if self.chosen.end(fact, "subject") else "object"].append(fact)
        return sides

    def _others(self) -> None:
        """Facts between other entities, below: one in a row."""
        if not self.chosen.others:
            return
        self.y += _APART
        title = "Other facts of the same relation"
        if any("relation" not in fact.parts for fact in self.chosen.others):
            title = "Facts between other entities"
        self._node("others", 0, self.y, 2 * _RIGHT, 16, (title,), "title", "", "")
        self.y += 18
        for fact in sorted(self.chosen.others, key=lambda fact: -fact.influence):
            keys = list[str]()
            for place, x in (("subject", _LEFT + 19), ("object", _RIGHT - 19)):
                name = name_of(fact, place)
                key = f"{place}-{fact.fact_id}"
                lines = (
                    fit(self.words.label(name, label_of(fact, place), place), _BOX - 12, PLAIN),
                )
                self._node(key, x, self.y + _LANE / 2, _BOX, _LANE - 6, lines, "third", name, place)
                keys.append(key)
            self._fact(fact, keys[0], keys[1], 2 * _GAP)
            self.y += _LANE

    def _pillars(self) -> None:
        prediction = self.explanation.prediction
        height = max(self.y, 70.0)
        self.y = height
        ends = {"subject": _LEFT, "object": _RIGHT}
        for place in ends:
            name = name_of(prediction, place)
            label = self.words.label(name, label_of(prediction, place), place)
            lines = wrap(label, _PILLAR - 14, PLAIN * 1.06, 6)
            self._node(place, ends[place], height / 2, _PILLAR, height, lines, "end", name, place)
            # The name stands at the height of the prediction, if it fits.
            half = 8 * len(lines) + 6
            at = min(max(self.prediction_y, half), height - half)
            self.nodes[-1]["shift"] = round(at - height / 2, 1)

    def _fact(self, fact: ExplainedFact, source: str, target: str, width: float) -> None:
        label = label_of(fact, "relation") if fact.relation is not None else ""
        if fact.rating is not None:
            label = f"{fact.rating:g}"
        thick = 1.2 + 4.3 * (abs(fact.influence) / self.most if self.most else 0.0)
        more = {"fact": fact.fact_id, "listed": fact.fact_id in self.listed}
        sign = sign_of(fact.influence).word
        self._edge(
            f"fact-{fact.fact_id}", source, target, label, width, sign=sign, thick=thick, **more
        )

    def _edge(
        self, key: str, source: str, target: str, label: str, width: float, **more: Any
    ) -> None:
        self.edges.append(
            {
                "id": key,
                "source": source,
                "target": target,
                "label": fit(short_relation(label), width - 8, SMALL),
                "y": self.y + _LANE / 2,
                **more,
            }
        )

    def _node(
        self,
        key: str,
        x: float,
        y: float,
        width: float,
        height: float,
        lines: Sequence[str],
        kind: str,
        name: str,
        place: str,
    ) -> None:
        node = {"id": key, "x": x, "y": y, "width": width, "height": height, "kind": kind}
        self.nodes.append(node | {"label": "\n".join(lines), "name": name, "place": place})


def _signed(facts: Sequence[ExplainedFact], *, positive: bool) -> list[ExplainedFact]:
    found = [fact for fact in facts if (fact.influence >= 0) == positive]
    return sorted(found, key=lambda fact: abs(fact.influence), reverse=not positive)


def _first(third: Third, chosen: Chosen) -> tuple[ExplainedFact, str]:
    """A fact of a third entity, and the place of the entity in it."""
    fact = next(fact for facts in third.sides.values() for fact in facts)
    return fact, "object" if chosen.end(fact, "subject") else "subject"
