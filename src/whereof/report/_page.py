"""A run and its evaluations as one page that needs nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whereof.drawing._page_parts import STYLE
from whereof.drawing._text import safe
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.evaluation import Section as Results
from whereof.present.charts import chart_svg
from whereof.report._again import again
from whereof.report._examples import examples
from whereof.report._parts import Document, Section, figures, paragraph, table
from whereof.report._run import about_run, metrics, training
from whereof.report._summary import summary
from whereof.table import WORDS, Table, cell_text

_STYLE = """
h3 { font-size: 1rem; margin-top: 1.6rem; }
h4 { font-size: 0.95rem; margin-top: 1.2rem; }
figure { margin: 0; }
tbody th { vertical-align: top; }
table { width: auto; min-width: 50%; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1rem 0; }
.verdict { border-left: 3px solid var(--supports); padding-left: 0.8rem; }
.graph { margin: 0.8rem 0; }
nav ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 0.3rem 1.2rem; }
a { color: var(--supports); }
summary { cursor: pointer; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 0.8rem; border-radius: 6px;
  background: rgba(128, 128, 128, 0.15); }
@media print {
  nav { display: none; }
  h2, h3, h4 { break-after: avoid; }
  figure, .graph { break-inside: avoid; }
}
"""


@dataclass(frozen=True)
class Report:
    """What a page is made of."""

    info: Document
    """What `Run.info()` gives."""
    evaluations: Sequence[Evaluation] = ()
    explanations: Sequence[Document] = ()
    """What `Explanation.to_dict()` gives, each: the examples."""
    notes: Sequence[str] = ()
    made: str = ""
    """When."""


def report_page(report: Report) -> str:
    """A whole HTML file; sections for which there is nothing are left out."""
    info = report.info
    title = f"{info['model']} on {info['dataset']}"
    top = [
        section
        for section in (
            summary(info, report.evaluations),
            about_run(info),
            metrics(info),
            training(info),
        )
        if section.parts
    ]
    evaluated = [
        (evaluation, _sections(evaluation, index if len(report.evaluations) > 1 else 0))
        for index, evaluation in enumerate(report.evaluations, 1)
    ]
    last = [examples(report.explanations), again(info, report.evaluations, report.made)]
    last = [section for section in last if section.parts]
    listed = [*top, *(each for _, sections in evaluated for each in sections), *last]
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{safe(title)}: report</title>",
        f"<style>{STYLE}{_STYLE}</style>\n</head>\n<body>\n<main>",
        f"<h1>{safe(title)}</h1>",
        *(paragraph(f"Note: {note}") for note in report.notes),
        _contents(listed),
        *(section.html(2) for section in top),
        *_evaluations(evaluated, info),
        *(section.html(2) for section in last),
        "</main>\n</body>\n</html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _contents(sections: Sequence[Section]) -> str:
    links = "".join(f'<li><a href="#{safe(s.key)}">{safe(s.title)}</a></li>' for s in sections)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _sections(evaluation: Evaluation, index: int) -> list[Section]:
    """A section for every protocol; those of several evaluations have links of their own."""
    return [_section(each, index) for each in evaluation.sections()]


def _section(found: Results, index: int) -> Section:
    parts = [
        *(paragraph(said, kind="verdict") for said in found.sentences),
        *map(_table, found.tables),
        figures(*map(chart_svg, found.charts)) if found.charts else "",
    ]
    key, title = (
        (f"{found.name}-{index}", f"{found.title} ({index})")
        if index
        else (found.name, found.title)
    )
    return Section(title, tuple(filter(None, parts)), key)


def _table(found: Table) -> str:
    cells = (
        [cell_text(value, column) for value, column in zip(row, found.columns, strict=True)]
        for row in found.rows[: found.most]
    )
    more = len(found.rows) - (found.most or len(found.rows))
    rest = f" {more:,} more rows are in the evaluation's JSON document." if more > 0 else ""
    n_words = sum(column.unit in WORDS for column in found.columns)
    heads = [column.title for column in found.columns]
    return table(
        heads, cells, ". ".join(filter(None, (found.title, f"{found.note}{rest}"))), n_words=n_words
    )


def _evaluations(
    evaluated: Sequence[tuple[Evaluation, Sequence[Section]]], info: Document
) -> Iterator[str]:
    for index, (evaluation, sections) in enumerate(evaluated, 1):
        yield f"<h2>Evaluation{f' {index}' if len(evaluated) > 1 else ''}</h2>"
        yield from map(paragraph, (*evaluation.heading(), *evaluation.ending()))
        if evaluation.config != info["config"]:
            other = f"Caution: this evaluation is of a run with other settings: {evaluation.run}."
            yield paragraph(other)
        yield from (section.html(3) for section in sections)
