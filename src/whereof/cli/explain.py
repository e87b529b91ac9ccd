"""`whereof explain`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from whereof.cli import _options
from whereof.errors import WhereofError
from whereof.explain.options import ExplainOptions
from whereof.units import count as counted
from whereof.units import show

_BULK: dict[str, Any] = {"cls": _options.GroupedOption, "group": "In bulk"}
_SPLITS = ("test", "valid", "train")
_ENGINES = {name: setting for name, setting in _options.ENGINES.items() if name != "threads"}
"""Options of the engine without --threads, which the command has already."""
_SHOWN = 10
"""Number of bad predictions that are named; others are only counted."""


@click.command("explain", cls=_options.SettingsCommand)
@click.argument("run", type=_options.RUN)
@click.argument("prediction", nargs=-1)
@click.option("--everything", is_flag=True, help="List every adjacent fact, supporting or not.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the facts as CSV and nothing else.")
@click.option(
    "--html", type=_options.FILE, metavar="FILE", help="Also write an HTML page with the graph."
)
@click.option("--svg", type=_options.FILE, metavar="FILE", help="Also write the graph alone.")
@click.option(
    "--force", is_flag=True, help="Overwrite files that exist; with --predictions, start again."
)
@_options.common_options
@_options.setting_options(_options.EXPLAINING | _ENGINES)
@click.option(
    "--predictions",
    metavar="top|true|FILE",
    help="Explain many predictions: the top answers, the true facts, or a file.",
    **_BULK,
)
@click.option(
    "-o", "--out", type=_options.FILE, metavar="FILE", help="File for the explanations.", **_BULK
)
@click.option(
    "--split",
    type=click.Choice(_SPLITS),
    help="The split for top and true  [default: test]",
    **_BULK,
)
@click.option("--limit", type=int, metavar="N", help="Only the first N predictions.", **_BULK)
@click.option(
    "--threads", type=int, metavar="N", help="Number of threads  [default: all cores]", **_BULK
)
@click.option(
    "--device",
    type=click.Choice(("cpu", "cuda")),
    default="cpu",
    help="Where rollback runs  [default: cpu]",
    **_BULK,
)
@click.option(
    "--resume", is_flag=True, help="Continue interrupted work; an error if there is none.", **_BULK
)
def command(run: Path, prediction: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Rank the training facts that made the model predict something.

    PREDICTION is SUBJECT RELATION OBJECT; two-way runs have no RELATION. It need not be in any
    file. _ means the top new answer: SUBJECT RELATION _, or _ RELATION OBJECT in a run
    trained with --inverse.

    Each fact has an influence. With rollback, this is the change of the probability, and the
    table shows the probability without the fact; other methods have their own scale. Facts
    that support the prediction come first; --opposing lists the others. --method retrain is
    exact: it retrains the model without each adjacent fact, and first says how long this takes.

    --predictions explains many predictions and writes them to a file. top: the top new answer of
    every query of a split. true: the facts of the split. FILE: one prediction per line, separated
    by TAB, or by commas in a .csv file. The ending of the output is its format: .jsonl, .tsv, .txt
    or .csv, each also with .gz, or .parquet. After an interruption, run the same command again to
    continue.
    """
    from whereof.api import Run
    from whereof.cli.progress import TerminalEvents

    settings = {name: options.pop(name) for name in _options.EXPLAINING}
    _check(prediction, settings, as_json, options)
    settings = _options.given(settings)
    if options.pop("everything"):
        settings["top"] = None
    if "candidates" in settings:
        settings["candidates"] = _candidates(settings["candidates"])
    opened = Run.open(run)
    with TerminalEvents() as events:
        if prediction:
            _explain_one(opened, prediction, settings, as_json, options | {"events": events})
        else:
            _explain_many(opened, settings, as_json, options | {"events": events})


def _retrains(settings: dict[str, Any]) -> bool:
    if settings.get("method") is None:
        return False
    from whereof.explain.method import get_method

    return "retraining" in get_method(settings["method"]).needs


