"""Measures the parts one by one, and keeps each when it is finished."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from whereof._version import __version__
from whereof.api import runs
from whereof.api.run import Run
from whereof.data.dataset import Dataset
from whereof.data.read import read_dataset
from whereof.errors import WhereofError
from whereof.evaluate.evaluation import Evaluation, convert, evaluate, plain
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocols.leave_one_out import Order
from whereof.evaluate.protocols.removal import Significance
from whereof.evaluate.sample import Retraining
from whereof.events import Events, Note
from whereof.explain.explanation import ExplainedFact, Explanation
from whereof.paper.figures import Count
from whereof.paper.plan import FIRST_SEED, MODELS, Example, PaperOptions, Part, plan
from whereof.retrain.engine import Engine, Recipe, choose_engine, settle_engine
from whereof.retrain.options import EngineOptions
from whereof.retrain.retrainer import Case
from whereof.run.files import parse_json, write_text
from whereof.training.defaults import choose_config
from whereof.training.problem import Problem

_FORMAT = 2
"""Of the file of a finished part."""
_EXAMPLES, _EXAMPLE_FACTS = 2, 8
_SHOWN = 3
"""Number of facts shown for each of the paper's examples."""


@dataclass(frozen=True)
class Measured:
    """How a part was measured; the date is UTC."""

    command: str
    machine: str
    date: str


@dataclass(frozen=True)
class ExplainedExample:
    """Our explanation of a prediction that the paper explains."""

    ours: Explanation
    """With the first facts only."""
    paper: tuple[ExplainedFact, ...]
    """The paper's fact in our ranking; its label may stand for several entities."""


@dataclass(frozen=True)
class PartResult:
    """The result of a finished part."""

    part: Part
    evaluation: Evaluation
    measured: Measured
    training_seconds: tuple[float, ...]
    """By seed, as the metrics."""
    metrics: tuple[dict[str, Any], ...]
    significance: tuple[Significance, ...]
    """Rollback against every baseline."""
    examples: tuple[Explanation, ...]
    """Explanations of the predictions that fell furthest."""
    qualitative: tuple[ExplainedExample, ...] = ()
    other_credit: tuple[Order, ...] = ()
    """How rollback ranks facts with the other credit."""
    labels: dict[str, str] = field(default_factory=dict)
    """By name: the labels of entities in `other_credit`."""

    @classmethod
    def from_dict(cls, part: Part, document: dict[str, Any], name: str) -> "PartResult":
        """A result from its document, which `name` says the place of."""
        kinds, own = get_type_hints(cls), document.keys() - {"asked", "evaluation"}
        fields = {key: convert(document[key], kinds[key], name) for key in own}
        return cls(part, Evaluation.from_dict(document["evaluation"], name), **fields)

    @property
    def names(self) -> tuple[str, str]:
        """Model and optimizer, as tables show them."""
        return MODELS[self.part.model], self.part.optimizer

    @property
    def title(self) -> str:
        return ", ".join(self.names)

    @property
    def count(self) -> Count:
        return Count(self.evaluation.n_predictions, len(self.evaluation.seeds))


@dataclass(frozen=True)
class Results:
    """The results of finished parts, in the order of the paper's tables."""

    options: PaperOptions
    finished: Sequence[PartResult]

    def find(self, parts: str) -> list[PartResult]:
        """The finished parts of these names or groups, with blanks between them."""
        return [
            mine
            for word in parts.split()
            for mine in self.finished
            if word in (mine.part.name, mine.part.group)
        ]

    @property
    def missing(self) -> list[Part]:
        found = [mine.part.name for mine in self.finished]
        return [part for part in plan(self.options) if part.name not in found]


