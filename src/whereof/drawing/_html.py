"""An explanation as a notebook shows it."""

from whereof.drawing._colours import OPPOSES, SUPPORTS
from whereof.drawing._table import caption, fact_columns, fact_rows, heads
from whereof.drawing._text import Document, check, prediction_text, safe

_ROWS = 50

# Words keep the colour of the notebook, which may be light or dark; bars show the sign.
_STYLE = f"""
.whereof-explanation table {{ border-collapse: collapse; font-size: 0.9em; }}
.whereof-explanation caption {{ caption-side: bottom; text-align: left; padding-top: 0.4em; }}
.whereof-explanation th, .whereof-explanation td {{ padding: 0.2em 0.7em; text-align: left; }}
.whereof-explanation .number {{ text-align: right; }}
.whereof-explanation td.number {{ white-space: nowrap; }}
.whereof-explanation .fact {{ overflow-wrap: anywhere; min-width: 15em; }}
.whereof-explanation .bar {{ display: inline-block; width: 60px; height: 0.6em;
  background: rgba(128, 128, 128, 0.25); text-align: left; }}
.whereof-explanation .bar span {{ display: block; height: 100%; background: #8a8a8a; }}
.whereof-explanation .bar .supports {{ background: {SUPPORTS.line}; }}
.whereof-explanation .bar .opposes {{ background: {OPPOSES.line}; }}
"""


def explanation_html(document: Document) -> str:
    """A heading and a table of the facts; what it takes is `Explanation.to_dict()`."""
    check(document)
    facts = document["facts"]
    columns = fact_columns(document)
    more = len(facts) - _ROWS
    parts = [
        '<div class="whereof-explanation">',
        f"<style>{_STYLE}</style>",
        f"<p><strong>{safe(prediction_text(document))}</strong></p>",
        *(f"<p>{safe(note)}</p>" for note in document.get("notes", ())),
        f"<table><caption>{safe(caption(document))}</caption>",
        f"<thead>{heads(columns)}</thead>",
        "<tbody>",
        *fact_rows(columns, facts[:_ROWS]),
        "</tbody></table>" if facts else "</tbody></table><p>no facts listed</p>",
        f"<p>and {more:,} more</p>" if more > 0 else "",
        "</div>",
    ]
    return "\n".join(part for part in parts if part)
