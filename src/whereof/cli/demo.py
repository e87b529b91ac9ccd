"""`whereof demo`."""

import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from whereof.cli import _options
from whereof.events import Events, Note

_GREETING = "Nations: 1,592 facts between 14 countries, such as (egypt, embassy, usa)."
_QUERY = ("india", "students")
_TOP = 5
_TRY_NEXT = """
Try next:
  {0} explain {1} india students usa --html why.html
  {0} explain {1} india students usa --instead-of uk
  {0} verify {1} india students usa --each --seeds 3
  {0} evaluate {1}
  {0} report {1}
  {0} paper nations
  {0} train YOUR.tsv

See it in the browser:
  {0} serve {1}"""


@_options.command("demo", progress=True)
@_options.new_run
def command(out: Path | None, events: Events) -> _options.Result:
    """Train on the bundled dataset Nations, predict, explain and verify."""
    from whereof.api import runs

    path = out or runs.free_path("demo")
    events.emit(Note(_GREETING))
    run = runs.train("nations", out=path, events=events)
    answers = run.predict(*_QUERY, top=_TOP)
    run.explain(*_QUERY, "uk", top=1)  # loads the kernels: the time shown is that of explaining
    why = run.explain(*_QUERY, None, top=_TOP)
    verdict = run.verify(*_QUERY, None, top=_TOP, events=events)
    shown: dict[str, Any] = {"predict": answers, "explain": why, "verify": verdict}
    documents = {name: each.to_dict() for name, each in shown.items()}
    return {"train": run.summary(), **documents}, partial(_show, run, path, answers, why, verdict)


def _show(run: Any, path: Path, prediction: Any, explanation: Any, verdict: Any) -> None:
    from whereof.explain.options import ExplainOptions
    from whereof.present.explanation import show_explanation
    from whereof.present.metrics import metrics_table
    from whereof.present.run import answers_table
    from whereof.present.terminal import console, heading, show
    from whereof.present.verdict import show_verdict

    screen = console()
    show(screen, metrics_table(run.metrics), "")
    show(screen, answers_table("Where do students from india go?", prediction.answers))
    show(screen, heading(f"Why {explanation.prediction.labels['object']}?"))
    show_explanation(screen, explanation, ExplainOptions(top=_TOP), str(path))
    show(screen, heading("Check: the model retrained without these facts"))
    show_verdict(screen, verdict, listed=False)
    screen.print(_TRY_NEXT.format(_program(), path), soft_wrap=True)


def _program() -> str:
    """How to call this program: by its name, or as it was called."""
    called = Path(sys.argv[0]).absolute()
    if shutil.which("whereof"):
        return "whereof"
    if called.name == "__main__.py":
        return "python -m whereof"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)
