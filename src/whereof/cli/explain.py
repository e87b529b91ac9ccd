"""`whereof explain`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from whereof.cli._completion import RUN
from whereof.cli._config import config_option
from whereof.cli._options import (
    ENGINES,
    EXPLAINING,
    GroupedOption,
    SettingsCommand,
    is_typed,
    json_option,
    print_json,
    setting_options,
)
from whereof.errors import WhereofError
from whereof.explain.options import ExplainOptions

_FILE = click.Path(path_type=Path)
_BULK: dict[str, Any] = {"cls": GroupedOption, "group": "In bulk"}
_SPLITS = ("test", "valid", "train")
_ENGINES = {name: setting for name, setting in ENGINES.items() if name != "threads"}
"""As many at a time as --threads says, which is there already."""


@click.command("explain", cls=SettingsCommand)
@click.argument("run", type=RUN)
@click.argument("prediction", nargs=-1)
@click.option("--everything", is_flag=True, help="Every adjacent fact, supporting or not.")
@click.option("--csv", "as_csv", is_flag=True, help="The facts as CSV, nothing else.")
@click.option("--html", type=_FILE, metavar="FILE", help="Also a page, with the graph drawn.")
@click.option("--svg", type=_FILE, metavar="FILE", help="Also the drawing alone.")
@click.option("--force", is_flag=True, help="Overwrite files that exist; in bulk, start anew.")
@config_option
@json_option
@setting_options(EXPLAINING | _ENGINES)
@click.option(
    "--predictions", metavar="top|true|FILE", help="Many, instead of PREDICTION.", **_BULK
)
@click.option("-o", "--out", type=_FILE, metavar="FILE", help="Where they go.", **_BULK)
@click.option(
    "--split",
    type=click.Choice(_SPLITS),
    help="Whose queries or facts, for top and true  [default: test]",
    **_BULK,
)
@click.option("--limit", type=int, metavar="N", help="Only the first so many.", **_BULK)
@click.option(
    "--threads", type=int, metavar="N", help="So many at a time  [default: all cores]", **_BULK
)
@click.option(
    "--device",
    type=click.Choice(("cpu", "cuda")),
    default="cpu",
    help="Where rollback scores candidates  [default: cpu]",
    **_BULK,
)
@click.option("--resume", is_flag=True, help="Go on with interrupted work, never begin.", **_BULK)
def command(run: Path, prediction: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Rank the training facts that made the model predict something.

    PREDICTION is SUBJECT RELATION OBJECT; two-way runs leave RELATION out. It need not be in any
    file. An open place, _, stands for its top new answer: SUBJECT RELATION _, or _ RELATION OBJECT
    in a run trained with --inverse.

    Each fact comes with its influence. By rollback that is what the probability owes to it, with
    the probability that would be left without it; other methods have numbers of their own. Facts
    that support come first, unless --opposing asks for the others. --method retrain is exact: it
    trains the model again without each adjacent fact, and says first how long that will take.

    --predictions explains many into a file: top, the top new answer of every query of a split;
    true, the facts of the split; or a file with a prediction on every line, separated by TAB, or
    by commas in a .csv file. They are written by the ending of their file: .jsonl, .tsv, .txt or
    .csv, each also with .gz, or .parquet. After an interruption the same command goes on where it
    stopped.
    """
    from whereof.api import Run
    from whereof.cli.progress import TerminalEvents

    settings = {name: options.pop(name) for name in EXPLAINING}
    _check(prediction, settings, as_json, options)
    settings = _chosen(settings, options.pop("everything"))
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
        raise WhereofError("--predictions and -o FILE go together: give both, or none")
    typed = filter(is_typed, ("device",) if retrains else ("threads", "device"))
    of_one = ("split", "limit", *typed, "resume")
    of_others = ("as_csv", "html", "svg") if many else of_one
    for name in (name for name in of_others if options[name]):
        flag, kind = name.removeprefix("as_"), "one PREDICTION" if many else "--predictions"
        raise WhereofError(f"--{flag} goes with {kind}; leave it out")
    engine = list(filter(is_typed, _ENGINES))
    if engine and not retrains:
        raise WhereofError(f"--{engine[0].replace('_', '-')} goes with --method retrain")
    if as_json and options["as_csv"]:
        raise WhereofError("--json and --csv both go to standard output; choose one of them")
    if options["everything"] and settings["top"] is not None:
        raise WhereofError("--everything lists every adjacent fact; leave out --top")


