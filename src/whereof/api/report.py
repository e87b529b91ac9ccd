"""Write the page of a run: choose and explain examples, read evaluations, write the file."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof.errors import WhereofError
from whereof.events import Events, Note

if TYPE_CHECKING:
    from whereof.api.run import Run
    from whereof.evaluate.evaluation import Evaluation
    from whereof.explain.explanation import Explanation

_LOOKED_AT = 200
"""Number of queries from whose answers examples are chosen."""


def write_report(
    run: "Run",
    out: Path,
    evaluations: Sequence[Any],
    examples: int,
    force: bool,
    events: Events,
) -> Path:
    """Write the page of a run; see `Run.report`."""
    from whereof.present.report import report_page
    from whereof.present.run import RunInfo
    from whereof.run.files import check_free, write_text

    if examples < 0:
        raise WhereofError(f"examples is {examples}; give a number from 0 on")
    check_free(out, force=force)
    kept, notes = _kept(run)
    for note in notes:
        events.emit(Note(note))
    if examples and run.trace is None:
        notes.append("no predictions are explained here: the run was trained without a trace")
    page = report_page(
        RunInfo.of(run.info()),
        [*kept, *map(_evaluation, evaluations)],
        [] if run.trace is None else list(_explanations(run, examples)),
        notes,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_text(out, page, force=force)
    return out


def _kept(run: "Run") -> tuple[list["Evaluation"], list[str]]:
    """The evaluations in the run's folder, with a note for each that cannot be read."""
    from whereof.evaluate.evaluation import Evaluation
    from whereof.run.evaluations import find_evaluations

    kept, notes = [], []
    for path in [] if run.path is None else find_evaluations(run.path):
        try:
            kept.append(Evaluation.read(path))
        except WhereofError as error:
            wrong = str(error).partition(";")[0]
            notes.append(f"an evaluation is left out: {wrong}; evaluate again, or remove it")
    return kept, notes


def _evaluation(evaluation: Any) -> "Evaluation":
    """An evaluation from an object, a dict or a file."""
    from whereof.evaluate.evaluation import Evaluation

    if isinstance(evaluation, str | Path):
        return Evaluation.read(Path(evaluation))
    return evaluation if isinstance(evaluation, Evaluation) else Evaluation.from_dict(evaluation)


def _explanations(run: "Run", examples: int) -> Iterator["Explanation"]:
    """Explanations of the most probable new answers to the first held-out queries, with graphs."""
    found: dict[tuple[str, ...], float] = {}
    for query in _queries(run):
        for answer in run.predict(*query, top=1, new=True).answers:
            value = answer.score if answer.probability is None else answer.probability
            found[(*query, answer.entity)] = value
    for names in sorted(found, key=lambda names: -found[names])[:examples]:
        yield run.explain(*names, graph=True)


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
