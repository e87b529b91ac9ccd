"""Evaluating a run: its cases under several seeds and constraints, opened, looked at and kept."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof.api._cases import open_cases, take_engine
from whereof.api._run import Run
from whereof.errors import WhereofError
from whereof.events import Events, Note

if TYPE_CHECKING:
    from whereof.evaluate.evaluation import Evaluation


def evaluate_run(run: Run, options: dict[str, Any], events: Events | None) -> "Evaluation":
    """Evaluate a run by fields of `EvaluateOptions` and `EngineOptions`; kept in its folder."""
    from whereof.evaluate.evaluating import About, check_possible, evaluate
    from whereof.evaluate.options import EvaluateOptions
    from whereof.evaluate.protocol import protocols

    where = take_engine(options)
    if isinstance(options.get("predictions"), Path):
        options["predictions"] = str(options["predictions"])
    if not isinstance(options.get("predictions", ""), str):
        raise WhereofError("predictions are top, true or a file; write a list of them into one")
    asked = EvaluateOptions.from_dict(options)
    with open_cases(run, where, events) as opened:
        check_possible(opened.own(), asked, where.threads)
        cases = opened.seeds(asked.seeds)
        variants = {
            each.name: {
                name: opened.seeds(asked.seeds, **changes)
                for name, changes in each.variants(asked).items()
            }
            for each in protocols(asked.protocols)
        }
        about = About(str(run.path), run.dataset.name)
        found = evaluate(cases, asked, about, variants, where.threads)
        _keep(run, found, opened.events)
    return found


def _keep(run: Run, found: "Evaluation", events: Events) -> None:
    """The document in the run's folder, where reports look for it; true influences beside it."""
    from whereof.run.evaluations import save_evaluation, save_influences

    assert run.path is not None
    try:
        path = save_evaluation(run.path, found.to_dict())
        for name, array in found.arrays().items():
            save_influences(path, name, array)
    except (OSError, WhereofError) as error:
        events.emit(Note(f"the evaluation is not kept in the run: {error}"))
