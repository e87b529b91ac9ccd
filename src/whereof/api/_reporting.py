"""A run's page: its examples chosen and explained, its evaluations read, the file written."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof.errors import WhereofError
from whereof.events import Events, Note

if TYPE_CHECKING:
    from whereof.api._run import Run
    from whereof.evaluate.evaluation import Evaluation

_LOOKED_AT = 200
"""Queries among whose answers examples are chosen."""


def write_report(
    run: "Run",
    out: Path,
    evaluations: Sequence[Any],
    examples: int,
    *,
    force: bool,
    events: Events | None = None,
) -> Path:
    """Write the page of a run; see `Run.report`."""
    from whereof.files import check_free, write_text
    from whereof.report import Report, report_page

    if examples < 0:
        raise WhereofError(f"examples is {examples}; give a number from 0 on")
    check_free(out, force=force)
    kept, notes = _kept(run)
    documents = [*kept, *map(_document, evaluations)]
    for note in notes:
        (events or Events()).emit(Note(note))
    if examples and run.trace is None:
        notes.append("no predictions are explained here: the run was trained without a trace")
    report = Report(
        run.info(),
        documents,
        [] if run.trace is None else list(_explanations(run, examples)),
        notes,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_text(out, report_page(report), force=force)
    return out


def _kept(run: "Run") -> tuple[list["Evaluation"], list[str]]:
    """The evaluations in the run's folder, and a note of each that another version wrote."""
    from whereof.evaluate.evaluation import Evaluation
    from whereof.files import find_evaluations

    documents, notes = [], []
    for path in [] if run.path is None else find_evaluations(run.path):
        try:
            documents.append(Evaluation.read(path))
        except WhereofError as error:
            wrong = str(error).partition(";")[0]
            notes.append(f"an evaluation is left out: {wrong}; evaluate again, or remove it")
    return documents, notes


def _document(evaluation: Any) -> "Evaluation":
    """An evaluation: itself, or from its dict or the file that holds it."""
    from whereof.evaluate.evaluation import Evaluation

    if isinstance(evaluation, str | Path):
        return Evaluation.read(Path(evaluation))
    return evaluation if isinstance(evaluation, Evaluation) else Evaluation.from_dict(evaluation)


def _explanations(run: "Run", examples: int) -> Iterator[dict[str, Any]]:
    """The most probable new answers to the first queries held out, explained with their graph."""
    found: dict[tuple[str, ...], float] = {}
    worth = "score" if run.config.loss == "squared" else "probability"
    for query, answers in zip(queries := _queries(run), _answers(run, queries), strict=True):
        for answer in answers:
            found[(*query, answer["entity"])] = answer[worth]
    for names in sorted(found, key=lambda names: -found[names])[:examples]:
        yield run.explain(*names, graph=True).to_dict()


def _answers(run: "Run", queries: Sequence[tuple[str, ...]]) -> Iterator[list[dict[str, Any]]]:
    for query in queries:
        yield run.predict(*query, top=1, new=True).to_dict()["answers"]


def _queries(run: "Run") -> list[tuple[str, ...]]:
    """The first distinct queries of the test split, or of another that has facts."""
    data = run.dataset
    facts = next(part for part in (data.test, data.valid, data.train) if len(part))
    queries: dict[tuple[str, ...], None] = {}
    for subject, relation, _ in facts.tolist():
        name = data.entities.name(subject)
        queries[(name,) if data.two_way else (name, data.relations.name(relation))] = None
        if len(queries) == _LOOKED_AT:
            break
    return list(queries)
