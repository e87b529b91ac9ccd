"""Where the explanation graph of a page has its nodes and edges: the same for the same facts.

The prediction's entities are two pillars; every edge has its own lane between them. If they are
the same entity, it stands on both sides: facts lead from the left to the right. From the top:
facts between the two, the prediction, facts through third entities, what opposes it, and facts
between other entities. Each of the three groups has its own ground: a band, or the boxes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whereof.explain.explanation import ExplainedFact, Explanation
from whereof.present.graph import Chosen, Third, ground_names
from whereof.present.names import Words, label_of, name_of, short_relation
from whereof.present.svg import PLAIN, SMALL, fit, safe, sign_of, tag, wrap

_PILLAR, _BOX, _GAP, _LANE = 112, 150, 118, 30
_LEFT, _RIGHT = -(_BOX / 2 + _GAP + _PILLAR / 2), _BOX / 2 + _GAP + _PILLAR / 2
_APART, _SPACE = 18, 8
"""Room above a part of another kind, and between two boxes."""
_LARGEST = 1.15
"""How far a picture is enlarged to fill its column."""
_LINE = 15.6
"""Height of a line in a box."""
_DRAWN = 40
"""Number of listed facts to draw at most."""


def graph_layout(explanation: Explanation, words: Words) -> dict[str, Any]:
    """Nodes and edges with their positions, as a script draws them."""
    return _Layout(explanation, words).document()


def graph_legend(layout: Mapping[str, Any], words: Words) -> list[tuple[str, str]]:
    """Kinds and names of what the graph shows."""
    edges, kinds = layout["edges"], {node["kind"] for node in layout["nodes"]}
    signs = {edge["sign"] for edge in edges}
    unlisted = {edge["sign"] for edge in edges if not edge.get("listed", True)}
    grounds = ground_names(two_way=words.two_way)
    every = [
        ("predicted", "predicted", True),
        ("supports", "supports", "supports" in signs),
        ("opposes", "opposes", "opposes" in signs),
        ("pale supports", "supports, not in the list", "supports" in unlisted),
        ("pale opposes", "opposes, not in the list", "opposes" in unlisted),
        ("pale", "not in the list", bool(unlisted - {"supports", "opposes"})),
        ("ground band", grounds["between"], "band" in kinds),
        ("ground third", grounds["third"], "third" in kinds),
        ("ground other", grounds["other"], "other" in kinds),
    ]
    return [(kind, text) for kind, text, is_shown in every if is_shown]


def layout_svg(layout: Mapping[str, Any]) -> str:
    """The same as a picture, for readers without the script, and until it has started.

    The style sheet has its colours; sizes are those that the script gives to Cytoscape.
    """
    nodes, width = {node["id"]: node for node in layout["nodes"]}, layout["width"]
    parts = [_node_svg(node) for node in nodes.values() if node["kind"] == "band"]
    parts += [_edge_svg(edge, nodes) for edge in layout["edges"]]
    parts += [_node_svg(node) for node in nodes.values() if node["kind"] != "band"]
    box = f"{-width / 2:g} 0 {width:g} {layout['height']:g}"
    size = {"width": _LARGEST * width, "height": _LARGEST * layout["height"]}
    return tag("svg", *parts, viewBox=box, **size, aria_hidden="true")


def _node_svg(node: Mapping[str, Any]) -> str:
    kind, x, y = node["kind"], node["x"], node["y"]
    width, height, lines = node["width"], node["height"], node["label"].split("\n")
    corner = {"x": x - width / 2, "y": y - height / 2, "rx": min(8.0, height / 4)}
    rect = tag("rect", **corner, width=width, height=height) if kind != "title" else ""
    first = y + node.get("shift", 0) + 4.5 - _LINE * (len(lines) - 1) / 2
    texts = [
        tag("text", safe(text), x=x, y=first + _LINE * place) for place, text in enumerate(lines)
    ]
    return tag("g", rect, *texts, class_=f"node {kind}")


def _edge_svg(edge: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> str:
    source, target = nodes[edge["source"]], nodes[edge["target"]]
    out, y, thick = 1 if target["x"] > source["x"] else -1, edge["y"], edge["thick"]
    start = source["x"] + out * source["width"] / 2
    tip = target["x"] - out * target["width"] / 2
    size = 0.9 * max((13.37 * thick) ** 0.9, 29.0)  # of Cytoscape's arrows
    base, half = tip - out * 0.3 * size, 0.15 * size
    line = tag("path", d=f"M{start:g} {y:g}H{base:.1f}", stroke_width=thick)
    head = tag("path", class_="head", d=f"M{tip:g} {y:g}L{base:.1f} {y - half:.1f}v{2 * half:.1f}Z")
    label = tag("text", safe(edge["label"]), x=(start + tip) / 2, y=y - 4) if edge["label"] else ""
    pale = "" if edge.get("listed", True) else " pale"
    return tag("g", line, head, label, class_=f"edge {edge['sign'].replace(' ', '-')}{pale}")


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
        self._between(_signed(chosen.between, positive=True))
        self._prediction()
        for positive in (True, False):
            self.y += _APART / 2
            if not positive:
                self._between(_signed(chosen.between, positive=False))
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

    def _between(self, facts: Sequence[ExplainedFact]) -> None:
        top, width = self.y, 2 * _GAP + _BOX
        for fact in facts:
            forwards = self.chosen.is_loop or self.chosen.end(fact, "subject") == "subject"
            ends = ("subject", "object") if forwards else ("object", "subject")
            self._fact(fact, *ends, width)
            self.y += _LANE
        if facts:
            middle, height, key = (top + self.y) / 2, self.y - top, f"band-{len(self.nodes)}"
            self._node(key, 0, middle, width, height, (), "band", "", "")

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
                self._node(key, x, self.y + _LANE / 2, _BOX, _LANE - 6, lines, "other", name, place)
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