def _chosen(settings: dict[str, Any], everything: bool) -> dict[str, Any]:
    """The settings that were given; names of candidates may be in a file."""
    given = {name: value for name, value in settings.items() if value not in (None, ())}
    if everything:
        given["top"] = None
    if "candidates" in given:
        given["candidates"] = _candidates(given["candidates"])
    return given


def _candidates(wanted: str | list[str]) -> str | list[str]:
    from whereof.data.text import read_lines

    if isinstance(wanted, list):
        return wanted
    if wanted in ("objects", "subjects", "entities", "seen") or not Path(wanted).is_file():
        return wanted
    return [line.strip() for line in read_lines(Path(wanted)) if line.strip()]


def _explain_one(
    run: Any, names: tuple[str, ...], settings: dict[str, Any], as_json: bool, files: dict[str, Any]
) -> None:
    from whereof.explain.method import get_method
    from whereof.present.bulk import facts_csv
    from whereof.present.explanation import show_explanation
    from whereof.present.terminal import console

    options = ExplainOptions.from_dict(settings)
    _check_free(files)
    drawn = files["html"] or files["svg"]
    # Pictures have the graph too where its facts, which are rolled back, go with those listed.
    rolled_back = run.trace is not None and "groups" in get_method(options.method).can
    graph = options.graph or bool(drawn and rolled_back)
    explanation = _explained(run, names, settings | {"graph": graph}, files)
    shown = explanation if options.graph else replace(explanation, graph=None)
    if as_json:
        print_json(shown.to_dict())
    elif files["as_csv"]:
        click.echo(facts_csv(shown), nl=False)
    else:
        show_explanation(console(), shown, options)
    _draw(explanation, files)


def _explained(
    run: Any, names: tuple[str, ...], settings: dict[str, Any], files: dict[str, Any]
) -> Any:
    if not _retrains(settings):
        return run.explain(*names, **settings)
    engine = {name: files[name] for name in ENGINES if files[name] is not None}
    return run.explain(*names, events=files["events"], **settings, **engine)


def _check_free(files: dict[str, Any]) -> None:
    """Refuse pictures that cannot all be written, before anything is computed."""
    from whereof.run.files import check_free

    places = [files[name] for name in ("html", "svg") if files[name] is not None]
    for path in places:
        check_free(path, force=files["force"])
    if len({path.absolute() for path in places}) < len(places):
        raise WhereofError("--html and --svg name the same file; choose another for one of them")


def _draw(explanation: Any, files: dict[str, Any]) -> None:
    from whereof.present.explanation import explanation_page
    from whereof.present.graph_svg import explanation_svg
    from whereof.run.files import write_text

    for name, draw in (("html", explanation_page), ("svg", explanation_svg)):
        if files[name] is not None:
            write_text(files[name], draw(explanation), force=files["force"])
            click.echo(f"{files[name]} is written", err=True)


def _explain_many(run: Any, settings: dict[str, Any], as_json: bool, files: dict[str, Any]) -> None:
    from whereof.cli._bulk import report_failed, summary_line

    names = ("predictions", "out", "limit", "threads", "device", "resume", "force", "events")
    asked = {name: files[name] for name in names}
    written = run.explain_file(**asked, split=files["split"] or "test", **settings)
    report_failed(files["predictions"], written)
    if as_json:
        print_json(written.to_dict())
    else:
        click.echo(summary_line(written))
