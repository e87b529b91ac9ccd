"""An explanation as one page that needs nothing else."""

from collections.abc import Iterator, Sequence

from whereof.drawing._page_parts import SCRIPT, STYLE
from whereof.drawing._svg import explanation_svg
from whereof.drawing._table import caption, fact_columns, fact_rows, heads
from whereof.drawing._text import (
    Document,
    check,
    fact_text,
    fall_text,
    named,
    percent,
    plain,
    prediction_text,
    safe,
    standing_text,
    stands_text,
)


def explanation_page(document: Document) -> str:
    """A whole HTML file: graph, facts and all else that the explanation says.

    What it takes is `Explanation.to_dict()`.
    """
    check(document)
    title = prediction_text(document)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{safe(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>",
        f"<h1>{safe(fact_text(document['prediction']))}</h1>",
        f"<p>{safe(stands_text(document))}</p>",
        *_about(document),
        f'<h2>Graph</h2>\n<div class="wide">\n{explanation_svg(document)}</div>',
        *_facts(document),
        *_stability(document),
        *_without(document),
        f"</main>\n<script>{SCRIPT}</script>\n</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def _about(document: Document) -> Iterator[str]:
    """What was asked, of whom, and how."""
    prediction, other = document["prediction"], document.get("contrast")
    items = [("prediction", fact_text(prediction, full=True))]
    if other is not None:
        answer = named(other["answer"], other["label"])
        items.append(("rather than", f"{answer}: {standing_text(other)}"))
        items.append(("log of their ratio", plain(other["log_ratio"])))
    items.append(("top new answer", prediction["labels"]["top_answer"]))
    items.append(("method", document["method"]))
    items.append(("asked of", document["of"].replace("_", " ")))
    items.append(("adjacent facts", f"{document['n_adjacent']:,}"))
    items.append(("listed facts", f"{len(document['facts']):,}"))
    yield "<dl>"
    for name, value in items:
        yield f"<dt>{safe(name)}</dt><dd>{safe(value)}</dd>"
    yield "</dl>"
    for note in document.get("notes", ()):
        yield f"<p>Note: {safe(note)}</p>"


def _facts(document: Document) -> Iterator[str]:
    facts, columns = document["facts"], fact_columns(document, full=True)
    yield "<h2>Facts</h2>"
    if not facts:
        yield "<p>No facts are listed.</p>"
        return
    yield f'<div class="wide"><table class="sortable"><caption>{safe(caption(document))}</caption>'
    yield f"<thead>{heads(columns)}</thead>\n<tbody>"
    yield from fact_rows(columns, facts, sortable=True)
    yield "</tbody></table></div>"


def _stability(document: Document) -> Iterator[str]:
    joints = document.get("stability")
    if joints is None:
        return
    yield "<h2>Stability</h2>"
    yield from _joints(
        document,
        "How the prediction stands without its strongest supporters, rolled back together.",
        [(f"top {len(joint['fact_ids'])}", joint) for joint in joints],
    )


def _without(document: Document) -> Iterator[str]:
    joint = document.get("without")
    if joint is None:
        return
    yield "<h2>Without these facts</h2>"
    ids = ", ".join(map(str, joint["fact_ids"]))
    about = f"How the prediction stands without the facts {ids}, rolled back together."
    yield from _joints(document, about, [("together", joint)])


def _joints(
    document: Document, about: str, joints: Sequence[tuple[str, Document]]
) -> Iterator[str]:
    """A table of facts rolled back together, below how the prediction stands with all."""
    now = document["prediction"]
    titles = ("without", "probability", "score", "rank", "influence", "sum of single", "top answer")
    shown = [title for title in titles if title != "probability" or now["probability"] is not None]
    yield f'<div class="wide"><table><caption>{safe(about)}</caption>'
    cells = "".join(f'<th scope="col">{title}</th>' for title in shown)
    yield f"<thead><tr>{cells}</tr></thead>\n<tbody>"
    for name, joint in [("none", now), *joints]:
        row = _joint_row(name, joint, document["of"])
        cells = "".join(f"<td>{safe(row[title])}</td>" for title in shown[1:])
        yield f'<tr><th scope="row">{safe(name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _joint_row(name: str, joint: Document, of: str) -> dict[str, str]:
    probability, has = joint["probability"], "influence" in joint
    return {
        "without": name,
        "probability": "" if probability is None else percent(probability),
        "score": plain(joint["score"]),
        "rank": f"{joint['rank']:,}",
        "influence": fall_text(joint["influence"], of) if has else "",
        "sum of single": fall_text(joint["sum_of_single"], of) if has else "",
        "top answer": joint["labels"]["top_answer"],
    }
