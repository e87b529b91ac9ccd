"""A run and its evaluations as one page that needs nothing else."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from whereof.drawing._page_parts import STYLE
from whereof.drawing._text import safe
from whereof.report._again import again
from whereof.report._examples import examples
from whereof.report._parts import Document, Section, amount, count, paragraph
from whereof.report._quality import approximation, datamodelling, kelpie, leave_one_out
from whereof.report._removal import changes, removal, steadiness
from whereof.report._run import about_run, metrics, training
from whereof.report._summary import summary
from whereof.report._theory import seconds, theory

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

_PROTOCOLS: tuple[Callable[[Document], Section], ...] = (
    removal,
    changes,
    steadiness,
    approximation,
    leave_one_out,
    datamodelling,
    kelpie,
    theory,
    seconds,
)


@dataclass(frozen=True)
class Report:
    """What a page is made of."""

    info: Document
    """What `Run.info()` gives."""
    evaluations: Sequence[Document] = ()
    """What `Evaluation.to_dict()` gives, each."""
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


def _sections(evaluation: Document, index: int) -> list[Section]:
    """The sections that have something; of several evaluations, each with links of its own."""
    sections = [section for make in _PROTOCOLS if (section := make(evaluation)).parts]
    if not index:
        return sections
    return [
        replace(each, key=f"{each.key}-{index}", title=f"{each.title} ({index})")
        for each in sections
    ]


def _evaluations(
    evaluated: Sequence[tuple[Document, Sequence[Section]]], info: Document
) -> Iterator[str]:
    for index, (evaluation, sections) in enumerate(evaluated, 1):
        yield f"<h2>Evaluation{f' {index}' if len(evaluated) > 1 else ''}</h2>"
        yield paragraph(*_about(evaluation, info))
        yield from (paragraph(f"Note: {note}") for note in evaluation.get("notes") or ())
        yield from (section.html(3) for section in sections)


def _about(evaluation: Document, info: Document) -> Iterator[str]:
    """What was evaluated, and on how many retrainings the figures rest."""
    seeds = ", ".join(map(str, evaluation["seeds"]))
    which = {"top": "top new answers", "true": "true facts"}.get(evaluation["predictions"])
    what = f"the {which} of {evaluation['split']}" if which else evaluation["predictions"]
    n_predictions = count(evaluation["n_predictions"], "prediction")
    yield f"{n_predictions}, {what}, under {'seeds' if ',' in seeds else 'seed'} {seeds}."
    yield (
        f"Each has {amount(evaluation['n_adjacent_mean'])} ± "
        f"{amount(evaluation['n_adjacent_std'])} adjacent facts."
    )
    if evaluation.get("n_retrainings"):
        took = f" ({evaluation['seconds']:.3g} s)" if evaluation.get("seconds") else ""
        yield f"The figures rest on {count(evaluation['n_retrainings'], 'retraining')}{took}."
    if evaluation.get("control_matches_run") is False:
        yield (
            "Caution: retraining without removing anything did not give the run back, so what "
            "follows is not only what the removed facts did."
        )
    if evaluation.get("config") != info["config"]:
        yield f"Caution: this evaluation is of a run with other settings: {evaluation['run']}."
