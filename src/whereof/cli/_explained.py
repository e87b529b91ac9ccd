"""An explanation in the terminal: a heading, the facts, and what was asked besides."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from whereof.cli._columns import Column, aligned, fitted, on_one_line
from whereof.cli._screen import counted
from whereof.drawing import has_falls
from whereof.explain import METHODS, ExplainOptions

Document = dict[str, Any]
"""What `Explanation.to_dict` gives, or a part of it."""

_PLACES = ("subject", "relation", "object")
_LETTERS = {"subject": "s", "relation": "r", "object": "o", "rival": "i"}
_NARROWEST = 64
_WIDE = 100
"""Columns from which on there is room for the facts' ids."""


def show_explanation(out: Console, document: Document, options: ExplainOptions) -> None:
    """Print an explanation in no more columns than the terminal has, 80 elsewhere."""
    width = max(out.width, _NARROWEST)
    for part in _parts(document, options, width):
        out.print(part, soft_wrap=True, end="" if not isinstance(part, str | Text) else "\n")


def _parts(document: Document, options: ExplainOptions, width: int) -> Iterator[RenderableType]:
    yield from _heading(document, width)
    if document["facts"]:
        yield _title(document, options)
        yield _facts(document, document["facts"], width)
        yield from _below(document, options)
    else:
        yield _nothing(document, options)
    yield from document["notes"]
    if document["without"]:
        yield from _joint(document, width)
    if document["stability"]:
        yield from _stability(document, width)
    if options.graph and document["graph"]:
        yield from _graph(document, width)


def _heading(document: Document, width: int) -> Iterator[RenderableType]:
    prediction, contrast = document["prediction"], document["contrast"]
    words = _words(prediction)
    yield Text(fitted(" ".join(["{}"] * len(words)), words, width), style="bold")
    stands = f"{_stands(prediction)}, rank {prediction['rank']:,} of {prediction['n_candidates']:,}"
    if document["of"] == "score" and prediction["probability"] is not None:
        stands += f", score {prediction['score']:.3f}"
    if prediction["top_answer"] != prediction[prediction["asks"]]:
        top = on_one_line(prediction["labels"]["top_answer"])
        stands = fitted(f"{stands}; the top answer is {{}}", [top], width)
    yield stands
    if contrast:
        yield from _contrast(document, width)


def _contrast(document: Document, width: int) -> Iterator[str]:
    prediction, rival = document["prediction"], document["contrast"]
    mine = on_one_line(prediction["labels"][prediction["asks"]])
    other = on_one_line(rival["label"])
    what = "ratio of their probabilities" if rival["probability"] is not None else "ratings"
    sign = "log of the " if rival["probability"] is not None else "difference of their "
    yield fitted("why {} rather than {}", [mine, other], width)
    yield f"  {sign}{what} {rival['log_ratio']:+.3f}"
    yield f"  the other: {_stands(rival)}, rank {rival['rank']:,}"


def _title(document: Document, options: ExplainOptions) -> Text:
    if document["without"]:
        which = "These facts, each alone"
    elif options.top is None:
        which = "All facts that were asked for"
    else:
        which = f"Facts that {'oppose' if options.opposing else 'support'} it"
    return Text(f"\n{which}, by {_measure(document)}", style="bold")


def _measure(document: Document) -> str:
    """What influences are, in a few words."""
    if not has_falls(document):
        return f"influence as {document['method']} estimates it"
    return {
        "probability": "influence on its probability",
        "score": f"influence on its {'rating' if _is_rated(document) else 'score'}",
        "loss": "how far they lower its loss",
        "log_ratio": "influence on that",
    }[str(document["of"])]


def _facts(document: Document, facts: Sequence[Document], width: int) -> RenderableType:
    """One row a fact; a column that says nothing is left out."""
    names = zip(*map(_words, facts), strict=True)
    places = [place for place in _PLACES if facts[0][place] is not None]
    marks = ["*" if fact["top_answer_changes"] else "" for fact in facts]
    without = [_without(document, fact) for fact in facts]
    return aligned(
        [
            Column("", [str(fact["rank"]) for fact in facts], right=True),
            *([Column("fact", [str(f["fact_id"]) for f in facts], right=True)] * (width >= _WIDE)),
            *(Column(place, cells, cut=True) for place, cells in zip(places, names, strict=True)),
            Column("parts", [" ".join(map(_LETTERS.__getitem__, f["parts"])) for f in facts]),
            *_ratings(facts),
            _influences(facts),
            Column("without" if any(without) else "", without, right=True),
            Column("share", [f"{100 * fact['share']:.1f}%" for fact in facts], right=True),
            Column("", marks, styles=["bold yellow"] * len(facts)),
        ],
        width,
    )


def _ratings(facts: Sequence[Document]) -> Iterator[Column]:
    """What users gave, in data with ratings."""
    if any(fact["rating"] is not None for fact in facts):
        yield Column("rating", [f"{fact['rating']:g}" for fact in facts], right=True)


def _influences(items: Sequence[Document]) -> Column:
    values = [item["influence"] for item in items]
    colours = ["green" if value > 0 else "red" if value < 0 else "" for value in values]
    return Column("influence", list(map(_signed, values)), right=True, styles=colours)


