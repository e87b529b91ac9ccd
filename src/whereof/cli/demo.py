"""`whereof demo`."""

from pathlib import Path

import click

from whereof.cli._options import json_option, print_json

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
    from whereof import api
    from whereof.cli._explained import show_explanation
    from whereof.cli._screen import program
    from whereof.cli._tables import answers_table, console, metrics_table
    from whereof.cli._verdicts import show_verdict
    from whereof.cli.progress import TerminalEvents
    from whereof.explain import ExplainOptions

    path = out or api.free_path("demo")
    with TerminalEvents() as events:
        events.say("Nations: 1,592 facts between 14 countries, such as (egypt, embassy, usa).")
        run = api.train("nations", out=path, preset="paper", events=events)
        prediction = run.predict(*_QUERY, top=_TOP).to_dict()
        run.explain(*_QUERY, None, top=1)  # kernels are loaded: not what explaining takes
        explanation = run.explain(*_QUERY, None, top=_TOP).to_dict()
        verdict = run.verify(*_QUERY, None, top=_TOP, events=events)
    if as_json:
        done = {"train": run.summary(), "predict": prediction, "explain": explanation}
        print_json({**done, "verify": verdict.to_dict()})
        return
    screen, whereof = console(), program()
    screen.print(metrics_table(run.metrics))
    screen.print()
    screen.print(answers_table("Where do students from india go?", prediction["answers"]))
    screen.print(f"\nWhy {explanation['prediction']['labels']['object']}?", style="bold")
    show_explanation(screen, explanation, ExplainOptions(top=_TOP))
    screen.print("\nIs that so? Trained again without these facts:", style="bold")
    show_verdict(screen, verdict, listed=False)
    screen.print(_try_next(path, whereof), soft_wrap=True)


def _try_next(path: Path, whereof: str) -> str:
    return (
        f"\nTry next:\n"
        f"  {whereof} explain {path} india students usa --html why.html\n"
        f"  {whereof} explain {path} india students usa --instead-of uk\n"
        f"  {whereof} verify {path} india students usa --each --seeds 3\n"
        f"  {whereof} evaluate {path}\n"
        f"  {whereof} report {path}\n"
        f"  {whereof} paper nations\n"
        f"  {whereof} train YOUR.tsv"
    )