def _check(
    prediction: tuple[str, ...], settings: dict[str, Any], as_json: bool, options: dict[str, Any]
) -> None:
    many, retrains = options["predictions"] is not None, _retrains(settings)
    if bool(prediction) == many:
        raise WhereofError(
            "give either a PREDICTION, such as SUBJECT RELATION OBJECT, or --predictions FILE"
        )
    if many != (options["out"] is not None):
        raise WhereofError("give both --predictions and -o FILE: the file gets the explanations")
    typed = filter(_options.is_typed, ("device",) if retrains else ("threads", "device"))
    of_one = ("split", "limit", *typed, "resume")
    of_others = ("as_csv", "html", "svg") if many else of_one
    for name in (name for name in of_others if options[name]):
        flag, kind = name.removeprefix("as_"), "one PREDICTION" if many else "--predictions"
        raise WhereofError(f"--{flag} requires {kind}")
    engine = list(filter(_options.is_typed, _ENGINES))
    if engine and not retrains:
        raise WhereofError(f"--{engine[0].replace('_', '-')} requires a --method that retrains")
    if as_json and options["as_csv"]:
        raise WhereofError("--json and --csv both write to standard output; choose one of them")
    if options["everything"] and settings["top"] is not None:
        raise WhereofError("--everything lists every adjacent fact; leave out --top")


def _candidates(wanted: str | list[str]) -> str | list[str]:
    """Names of candidates; one name may be that of a file."""
    from whereof.data.text import read_lines

    kinds = ("objects", "subjects", "entities", "seen")
    if isinstance(wanted, list) or wanted in kinds or not Path(wanted).is_file():
        return wanted
    return [line.strip() for line in read_lines(Path(wanted)) if line.strip()]


def _explain_one(
    run: Any, names: tuple[str, ...], settings: dict[str, Any], as_json: bool, files: dict[str, Any]
) -> None:
    from whereof.explain.method import get_method
    from whereof.present.bulk import facts_csv
    from whereof.present.explanation import explanation_page, show_explanation
    from whereof.present.graph import explanation_svg
    from whereof.present.terminal import console
    from whereof.run.files import check_free, write_text

    options = ExplainOptions.from_dict(settings)
    drawings = {"html": explanation_page, "svg": explanation_svg}
    drawn = {name: files[name] for name in drawings if files[name] is not None}
    for path in drawn.values():
        check_free(path, force=files["force"])
    if len({path.absolute() for path in drawn.values()}) < len(drawn):
        raise WhereofError("--html and --svg name the same file; choose another for one of them")
    # Pictures also show the graph if the method can estimate its facts.
    rolled_back = run.trace is not None and "groups" in get_method(options.method).can
    graph = options.graph or bool(drawn and rolled_back)
    settings = settings | {"graph": graph}
    if _retrains(settings):
        settings |= {name: files[name] for name in _options.ENGINES if files[name] is not None}
    explanation = run.explain(*names, events=files["events"], **settings)
    shown = explanation if options.graph else replace(explanation, graph=None)
    if as_json:
        _options.print_json(shown.to_dict())
    elif files["as_csv"]:
        click.echo(facts_csv(shown), nl=False)
    else:
        show_explanation(console(), shown, options)
    for name, path in drawn.items():
        write_text(path, drawings[name](explanation), force=files["force"])
        click.echo(f"{path} is written", err=True)


def _explain_many(run: Any, settings: dict[str, Any], as_json: bool, files: dict[str, Any]) -> None:
    names = ("predictions", "out", "limit", "threads", "device", "resume", "force", "events")
    asked = {name: files[name] for name in names}
    written = run.explain_file(**asked, split=files["split"] or "test", **settings)
    _report_failed(files["predictions"], written)
    if as_json:
        _options.print_json(written.to_dict())
        return
    before = f", {written.n_resumed:,} of them before" if written.n_resumed else ""
    n_facts = counted(written.n_facts, "fact")
    n_predictions = counted(written.n_predictions, "prediction")
    took = show(written.seconds, "seconds")
    click.echo(f"{written.path}: {n_facts} for {n_predictions}{before}, in {took}")


def _report_failed(source: str, written: Any) -> None:
    """Name the predictions that could not be explained; an error if none could."""
    failed, n_others = written.failed, len(written.failed) - 1
    if not failed:
        return
    if not written.n_predictions:
        others = f" ({n_others:,} other bad {'one' if n_others == 1 else 'ones'})"
        raise WhereofError(f"{_place(source, failed[0])}{others if n_others else ''}")
    for each in failed[:_SHOWN]:
        click.echo(f"whereof: {' '.join(_place(source, each).split())}", err=True)
    if len(failed) > _SHOWN:
        rest = counted(len(failed) - _SHOWN, "other prediction")
        click.echo(f"whereof: {rest} could not be explained either", err=True)


def _place(source: str, failed: Any) -> str:
    """The place of a bad prediction, and what is wrong with it."""
    if source in ("top", "true"):
        words = ("_" if name is None else name for name in failed.prediction)
        return f"{' '.join(words)}: {failed.message}"
    return f"{source}:{failed.line}: {failed.message}"