def _below(document: Document, options: ExplainOptions) -> Iterator[str]:
    facts, parts = document["facts"], {part for f in document["facts"] for part in f["parts"]}
    tops = {fact["labels"]["top_answer_without"] for fact in facts if fact["top_answer_changes"]}
    if tops:
        other = on_one_line(tops.pop()) if len(tops) == 1 else "another"
        yield fitted("* without it the top answer would be {}", [other], _NARROWEST)
    if "rival" in parts:
        yield "i: shares the other answer"
    took = document["seconds"]
    time = f"{1000 * took:.3g} ms" if took < 1 else f"{took:.3g} s"
    n_adjacent = counted(document["n_adjacent"], "adjacent fact")
    of = " named;" if document["without"] else " of"
    yield f"{len(facts):,}{of} {n_adjacent}, in {time}; {document['method']}"
    yield f"next: {', '.join(_next(document, options))}"


def _next(document: Document, options: ExplainOptions) -> Iterator[str]:
    if options.top is not None and not document["without"]:
        if not options.opposing:
            yield "--opposing"
        if isinstance(options.top, int) and len(document["facts"]) == options.top:
            yield "--top all"
    if not options.stability and METHODS[document["method"]].rolls_back:
        yield "--stability"
    yield "--json"


def _nothing(document: Document, options: ExplainOptions) -> str:
    n_adjacent = counted(document["n_adjacent"], "adjacent fact")
    if options.opposing:
        return f"no fact opposes it, of {n_adjacent}; leave out --opposing for those that support"
    return f"no fact supports it, of {n_adjacent}; see those against it with --opposing"


def _joint(document: Document, width: int) -> Iterator[RenderableType]:
    joint, before = document["without"], document["prediction"]
    yield Text(f"\nWithout {_these(len(joint['fact_ids']))}", style="bold")
    standings = {"now": before, "without": joint}
    yield _standings(document, "", standings, width)
    yield (
        f"influence {_signed(joint['influence'])} together, "
        f"{_signed(joint['sum_of_single'])} as the sum of each alone"
    )


def _these(n_facts: int) -> str:
    return "this fact" if n_facts == 1 else f"these {n_facts:,} facts together"


def _stability(document: Document, width: int) -> Iterator[RenderableType]:
    steps = document["stability"]
    standings = {"0": document["prediction"]} | {str(len(s["fact_ids"])): s for s in steps}
    yield Text("\nWithout its strongest supporters", style="bold")
    yield _standings(document, "without the top", standings, width)


def _standings(
    document: Document, title: str, standings: dict[str, Document], width: int
) -> RenderableType:
    """How the prediction stands, one row each."""
    rated = _is_rated(document)
    key, noun = ("score", "rating") if rated else ("probability", "probability")
    digits, stands = 3 if rated else 4, list(standings.values())
    tops = [on_one_line(each["labels"]["top_answer"]) for each in stands]
    changed = ["bold yellow" if each.get("top_answer_changes") else "" for each in stands]
    return aligned(
        [
            Column(title, list(standings), right=bool(title)),
            Column(noun, [_number(each[key], digits) for each in stands], right=True),
            Column("rank", [f"{each['rank']:,}" for each in stands], right=True),
            Column("top answer", tops, cut=True, styles=changed),
        ],
        width,
    )


def _graph(document: Document, width: int) -> Iterator[RenderableType]:
    graph = document["graph"]
    lists: list[tuple[str, str, Callable[..., RenderableType]]] = [
        ("between", "Facts between the same two", _facts),
        ("same_relation", "Facts of the same relation", _facts),
        ("paths", "Pairs that join the two through a third, by what both do together", _paths),
    ]
    if document["prediction"]["relation"] is None:
        del lists[1]  # two-way data has no relations
    for name, title, show in lists:
        yield Text(f"\n{title}", style="bold")
        yield show(document, graph[name], width) if graph[name] else "none that supports it"


def _paths(document: Document, paths: Sequence[Document], width: int) -> RenderableType:
    """Two rows a pair."""
    words = zip(*(_words(fact) for path in paths for fact in path["facts"]), strict=True)
    influences = _influences(paths)
    without = [_without(document, path) for path in paths]
    return aligned(
        [
            Column("", _every_other([str(n) for n in range(1, len(paths) + 1)]), right=True),
            *(Column("", list(cells), cut=True) for cells in words),
            Column(
                "influence",
                _every_other(influences.cells),
                right=True,
                styles=_every_other(influences.styles or ()),
            ),
            Column("without" if any(without) else "", _every_other(without), right=True),
        ],
        width,
    )


def _every_other(cells: Sequence[str]) -> list[str]:
    return [text for cell in cells for text in (cell, "")]


def _words(item: Document) -> list[str]:
    """Labels of a triple."""
    return [on_one_line(item["labels"][p]) for p in _PLACES if item["labels"][p] is not None]


def _is_rated(document: Document) -> bool:
    """Whether the model learned ratings, so that scores are what is said of it."""
    return document["prediction"]["probability"] is None


def _stands(item: Document) -> str:
    if item["probability"] is None:
        return f"rating {item['score']:.3f}"
    return f"probability {_number(item['probability'])}"


def _without(document: Document, item: Document) -> str:
    """What the prediction would be without a fact: its rating, score, ratio or probability."""
    if document["of"] == "score" and has_falls(document):
        return f"{document['prediction']['score'] - item['influence']:.3f}"
    if document["contrast"] and has_falls(document):
        return f"{document['contrast']['log_ratio'] - item['influence']:+.3f}"
    probability = item["probability_without"]
    return "" if probability is None else _number(probability)


def _number(value: float, digits: int = 4) -> str:
    """A number in so many places, or two digits of a small one."""
    small = 0 < abs(value) < 10.0 ** (1 - digits)
    return f"{value:.1e}" if small else f"{value:.{digits}f}"


def _signed(value: float) -> str:
    """A number with its sign, to four places, or two digits of what is smaller."""
    return f"{value:+.4f}" if abs(value) >= 0.001 or value == 0 else f"{value:+.1e}"
