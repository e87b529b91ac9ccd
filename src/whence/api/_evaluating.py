"""Evaluating a run: its cases under several seeds and constraints, opened, looked at and kept."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.api._cases import open_cases, take_engine
from whence.api._run import Run
from whence.errors import WhenceError

if TYPE_CHECKING:
    from whence.engines import RetrainWatch
    from whence.evaluate.results import Evaluation


def evaluate_run(run: Run, options: dict[str, Any], watch: "RetrainWatch | None") -> "Evaluation":
    """Evaluate a run by fields of `EvaluateOptions` and `EngineOptions`; kept in its folder."""
    from whence.evaluate.checking import check_possible
    from whence.evaluate.evaluating import About, evaluate
    from whence.evaluate.options import EvaluateOptions

    where = take_engine(options)
    if isinstance(options.get("predictions"), Path):
        options["predictions"] = str(options["predictions"])
    if not isinstance(options.get("predictions", ""), str):
        raise WhenceError("predictions are top, true or a file; write a list of them into one")
    asked = EvaluateOptions.from_dict(options)
    with open_cases(run, where, watch) as opened:
        check_possible(opened.own(), asked, where.threads)
        cases = opened.seeds(asked.seeds)
        constrained = {
            constraint: opened.seeds(asked.seeds, constraint=constraint)
            for constraint in asked.constraints or ()
        }
        about = About(str(run.path), run.dataset.name)
        found = evaluate(cases, asked, about, constrained, where.threads)
        _keep(run, found, opened.watch)
    return found


def _keep(run: Run, found: "Evaluation", watch: "RetrainWatch") -> None:
    """The document in the run's folder, where reports look for it; true influences beside it."""
    from whence.files import save_evaluation, save_influences

    assert run.path is not None
    try:
        path = save_evaluation(run.path, found.to_dict())
        for each in found.true_influences:
            save_influences(path, each.seed, each.array)
    except (OSError, WhenceError) as error:
        watch.noted(f"the evaluation is not kept in the run: {error}")
