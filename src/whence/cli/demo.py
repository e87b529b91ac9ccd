"""`whence demo`."""

from pathlib import Path

import click

from whence.cli._options import json_option, print_json

_QUERY = ("india", "students")
_TOP = 5


@click.command("demo")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="Folder of the run  [default: a new one in runs/]",
)
@json_option
def command(out: Path | None, as_json: bool) -> None:
    """Train on the bundled Nations, ask the model something, ask it why, and check that."""
    from whence import api
    from whence._jit import announced
    from whence.cli._explained import show_explanation
    from whence.cli._retraining import RetrainScreen
    from whence.cli._screen import program
    from whence.cli._tables import answers_table, console, metrics_table
    from whence.cli._verdicts import show_verdict
    from whence.cli._watch import TerminalWatch
    from whence.explain import ExplainOptions

    path = out or api.free_path("demo")
    with TerminalWatch() as watch:
        watch.say("Nations: 1,592 facts between 14 countries, such as (egypt, embassy, usa).")
        run = api.train("nations", out=path, preset="paper", watch=watch)
        prediction = run.predict(*_QUERY, top=_TOP).to_dict()
        with announced(watch.compiling):
            run.explain(*_QUERY, None, top=1)  # kernels are loaded: not what explaining takes
        explanation = run.explain(*_QUERY, None, top=_TOP).to_dict()
        with announced(watch.compiling), RetrainScreen() as retrain_watch:
            verdict = run.verify(*_QUERY, None, top=_TOP, watch=retrain_watch)
    if as_json:
        done = {"train": run.summary(), "predict": prediction, "explain": explanation}
        print_json({**done, "verify": verdict.to_dict()})
        return
    screen, whence = console(), program()
    screen.print(metrics_table(run.metrics))
    screen.print()
    screen.print(answers_table("Where do students from india go?", prediction["answers"]))
    screen.print(f"\nWhy {explanation['prediction']['labels']['object']}?", style="bold")
    show_explanation(screen, explanation, ExplainOptions(top=_TOP))
    screen.print("\nIs that so? Trained again without these facts:", style="bold")
    show_verdict(screen, verdict, listed=False)
    screen.print(_try_next(path, whence), soft_wrap=True)


def _try_next(path: Path, whence: str) -> str:
    return (
        f"\nTry next:\n"
        f"  {whence} explain {path} india students usa --html why.html\n"
        f"  {whence} explain {path} india students usa --instead-of uk\n"
        f"  {whence} verify {path} india students usa --each --seeds 3\n"
        f"  {whence} evaluate {path}\n"
        f"  {whence} report {path}\n"
        f"  {whence} paper nations\n"
        f"  {whence} train YOUR.tsv"
    )
