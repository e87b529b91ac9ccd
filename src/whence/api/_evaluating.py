"""Evaluating a run: its cases under several seeds and constraints, opened, looked at and kept."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.api._cases import open_case, sibling
from whence.api._run import Run
from whence.errors import WhenceError
from whence.training.results import Watch

if TYPE_CHECKING:
    from whence.engines import Engine, RetrainWatch
    from whence.evaluate.results import Evaluation
    from whence.verify import Case


def evaluate_run(run: Run, options: dict[str, Any], watch: "RetrainWatch | None") -> "Evaluation":
    """Evaluate a run by fields of `EvaluateOptions` and `EngineOptions`; kept in its folder."""
    from whence.engines import EngineOptions, RetrainWatch, choose_engine
    from whence.evaluate.evaluating import About, evaluate
    from whence.evaluate.options import EvaluateOptions

    settings = {name: options.pop(name) for name in EngineOptions.names() if name in options}
    where = EngineOptions(**settings)
    if isinstance(options.get("predictions"), Path):
        options["predictions"] = str(options["predictions"])
    asked, watch = EvaluateOptions.from_dict(options), watch or RetrainWatch()
    with ExitStack() as stack:
        engine = stack.enter_context(closing(choose_engine(where)))
        opening = _Opening(stack, run, engine, watch)
        cases = opening.cases(asked.seeds, {})
        constrained = {
            constraint: opening.cases(asked.seeds, {"constraint": constraint})
            for constraint in asked.constraints or ()
        }
        about = About(str(run.path), run.dataset.name)
        found = evaluate(cases, asked, about, constrained, where.threads)
    _keep(run, found, watch)
    return found


@dataclass(frozen=True)
class _Opening:
    """Opens cases, each once, which are closed together."""

    stack: ExitStack
    run: Run
    engine: "Engine"
    watch: "RetrainWatch"
    opened: "dict[Path | None, Case]" = field(default_factory=dict)

    def cases(self, seeds: int, changes: dict[str, Any]) -> Sequence["Case"]:
        """The run under seed, seed + 1 and so on, with some settings changed."""
        first = self.run.config.seed
        return [self._case(changes | {"seed": first + number}) for number in range(seeds)]

    def _case(self, changes: dict[str, Any]) -> "Case":
        own = self.run.config
        changes = {name: value for name, value in changes.items() if getattr(own, name) != value}
        run = sibling(self.run, _TrainingWatch(self.watch, changes), **changes)
        if run.path not in self.opened:
            case = self.stack.enter_context(open_case(run, self.engine, self.watch))
            self.opened[run.path] = case
        return self.opened[run.path]


class _TrainingWatch(Watch):
    """Looks at the training of a sibling for one who looks at retraining."""

    def __init__(self, watch: "RetrainWatch", changes: dict[str, Any]) -> None:
        self._watch, self._changes = watch, changes

    def started(self, about: Any) -> None:
        words = ", ".join(f"{name} {value}" for name, value in self._changes.items())
        self._watch.noted(f"training the run with {words}")

    def should_stop(self) -> bool:
        return self._watch.should_stop()


def _keep(run: Run, found: "Evaluation", watch: "RetrainWatch") -> None:
    """The document in the run's folder, where reports look for it."""
    from whence.files import save_evaluation

    assert run.path is not None
    try:
        save_evaluation(run.path, found.to_dict())
    except (OSError, WhenceError) as error:
        watch.noted(f"the evaluation is not kept in the run: {error}")
