"""The drawn explanation graph: everything appears once, in its place, and nothing overlaps."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import pytest
from trained import train

import whereof
from present import documents
from present.documents import HOSTILE, fact, made
from whereof.explain.explanation import Explanation
from whereof.present.graph import Chosen, explanation_svg
from whereof.present.svg import GROUNDS, OPPOSES, SUPPORTS, text_width

SVG = "{http://www.w3.org/2000/svg}"
LONG = "/travel/travel_destination/climate./travel/travel_destination_monthly_climate/month"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("drawn") / "run")


def small() -> Explanation:
    return made(documents.small())


def ratings() -> Explanation:
    return made(documents.ratings())


def explanation(*given: Any, **changes: Any) -> Explanation:
    return made(documents.explanation(*given, **changes))


def crowded() -> Explanation:
    """A graph with names too long for their places."""
    names = [f"Broadcast Film Critics Association Award number {number}" for number in range(6)]
    pairs = [
        (
            fact(2 * n, ("ann", LONG, name), 0.1, ("subject",)),
            fact(2 * n + 1, (name, LONG, "bob"), -0.1, ("object",)),
        )
        for n, name in enumerate(names)
    ]
    paths = [
        {"entity": name, "label": name, "facts": pair, "influence": 0.3, "probability_without": 0.2}
        for name, pair in zip(names, pairs, strict=True)
    ]
    more = [
        fact(20 + n, (LONG + str(n), "likes", LONG), 0.3 - n / 10, ("relation",)) for n in range(5)
    ]
    graph = {"between": more[:0], "same_relation": more, "paths": paths}
    return explanation(("ann", "likes", "bob"), [pairs[0][0]], graph=graph)


def drawn(document: Explanation) -> ElementTree.Element:
    return ElementTree.fromstring(explanation_svg(document))


def titles(document: Explanation) -> list[str]:
    """First lines of the tooltips of edges and entities."""
    found = (group.find(f"{SVG}title") for group in drawn(document).iter(f"{SVG}g"))
    return [(title.text or "").splitlines()[0] for title in found if title is not None]


@dataclass
class Edge:
    start: float
    end: float
    is_loop: bool
    colour: str
    width: float


def edges(document: Explanation) -> dict[str, Edge]:
    """The edges of a picture by the first lines of their tooltips."""
    found = {}
    for group in drawn(document).iter(f"{SVG}g"):
        line = group.find(f"{SVG}path")
        if line is not None:
            path = line.attrib["d"]
            start, end = (float(re.findall(rf"{mark}([\d.]+)", path)[-1]) for mark in "MH")
            look = line.attrib["stroke"], float(line.attrib["stroke-width"])
            title = group.findtext(f"{SVG}title") or ""
            found[title.splitlines()[0]] = Edge(start, end, "a" in path, *look)
    return found


def spots(root: ElementTree.Element) -> Iterator[tuple[str, float, float, float, float]]:
    """Every text with its approximate start and end."""
    for text in root.iter(f"{SVG}text"):
        size, said = float(text.attrib["font-size"]), text.text or ""
        width = text_width(said, size)
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        left = x - width / 2 if text.get("text-anchor") == "middle" else x
        yield said, left, y - 0.75 * size, left + width, y + 0.22 * size


def overlaps(document: Explanation) -> list[tuple[str, str]]:
    return [
        (one[0], two[0])
        for one, two in combinations(spots(drawn(document)), 2)
        if one[1] < two[3] and two[1] < one[3] and one[2] < two[4] and two[2] < one[4]
    ]


def test_every_fact_is_drawn_once() -> None:
    found = titles(small())
    expected = [f"{f.subject} {f.relation} {f.object}" for f in small().facts]
    assert sorted(title for title in found if " " in title) == sorted(
        [*expected, "Predicted: ann likes bob"]
    )
    # Beside the edges: one box an entity, and two a fact between others.
    assert [title for title in found if " " not in title] == [
        "cy", "ann", "bob", "di", "ed", "fay", "gus"
    ]  # fmt: skip


def test_what_facts_join() -> None:
    chosen = Chosen(small())
    ids = [fact.fact_id for fact in chosen.between]
    assert (chosen.is_loop, ids, len(chosen.others)) == (False, [0, 1], 2)
    assert {side: [f.fact_id for f in facts] for side, facts in chosen.loops.items()} == {
        "subject": [5],
        "object": [6],
    }
    (third,) = chosen.thirds
    assert [[f.fact_id for f in facts] for facts in third.sides.values()] == [[2], [3]]


def test_edges_point_where_facts_do() -> None:
    found = edges(small())
    assert found["ann likes bob"].start < found["ann likes bob"].end
    assert found["bob knows ann"].start > found["bob knows ann"].end
    assert found["ann knows cy"].start < found["cy likes bob"].start < found["cy likes bob"].end
    loops = {name for name, edge in found.items() if edge.is_loop}
    assert loops == {"ann knows ann", "bob knows bob"}


def test_signs_have_colours_and_strength_has_width() -> None:
    found = edges(small())
    assert SUPPORTS.line != OPPOSES.line
    assert found["ann likes bob"].colour == SUPPORTS.line
    assert found["bob knows ann"].colour == OPPOSES.line
    widths = [found[name].width for name in ("ann likes bob", "bob knows ann", "ann knows cy")]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 3


def test_kinds_of_facts_have_grounds_of_their_own() -> None:
    def grounds(document: Explanation) -> list[str]:
        found = (it.get("class", "").split()[0] for it in drawn(document).iter(f"{SVG}rect"))
        return [kind for kind in found if kind in GROUNDS]

    # The boxes, and a key for each ground in the legend.
    assert Counter(grounds(small())) == {"pillar": 2, "between": 2, "third": 2, "other": 5}
    assert "through a third entity" in explanation_svg(small())
    assert "other users and items" in explanation_svg(ratings())
    assert grounds(explanation(("ann", "likes", "bob"), [])) == ["pillar", "pillar"]


def test_tooltips_say_it_all() -> None:
    def titles(**changes: Any) -> set[str | None]:
        return {element.text for element in drawn(replace(small(), **changes)).iter(f"{SVG}title")}

    title = "ann likes bob\n{0}influence +40.0 points: supports\n{0}probability without it 25.0%"
    assert f"{title.format('estimated ')}\nfact 0" in titles()
    assert f"{title.format('')}\nfact 0" in titles(estimate=False)


def test_a_self_loop_has_one_pillar() -> None:
    facts = [
        fact(0, ("usa", "embassy", "usa"), 0.2, ("subject", "relation", "object")),
        fact(1, ("usa", "embassy", "uk"), 0.1, ("subject", "relation", "object")),
        fact(2, ("uk", "aids", "usa"), 0.1, ("subject", "object")),
    ]
    document = explanation(("usa", "embassy", "usa"), facts)
    assert [title for title in titles(document) if " " not in title] == ["uk", "usa"]
    assert [edge.is_loop for edge in edges(document).values()] == [True, True, False, False]
    assert not overlaps(document)


def test_a_user_and_an_item_of_one_name_are_two() -> None:
    chosen = Chosen(ratings())
    assert not chosen.is_loop
    assert [third.label for third in chosen.thirds] == ["item 9", "user 9"]
    rated = explanation(
        ("4", "film", "3"),
        [
            fact(0, ("4", "other", "4"), 0.3, ("subject",)),
            fact(1, ("4", "film", "5"), 0.2, ("subject", "relation")),
            fact(2, ("5", "film", "3"), 0.1, ("relation", "object")),
        ],
    )
    assert [third.title for third in Chosen(rated).thirds] == ["4", "5", "5"]


def test_another_entity_of_the_same_label_is_told_apart() -> None:
    labels = {"subject": "The Tourist", "relation": "by", "object": "Gary"}
    facts = [fact(0, ("/m/2", "by", "/m/3"), 0.1, ("relation", "object"), labels=labels)]
    document = explanation(("/m/1", "by", "/m/3"), facts, prediction={"labels": labels})
    assert Chosen(document).thirds[0].label == "The Tourist (/m/2)"


def test_ratings_show_their_score() -> None:
    text = explanation_svg(ratings())
    assert "rating 4.12, rank 2 among 1,200 new items" in text
    assert "probability" not in text
    assert titles(ratings())[:2] == ["Predicted: user 4, item 4", "user 4, item 9"]


@pytest.mark.parametrize("graph", [None, {"between": (), "same_relation": (), "paths": ()}])
def test_without_facts_the_prediction_is_drawn(graph: Any) -> None:
    document = explanation(("ann", "likes", "bob"), [], graph=graph)
    assert titles(document) == ["Predicted: ann likes bob", "ann", "bob"]


def test_only_the_strongest_of_a_long_list_are_drawn() -> None:
    facts = [fact(n, ("ann", "likes", f"x{n}"), n - 20.0, ("subject",)) for n in range(31)]
    document = explanation(("ann", "likes", "bob"), facts)
    ids = [third.sides["subject"][0].fact_id for third in Chosen(document).thirds]
    assert ids == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert "21 more of the listed facts are not drawn." in explanation_svg(document)


def test_hostile_names_stay_text() -> None:
    hostile = fact(0, (HOSTILE, HOSTILE, HOSTILE + "!"), 0.1, ("subject", "relation"))
    root = drawn(explanation((HOSTILE, HOSTILE, "b"), [hostile]))
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "title", "desc", "style", "rect", "path", "text", "g")
    }
    shown = HOSTILE.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    assert f"Predicted: {shown} {shown} b" in titles(explanation((HOSTILE, HOSTILE, "b"), []))


def test_nothing_outside_is_referred_to() -> None:
    text = explanation_svg(crowded())
    assert text.count("http") == 1
    assert "href" not in text
    assert "url(" not in text


@pytest.mark.parametrize("document", [small(), crowded(), ratings()])
def test_texts_do_not_overlap_and_stay_inside(document: Explanation) -> None:
    assert not overlaps(document)
    root = drawn(document)
    for said, left, top, right, bottom in spots(root):
        assert left >= 0, said
        assert top >= 0, said
        assert right <= float(root.attrib["width"]), said
        assert bottom <= float(root.attrib["height"]), said


@pytest.mark.parametrize("names", [("egypt", "embassy", "usa"), ("usa", "embassy", "usa")])
def test_a_real_graph_is_drawn_whole(run: whereof.Run, names: tuple[str, ...]) -> None:
    document = run.explain(*names, graph=True, stability=True)
    graph = document.graph
    assert graph is not None
    facts = [*document.facts, *graph.between, *graph.same_relation]
    facts += [fact for path in graph.paths for fact in path.facts]
    expected = {f"{f.subject} {f.relation} {f.object}" for f in facts}
    assert expected <= set(titles(document))
    assert not overlaps(document)
    assert explanation_svg(document) == explanation_svg(document)


def test_opposing_facts_of_a_real_run(run: whereof.Run) -> None:
    document = run.explain("egypt", "embassy", "usa", opposing=True)
    colours = [edge.colour for edge in edges(document).values()]
    assert colours[1:] == [OPPOSES.line] * 10
