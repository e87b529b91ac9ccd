"""Explanations to a file, prediction by prediction; work that was cut off goes on."""

import hashlib
import io
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from whereof._version import __version__
from whereof.errors import Interrupted
from whereof.events import Advanced, Events
from whereof.explain.explanation import FACT_COLUMNS, Explanation, fact_row
from whereof.explain.options import ExplainOptions
from whereof.files._formats import Layout, find_format, write_commas
from whereof.files._journal import Journal, Task, open_journal
from whereof.files._writing import new_file
from whereof.predict.answers import Failed
from whereof.predict.prediction import Listed

Explain = Callable[[Sequence[Listed]], Iterator[Explanation | Failed]]
"""Explains predictions in their order; what none could be explained with is refused at once."""

Document = dict[str, Any]
"""What is kept of an explanation: plain values, without the time it took."""

_PREDICTION = ("subject", "relation", "object", "probability", "score", "rank")
_COMMON = ("method", "of", "n_adjacent")
_TYPES = {
    **dict.fromkeys(("n_adjacent", "fact_id", "rank", "prediction_rank"), "int64"),
    **dict.fromkeys(("influence", "probability_without", "share"), "float64"),
    **dict.fromkeys(("score_without", "rating"), "float64"),
    **dict.fromkeys(("prediction_probability", "prediction_score"), "float64"),
    "top_answer_changes": "bool_",
}
_COLUMNS = (*(f"prediction_{name}" for name in _PREDICTION), *_COMMON, *FACT_COLUMNS)
_ALWAYS = ("prediction", *_COMMON, "facts")
_WHERE_ASKED = ("contrast", "without", "stability", "graph", "notes")


def _rows(document: Document) -> Iterator[tuple[Any, ...]]:
    """One row a fact: the prediction, then the fact."""
    prediction = [document["prediction"][name] for name in _PREDICTION]
    common = (*prediction, *(document[name] for name in _COMMON))
    for fact in document["facts"]:
        yield (*common, *fact_row(fact))


def _fact_rows(document: Document) -> Iterator[tuple[Any, ...]]:
    return map(fact_row, document["facts"])


def _layout(columns: Iterable[str], rows: Callable[[Document], Any]) -> Layout[Document]:
    return Layout({name: _TYPES.get(name, "string") for name in columns}, rows, dict)


_LAYOUT, _FACTS = _layout(_COLUMNS, _rows), _layout(FACT_COLUMNS, _fact_rows)


@dataclass(frozen=True)
class WrittenExplanations:
    """What was explained, and where it is."""

    path: str
    n_predictions: int
    """Explained, those of an earlier call included."""
    n_facts: int
    n_resumed: int
    """Done by an earlier call that was cut off."""
    failed: tuple[Failed, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def write_explanations(
    explain: Explain,
    predictions: Sequence[Listed],
    options: ExplainOptions,
    task: Task,
    *,
    run: str,
    device: str = "cpu",
    events: Events | None = None,
) -> WrittenExplanations:
    """Explain predictions into a file, in the format that its name ends in.

    What is finished is kept in a journal, and a later call for the same goes on after it: `run`,
    `device` and `options`, by which `explain` works, tell calls apart.
    """
    start, fill = time.perf_counter(), find_format(task.path, _LAYOUT)
    events = events or Events()
    explain(())  # says what is wrong before anything is written
    with open_journal(task, _header(run, device, predictions, options)) as journal:
        n_resumed, n_facts = journal.n_done, 0
        for result in explain(predictions[n_resumed:]):
            _keep(journal, predictions[journal.n_done].line, result)
            events.emit(Advanced(journal.n_done, len(predictions), "predictions"))
            if events.should_stop():
                raise Interrupted("interrupted; the same command continues where it stopped")
        failed = tuple(_failed(record) for record in journal.records() if "failed" in record)
        if len(failed) < len(predictions):
            with new_file(task.path, fill) as write:
                for document in (each for each in journal.records() if "failed" not in each):
                    write(document)
                    n_facts += len(document["facts"])
    seconds = time.perf_counter() - start
    n_predictions = len(predictions) - len(failed)
    return WrittenExplanations(str(task.path), n_predictions, n_facts, n_resumed, failed, seconds)


def facts_csv(explanation: Explanation) -> str:
    """The facts of one explanation as a table by commas."""
    file = io.StringIO(newline="")
    write_commas(file, _FACTS)(explanation.to_dict())
    return file.getvalue()


def _header(
    run: str, device: str, predictions: Sequence[Listed], options: ExplainOptions
) -> dict[str, Any]:
    """What must be the same in a later call that goes on."""
    asked = hashlib.sha256(repr([(each.line, each.asked) for each in predictions]).encode())
    return {
        "whereof version": __version__,
        "run": run,
        "device": device,
        "set of options": options.to_dict(),
        "list of predictions": asked.hexdigest(),
    }


def _keep(journal: Journal, line: int, result: Explanation | Failed) -> None:
    if isinstance(result, Explanation):
        try:
            journal.add(_document(result))
            return
        except ValueError:  # JSON has no such numbers
            names = (result.prediction.subject, result.prediction.relation)
            prediction = tuple(filter(None, (*names, result.prediction.object)))
            result = Failed(line, prediction, "its influences are not finite: too large to compute")
    journal.add({"failed": asdict(result)})


def _document(explanation: Explanation) -> Document:
    """What is kept of an explanation."""
    document = explanation.to_dict()
    return {name: document[name] for name in _ALWAYS} | {
        name: document[name] for name in _WHERE_ASKED if document[name]
    }


def _failed(record: Document) -> Failed:
    values = record["failed"]
    return Failed(**values | {"prediction": tuple(values["prediction"])})
