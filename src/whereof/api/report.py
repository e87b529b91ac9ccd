"""Write the page of a run: choose and explain examples, read evaluations, write the file."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof.errors import WhereofError
from whereof.events import Events, Note
from whereof.predict.prediction import find_predictions
from whereof.run.files import check_free, write_text
from whereof.run.stored import find_evaluations

if TYPE_CHECKING:
    from whereof.api.run import Run
    from whereof.explain.explanation import Explanation


def write_report(
    run: "Run",
    out: str | Path = "report.html",
    *,
    evaluations: Sequence[Any] = (),
    examples: int = 3,
    force: bool = False,
    events: Events | None = None,
) -> Path:
    """Write one HTML page about the run: data, settings, metrics, evaluations, examples.

    The page needs no other files. `evaluations` are more evaluations, besides those in the run's
    folder: results of `evaluate`, their `to_dict()`, or JSON files of it. `examples` is the number
    of predictions that the page explains. `force` overwrites a file that exists.
    """
    from whereof.evaluate.evaluation import Evaluation
    from whereof.present.report import report_page

    if examples < 0:
        raise WhereofError(f"examples is {examples}; give a number from 0 on")
    out, events = Path(out), events or Events()
    check_free(out, force=force)
    found, notes = list[Evaluation](), list[str]()
    for path in [] if run.path is None else find_evaluations(run.path):
        try:
            found.append(Evaluation.read(path))
        except WhereofError as error:
            wrong = str(error).partition(";")[0]
            notes.append(f"an evaluation is left out: {wrong}; evaluate again, or remove it")
            events.emit(Note(notes[-1]))
    for given in evaluations:
        if isinstance(given, str | Path):
            found.append(Evaluation.read(Path(given)))
        else:
            found.append(given if isinstance(given, Evaluation) else Evaluation.from_dict(given))
    if examples and run.trace is None:
        notes.append("no predictions are explained here: the run was trained without a trace")
        examples = 0
    made = datetime.now(UTC).isoformat(timespec="seconds")
    page = report_page(run.about, found, list(_explanations(run, examples)), notes, made)
    write_text(out, page, force=force)
    return out


def _explanations(run: "Run", examples: int) -> Iterator["Explanation"]:
    """Explanations of the most probable new answers to 200 held-out queries, with graphs."""
    from whereof.predict.answers import Answers

    data, found = run.dataset, dict[tuple[str | None, ...], float]()
    split = next(name for name in ("test", "valid", "train") if len(getattr(data, name)))
    listed = find_predictions(run._trained, "top", split, 200, "object")
    queries = [each.names(data)[:-1] for each in listed[: None if examples else 0]]
    for query, answers in zip(queries, run.predict_many(queries, 1, new=True), strict=True):
        for answer in answers.answers if isinstance(answers, Answers) else ():
            value = answer.score if answer.probability is None else answer.probability
            found[(*query, answer.entity)] = value
    for names in sorted(found, key=lambda names: -found[names])[:examples]:
        yield run.explain(*names, graph=True)
