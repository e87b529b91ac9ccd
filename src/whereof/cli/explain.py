"""`whereof explain`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import whereof
from whereof.cli import _options
from whereof.errors import WhereofError
from whereof.events import Events
from whereof.explain.options import ExplainOptions
from whereof.retrain.options import EngineOptions
from whereof.settings import Settings, choice, number
from whereof.units import count, seconds

if TYPE_CHECKING:
    from whereof.explain.method import Method

_SHOWN = 10
"""Number of bad predictions that are named; others are only counted."""


@dataclass(frozen=True)
class _BulkOptions(Settings):
    """Options of `Run.explain_file`."""

    predictions: str | None = choice(
        None,
        "explain many predictions: the top answers, the true facts, or a file",
        "In bulk",
        metavar="top|true|FILE",
    )
    out: str | Path | None = choice(
        None, "file for the explanations, or for that of PREDICTION", "In bulk", short="-o"
    )
    split: str = choice("test", "split for top and true", "In bulk", "test valid train")
    limit: int | None = number(None, "number of predictions, from the first on", "In bulk", 1)
    threads: int | None = number(None, "number of threads  [default: all cores]", "In bulk", 1)
    device: str = choice("cpu", "where rollback and unrolled run", "In bulk", "cpu cuda")
    resume: bool = choice(False, "continue interrupted work; an error if there is none", "In bulk")


@_options.command("explain", progress=True, tables=(ExplainOptions, EngineOptions, _BulkOptions))
@_options.run_argument
@click.argument("prediction", nargs=-1)
@_options.file_option("--history", help="What a new user chose, one item per line.")
@_options.flag("--everything", help="List every fact that the method rates, supporting or not.")
@_options.flag("--csv", "as_csv", help="Print the facts as CSV and nothing else.")
@_options.file_option("--html", help="Also write an HTML page with the graph.")
@_options.file_option("--svg", help="Also write the graph alone.")
@_options.flag("--force", help="Overwrite files that exist; with --predictions, start again.")
def command(
    run: "whereof.Run", prediction: tuple[str, ...], events: Events, **options: Any
) -> _options.Result:
    r"""Rank the training facts that made the model predict something.

    PREDICTION is SUBJECT RELATION OBJECT; two-way runs have no RELATION. It need not be in any
    file. _ means the top new answer: SUBJECT RELATION _, or _ RELATION OBJECT in a run
    trained with --inverse. If the name of an entity is _, type '\_'.

    The influence of a fact is how far the prediction falls without it. rollback and unrolled
    estimate the fall of the probability. Other methods that do not retrain have their own scale.
    rollback ranks adjacent facts (those that share an entity or the relation), unrolled ranks
    all facts. The table lists facts that support the prediction; --opposing lists the others.
    --method retrain is exact: it retrains the model without each adjacent fact, and first says
    how long this takes. --method verified retrains only without candidates, the strongest facts
    of several methods, within --budget. It shows their estimated and actual influences; a fact
    that is no candidate may be stronger.

    --predictions explains many predictions and writes them to a file. top: the top new answer of
    every query of a split. true: the facts of the split. FILE: one prediction per line, with TABs
    between names, or commas in a .csv file. The ending of the output file decides its format:
    .jsonl, .tsv, .txt, .csv, .ttl or .nt, each also with .gz, or .parquet. After an interruption,
    run the same command again to continue. With one PREDICTION, -o writes its explanation, and the
    ending may also be .graphml. In .ttl and .nt, the prediction is a quoted triple, annotated with
    its facts.

    --history explains a prediction for a user who is not in the data, by the items of the history.
    PREDICTION is then one ITEM, or _ for the top new item; see whereof predict --help.
    """
    from whereof.explain.method import get_method

    tables = (_BulkOptions, EngineOptions, ExplainOptions)
    bulk, engine, settings = (
        _options.given({name: options.get(name) for name in table.names()}) for table in tables
    )
    history = options["history"]
    named = settings if history is None else {"method": "fold-in", **settings}
    method = get_method(run.with_method(named)["method"])
    _check(prediction, bulk, method, options)
    if options["everything"]:
        if "top" in settings:
            raise WhereofError("--everything lists every fact; leave out --top")
        settings["top"] = None
    if "candidates" in settings:
        settings["candidates"] = _candidates(settings["candidates"])
    if prediction:
        retrains = "retraining" in method.needs or "seeds" in settings
        given = engine if retrains else {}
        ask = partial(run.explain, *prediction, events=events, history=history, **settings, **given)
        chosen = ExplainOptions(**{**settings, "method": method.name})
        return _explain_one(ask, chosen, options, str(run.path))
    written = run.explain_file(**bulk, **settings, force=options["force"], events=events)
    return written, partial(click.echo, _report(bulk["predictions"], written))


def _check(
    prediction: tuple[str, ...], bulk: dict[str, Any], method: "Method", options: dict[str, Any]
) -> None:
    """Refuse options that do not go together; those in a file may be meant for other commands."""
    from whereof.explain.method import able_method

    many, as_csv = "predictions" in bulk, options["as_csv"]
    retrains = "retraining" in method.needs or _options.is_typed("seeds")
    if bool(prediction) == many:
        raise WhereofError(
            "give either a PREDICTION, such as SUBJECT RELATION OBJECT, or --predictions FILE"
        )
    if many and "out" not in bulk:
        raise WhereofError("--predictions requires -o FILE: the file gets the explanations")
    for name in ("as_csv", "html", "svg", "history"):
        if many and options[name]:
            file = "; for CSV in bulk, name the file: -o FILE.csv" if as_csv else ""
            raise WhereofError(f"--{name.removeprefix('as_')} requires one PREDICTION{file}")
    for name in filter(_options.is_typed, _BulkOptions.names()):
        if not many and not (retrains and name == "threads") and name != "out":
            raise WhereofError(f"--{name} requires --predictions")
    for name in filter(_options.is_typed, ("engine", "ray_address")):
        if not retrains:
            what = "requires --seeds or a --method that retrains"
            raise WhereofError(f"--{name.replace('_', '-')} {what}")
    for name, ability in (
        ("budget", "budget"),
        ("sweep_epochs", "sweep"),
        ("rivals", "sweep"),
        ("sweep_memory", "sweep"),
    ):
        if _options.is_typed(name) and ability not in method.can:
            able = able_method(ability).name
            raise WhereofError(f"--{name.replace('_', '-')} requires --method {able}")
    if as_csv and prediction[-1].endswith(".csv"):
        raise WhereofError(f"--csv takes no file: it prints; write --csv > {prediction[-1]}")
    if as_csv and _options.is_typed("as_json"):
        raise WhereofError("--json and --csv both write to standard output; choose one of them")


def _candidates(wanted: str | list[str]) -> str | list[str]:
    """Names of candidates; one name may be that of a file."""
    from whereof.data.text import read_lines

    kinds = ("objects", "subjects", "entities", "seen")
    if isinstance(wanted, list) or wanted in kinds or not Path(wanted).is_file():
        return wanted
    return [line.strip() for line in read_lines(Path(wanted)) if line.strip()]


def _explain_one(
    explain: Callable[..., Any], options: ExplainOptions, files: dict[str, Any], run: str
) -> _options.Result:
    from whereof.explain.method import get_method
    from whereof.present.explanation import explanation_page, show_explanation
    from whereof.present.files import check_explanation_file, facts_csv
    from whereof.present.graph import explanation_svg
    from whereof.present.terminal import console
    from whereof.run.files import check_free, write_text

    page: Callable[[Any], str] = partial(explanation_page, run=run)
    drawings = {"html": page, "svg": explanation_svg}
    drawn = {name: files[name] for name in drawings if files[name] is not None}
    written = [] if files["out"] is None else [Path(files["out"])]
    for path in drawn.values():
        check_free(path, force=files["force"])
    for path in written:
        check_explanation_file(path, force=files["force"])
    every = [*drawn.values(), *written]
    if len({path.absolute() for path in every}) < len(every):
        raise WhereofError(
            "two of --html, --svg and -o name the same file; choose another for one of them"
        )
    # Pictures also show the graph if the method can estimate its facts.
    can = get_method(options.method).can
    explanation = explain(graph=options.graph or bool(drawn and "groups" in can))

    def draw() -> None:
        for name, path in drawn.items():
            write_text(path, drawings[name](explanation), force=files["force"])
        for path in written:
            shown.to_file(path, force=files["force"])
        for path in every:
            click.echo(f"{path} is written", err=True)

    click.get_current_context().call_on_close(draw)  # the table is printed even if this fails
    shown = explanation if options.graph else replace(explanation, graph=None)
    if files["as_csv"]:
        return shown, lambda: click.echo(facts_csv(shown), nl=False)
    return shown, partial(show_explanation, console(), shown, options, run)


def _report(source: str, written: Any) -> str:
    """Name the predictions that could not be explained; an error if none could."""
    from whereof.present.terminal import on_one_line

    failed = []
    for each in written.failed:
        words = ("_" if name is None else name for name in each.prediction)
        place = " ".join(words) if source in ("top", "true") else f"{source}:{each.line}"
        failed.append(f"{place}: {each.message}")
    if failed and not written.n_predictions:
        n = len(failed) - 1
        others = f" ({n:,} other bad {'one' if n == 1 else 'ones'})" if n else ""
        raise WhereofError(f"{failed[0]}{others}")
    for message in failed[:_SHOWN]:
        click.echo(f"whereof: {on_one_line(' '.join(message.split()))}", err=True)
    if len(failed) > _SHOWN:
        rest = count(len(failed) - _SHOWN, "other prediction")
        click.echo(f"whereof: {rest} could not be explained either", err=True)
    before = f", {written.n_resumed:,} of them before" if written.n_resumed else ""
    facts, asked = count(written.n_facts, "fact"), count(written.n_predictions, "prediction")
    return f"{written.path}: {facts} for {asked}{before}, in {seconds(written.seconds)}"
