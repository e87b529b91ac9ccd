"""The explanation graph as one self-contained SVG document."""

from collections.abc import Iterator

from whereof.explain.explanation import Explanation
from whereof.present.graph import Edge, EntityBox, Scene, Words, lay_out
from whereof.present.names import measure_text, prediction_text
from whereof.present.svg import (
    FONT,
    GROUND,
    INK,
    MUTED,
    OPPOSES,
    PLAIN,
    PREDICTED,
    RIM,
    SMALL,
    SUPPORTS,
    safe,
)

_LOOP = 20
"""Distance between the two lines of a loop."""


def explanation_svg(explanation: Explanation) -> str:
    """Draw the explanation graph."""
    scene = lay_out(explanation)
    title = prediction_text(explanation)
    about = f"{measure_text(explanation)}. Positive supports, negative opposes."
    size = f"{scene.width:g} {scene.height:g}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{scene.width:g}" '
        f'height="{scene.height:g}" role="img" aria-label="{safe(title)}" '
        f'font-family="{FONT}" fill="{INK}">',
        f"<title>{safe(title)}</title>",
        f"<desc>{safe(about)}</desc>",
        f'<rect width="100%" height="100%" fill="{GROUND}"/>',
        *map(_edge, scene.edges),
        *map(_box, scene.boxes),
        *map(_words, scene.words),
        *_legend(scene),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _edge(edge: Edge) -> str:
    """A line with an arrow head, its label above and its influence below."""
    look, away = edge.look, edge.look.width / 2
    room = _LOOP / 2 if edge.is_loop else 0
    dashes = ' stroke-dasharray="9 5"' if look.sign is PREDICTED else ""
    bold = ' font-weight="bold"' if look.sign is PREDICTED else ""
    place = f'x="{(edge.x1 + edge.x2) / 2:g}" font-size="{SMALL}" text-anchor="middle"'
    above, below = edge.y - room - away - 4, edge.y + room + away + 11
    label = f'<text {place} y="{above:.1f}"{bold}>{safe(look.label)}</text>' if look.label else ""
    return (
        f"<g><title>{safe(look.title)}</title>"
        f'<path d="{_path(edge)}" fill="none" stroke="{look.sign.line}" '
        f'stroke-width="{look.width:.2f}"{dashes}/>'
        f'<path d="{_head(edge)}" fill="{look.sign.line}"/>{label}'
        f'<text {place} y="{below:.1f}" fill="{look.sign.text}">{safe(look.note)}</text></g>'
    )


def _path(edge: Edge) -> str:
    if not edge.is_loop:
        back = _head_length(edge) if edge.x2 > edge.x1 else -_head_length(edge)
        return f"M{edge.x1:g} {edge.y:g}H{edge.x2 - back:g}"
    out = 1 if edge.x2 > edge.x1 else -1
    turn, radius = edge.x2 - out * 30, _LOOP / 2
    end = edge.x1 + out * _head_length(edge)
    sweep = int(out > 0)
    return (
        f"M{edge.x1:g} {edge.y - radius:g}H{turn:g}"
        f"a{radius:g} {radius:g} 0 0 {sweep} 0 {_LOOP:g}H{end:g}"
    )


def _head(edge: Edge) -> str:
    """The arrow head at the end of an edge."""
    end, y = (edge.x1, edge.y + _LOOP / 2) if edge.is_loop else (edge.x2, edge.y)
    rightwards = (edge.x2 > edge.x1) != edge.is_loop
    base = end - _head_length(edge) if rightwards else end + _head_length(edge)
    half = 3.5 + edge.look.width / 2
    return f"M{end:g} {y:g}L{base:g} {y - half:.2f}V{y + half:.2f}Z"


def _head_length(edge: Edge) -> float:
    return round(7 + edge.look.width, 2)


def _box(box: EntityBox) -> str:
    """A rectangle with a name in the middle and a note below it."""
    fill, rim, weight = (
        ("#eceff3", "#5c6570", ' font-weight="bold"') if box.in_prediction else ("#fafafa", RIM, "")
    )
    x = box.x + box.width / 2
    step = PLAIN + 3
    words = step * len(box.lines) + bool(box.note) * (SMALL + 3)
    # At the height of the prediction's edge, a pillar's name reads on with it.
    spare = min(box.height - words, 26) if box.in_prediction else box.height - words
    y = box.y + spare / 2 + PLAIN - 1
    lines = [
        f'<text x="{x:g}" y="{y + index * step:g}" font-size="{PLAIN}" text-anchor="middle"'
        f"{weight}>{safe(line)}</text>"
        for index, line in enumerate(box.lines)
    ]
    if box.note:
        lines.append(
            f'<text x="{x:g}" y="{y + len(box.lines) * step - 1:g}" font-size="{SMALL}" '
            f'text-anchor="middle" fill="{MUTED}">{safe(box.note)}</text>'
        )
    return (
        f'<g><title>{safe(box.title)}</title><rect x="{box.x:g}" y="{box.y:g}" '
        f'width="{box.width:g}" height="{box.height:g}" rx="7" fill="{fill}" stroke="{rim}"/>'
        f"{''.join(lines)}</g>"
    )


def _words(words: Words) -> str:
    weight = ' font-weight="bold"' if words.bold else ""
    return (
        f'<text x="{words.x:g}" y="{words.y:g}" font-size="{words.size:g}"{weight}>'
        f"{safe(words.text)}</text>"
    )


def _legend(scene: Scene) -> Iterator[str]:
    """A legend for colours, dashes and widths."""
    y = scene.height - 18
    for x, sign in zip((16, 116, 216), (PREDICTED, SUPPORTS, OPPOSES), strict=True):
        dashes = ' stroke-dasharray="9 5"' if sign is PREDICTED else ""
        yield (
            f'<path d="M{x} {y - 4:g}h26" stroke="{sign.line}" stroke-width="3"{dashes}/>'
            f'<text x="{x + 32}" y="{y:g}" font-size="{SMALL}">{sign.word}</text>'
        )
    yield (
        f'<text x="316" y="{y:g}" font-size="{SMALL}" fill="{MUTED}">thicker: more influence</text>'
    )
