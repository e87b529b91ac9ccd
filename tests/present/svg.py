"""Parse charts: their texts and positions."""

from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def parsed(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    for name in ("title", "desc"):
        found = root.find(f"{SVG}{name}")
        assert found is not None
        assert found.text
    return root


def words(root: ElementTree.Element) -> list[str]:
    return [item.text or "" for item in root.iter(f"{SVG}text")]


def numbers(item: ElementTree.Element, *names: str) -> tuple[float, ...]:
    return tuple(float(item.attrib[name]) for name in names)


def discs(root: ElementTree.Element) -> list[tuple[float, float]]:
    return [numbers(item, "cx", "cy")[:2] for item in root.iter(f"{SVG}circle")]  # type: ignore[misc]


def lines(root: ElementTree.Element, name: str) -> list[tuple[float, float, float, float]]:
    return [
        numbers(item, "x1", "y1", "x2", "y2")  # type: ignore[misc]
        for item in root.iter(f"{SVG}line")
        if name in item.attrib["class"].split()
    ]


def described(root: ElementTree.Element) -> str:
    return root.findtext(f"{SVG}desc") or ""


def is_inside(root: ElementTree.Element) -> bool:
    """Whether nothing is drawn outside the picture; parts stand below the title."""
    width, height = numbers(root, "width", "height")
    spots = [numbers(item, "x", "y") for item in root.iter(f"{SVG}text")]
    spots += [(x, y) for a, b, c, d in _all_lines(root) for x, y in ((a, b), (c, d))]
    spots += discs(root)
    return all(0 <= x <= width and 0 <= y <= height for x, y in spots)


def _all_lines(root: ElementTree.Element) -> list[tuple[float, ...]]:
    return [numbers(item, "x1", "y1", "x2", "y2") for item in root.iter(f"{SVG}line")]
