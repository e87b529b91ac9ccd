"""`whereof demo`."""

import shutil
import sys
from pathlib import Path

from whereof.cli import _options

_QUERY = ("india", "students")
_TOP = 5


@_options.command("demo")
@_options.new_run
def command(out: Path | None, as_json: bool) -> None:
    """Train on the bundled dataset Nations, predict, explain and verify."""
    from whereof import api
    from whereof.cli.progress import TerminalEvents
    from whereof.explain.options import ExplainOptions
    from whereof.present.explanation import show_explanation
    from whereof.present.metrics import metrics_table
    from whereof.present.run import answers_table
    from whereof.present.terminal import console, heading, show
    from whereof.present.verdict import show_verdict

    path = out or api.free_path("demo")
    with TerminalEvents() as events:
        events.say("Nations: 1,592 facts between 14 countries, such as (egypt, embassy, usa).")
        run = api.train("nations", out=path, preset="paper", events=events)
        prediction = run.predict(*_QUERY, top=_TOP)
        run.explain(*_QUERY, None, top=1)  # kernels are loaded: not what explaining takes
        explanation = run.explain(*_QUERY, None, top=_TOP)
        verdict = run.verify(*_QUERY, None, top=_TOP, events=events)
    if as_json:
        answers, why = prediction.to_dict(), explanation.to_dict()
        done = {"train": run.summary(), "predict": answers, "explain": why}
        _options.print_json({**done, "verify": verdict.to_dict()})
        return
    screen = console()
    show(screen, metrics_table(run.metrics), "")
    show(screen, answers_table("Where do students from india go?", prediction.answers))
    show(screen, heading(f"Why {explanation.prediction.labels['object']}?"))
    show_explanation(screen, explanation, ExplainOptions(top=_TOP))
    show(screen, heading("Is that so? The model trained again without these facts:"))
    show_verdict(screen, verdict, listed=False)
    screen.print(_try_next(path, _program()), soft_wrap=True)


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


def _program() -> str:
    """How to call this program: by its name, or as it was called."""
    called = Path(sys.argv[0]).absolute()
    if shutil.which("whereof"):
        return "whereof"
    if called.name == "__main__.py":
        return "python -m whereof"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)