@dataclass(frozen=True)
class Measuring:
    """Trains and measures parts with one engine. Parts with the same settings share a run."""

    options: PaperOptions
    events: Events

    @cached_property
    def dataset(self) -> Dataset:
        """The data, with ratings as objects."""
        name, where = self.options.published.catalogue, self.options.data_dir
        return read_dataset(name, events=self.events, objects_if_rated=True, data_dir=where)

    @cached_property
    def where(self) -> EngineOptions:
        """Where runs are trained and retrained; not `auto`."""
        return settle_engine(self.options.engine, self.recipe(plan(self.options)[0]).problem)

    @cached_property
    def engine(self) -> Engine:
        return choose_engine(self.where)

    def recipe(self, part: Part) -> Recipe:
        """The recipe for retraining a part, with all epochs: the best one is not known yet."""
        asked = {"model": part.model, "seed": FIRST_SEED, **part.settings}
        problem = Problem.of(self.dataset, choose_config(self.dataset, "paper", asked))
        return Recipe(problem, problem.config.epochs * len(problem.facts))

    def run_path(self, part: Part) -> Path:
        return self.options.folder / "runs" / part.run

    def missing(self, part: Part) -> list[Path]:
        """Folders of a part's runs that are not trained, or not to the end."""
        path = self.run_path(part)
        found = [path, *(runs.sibling_path(path, changes) for changes in part.siblings)]
        for each in tuple(found):
            with suppress(WhereofError):  # a broken run raises when it is opened for work
                if Run.open(each, unfinished=True).manifest.finished:
                    found.remove(each)
        return found

    def open(self, part: Part) -> Run:
        """The run of a part under the first seed; trains it if needed."""
        where = self.run_path(part), self.dataset, self.recipe(part).problem.config
        return runs.train_once(*where, self.events, runs.machine_of(self.where), part.run)

    def sibling(self, run: Run, **changes: Any) -> Run:
        """The run with some settings changed."""
        return runs.sibling(run, self.events, runs.machine_of(self.where), **changes)

    def path(self, part: Part) -> Path:
        """The file of its result."""
        return self.options.folder / "parts" / f"{part.name}.json"

    def kept(self, part: Part) -> PartResult | None:
        """The stored result of a part; None if there is none for these settings."""
        path = self.path(part)
        try:
            document = parse_json(path.read_bytes())
            same = document["asked"] == self._asked(part)
            return PartResult.from_dict(part, document, str(path)) if same else None
        except (OSError, ValueError, LookupError, TypeError, WhereofError):
            return None

    def _asked(self, part: Part) -> Any:
        identity, version = self.engine.identity, __version__
        return plain({"format": _FORMAT, "part": part, "engine": identity, "whereof": version})

    def measure(self, part: Part) -> PartResult:
        """Evaluate a part and store the result."""
        run, path = self.open(part), self.path(part)
        # Whatever may be missing is found before anything is retrained.
        qualitative = explain_examples(run, self.events, part.examples)
        other = part.other_credit and self.sibling(run, credit=part.other_credit)
        if other:
            check_same_rows(run, other)
        evaluation = self._evaluate(run, part.options)
        if evaluation.retrainings:
            rows = self.options.folder / "retrainings" / f"{part.name}.parquet"
            evaluation.to_file(rows, force=True)
        date = datetime.now(UTC).isoformat(timespec="seconds")
        seeds = [self.sibling(run, seed=seed) for seed in part.seeds]
        document = plain(
            {
                "asked": self._asked(part),
                "measured": Measured(self.options.command, self.engine.describe(), date),
                "training_seconds": [each.summary()["seconds"] for each in seeds],
                "metrics": [each.metrics for each in seeds],
                "evaluation": evaluation.to_dict(),
                "significance": self._significance(run, part, evaluation),
                "examples": [
                    run.explain(
                        row.subject, row.relation, row.object, method="rollback", top=_EXAMPLE_FACTS
                    )
                    for row in fallen(evaluation.retrainings)
                ],
                "qualitative": qualitative,
                **(self._other_credit(run, other, part) if other else {}),
            }
        )
        write_text(path, json.dumps(document, ensure_ascii=False, allow_nan=False), force=True)
        return PartResult.from_dict(part, document, str(path))

    def _evaluate(self, run: Run, options: EvaluateOptions) -> Evaluation:
        return run.evaluate(events=self.events, **options.to_dict(), **self.where.to_dict())

    def _significance(self, run: Run, part: Part, evaluation: Evaluation) -> list[Significance]:
        """Rollback against every baseline; by now no retraining is needed."""
        every, found = part.options, []
        for it in part.other_baselines:
            found.append(self._evaluate(run, every.replace(methods=(it, "rollback"), baseline=it)))
        rows = (row for each in (*found, evaluation) for row in each.significance)
        return [row for row in rows if row.method == "rollback"]

    def _other_credit(self, run: Run, other: Run, part: Part) -> dict[str, Any]:
        with runs.open_case(run, self.engine, self.events) as case:
            orders = rank_by_other_trace(case, other, part.options)
        entities = other.dataset.entities
        names = {name for each in orders for name in (each.subject, each.object)}
        labels = {name: entities.label(entities.find(name)) for name in names}
        return {"other_credit": orders, "labels": labels}


def fallen(retrainings: Sequence[Retraining], n: int = _EXAMPLES) -> list[Retraining]:
    """The predictions of the first seed that fell furthest without rollback's first fact."""
    first = ("removal", "rollback", "1", FIRST_SEED)
    single = [row for row in retrainings if (row.protocol, row.method, row.k, row.seed) == first]
    single.sort(key=lambda row: (row.actual or 0.0) - (row.original or 0.0))
    return [row for row in single[:n] if row.asks == "object"]


def explain_examples(
    run: Run, events: Events, examples: Sequence[Example]
) -> list[ExplainedExample]:
    """How a run explains the paper's examples; those that are not in the data are left out."""
    explained, missing = [], []
    for *names, paper in examples:
        try:
            found = run.explain(*names, method="rollback", top=None)
        except WhereofError as error:
            missing.append(str(error))
            continue
        end = found.prediction.relation, found.prediction.object
        same = (fact for fact in found.facts if (fact.relation, fact.object) == end)
        papers = tuple(fact for fact in same if fact.labels["subject"] == paper)
        explained.append(ExplainedExample(replace(found, facts=found.facts[:_SHOWN]), papers))
    if missing:
        n_left_out = f"{len(missing)} of the paper's {len(examples)} examples are left out"
        events.emit(Note(f"{n_left_out}: {missing[0]}"))
    return explained


def check_same_rows(run: Run, other: Run) -> None:
    """Refuse to compare a trace with the retrainings of a model that it does not belong to."""
    pairs = (run.entity_rows, other.entity_rows), (run.relation_rows, other.relation_rows)
    if not all(np.array_equal(*pair) for pair in pairs):
        raise WhereofError(
            f"{other.path} has other parameters than {run.path}, and credit changes none: they "
            f"were trained on different machines; remove {run.path} to train both again"
        )


def rank_by_other_trace(case: Case, other: Run, options: EvaluateOptions) -> Sequence[Order]:
    """How rollback ranks facts with the trace of another run that has the same parameters.

    Credit by step and by source differ in the trace only, so one set of retrainings serves both.
    """
    # Explanations are computed where the run's own are: on the GPU, or on the CPU.
    traced = replace(case, trained=replace(other._trained, backing=case.trained.backing))
    options = options.replace(methods="rollback", baseline=None, constraints=None)
    found = evaluate(lambda _: [traced], options, ("", ""))
    orders: Sequence[Order] = found.leave_one_out[0].orders
    return orders
