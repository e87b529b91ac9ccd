"""Measures the parts one by one, and keeps each when it is finished."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from whereof._version import __version__
from whereof.api import Run
from whereof.api.cases import open_case
from whereof.errors import WhereofError
from whereof.evaluate.evaluation import Evaluation, convert, plain
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocols.leave_one_out import Order, Truth, find_orders
from whereof.evaluate.protocols.removal import Significance
from whereof.evaluate.sample import Retraining, Sample, pick
from whereof.events import Events, Note
from whereof.explain.explanation import ExplainedFact, Explanation
from whereof.paper.figures import Count
from whereof.paper.plan import FIRST_SEED, PaperOptions, Part, plan
from whereof.paper.published import EXAMPLES, MODELS, PublishedExample
from whereof.paper.runs import Runs
from whereof.retrain.engine import Engine
from whereof.retrain.retrainer import Case
from whereof.run.files import write_text

_FORMAT = 1
"""Of the file of a finished part."""
_EXAMPLES, _EXAMPLE_FACTS = 2, 8
_SHOWN = 3
"""Number of facts shown for each of the paper's examples."""


@dataclass(frozen=True)
class Measured:
    """How a part was measured: command, machine and date."""

    command: str
    machine: str
    date: str
    """UTC."""


@dataclass(frozen=True)
class TrainedRun:
    """One seed of a run: how long training took, and how good the model is."""

    seed: int
    seconds: float
    metrics: dict[str, Any]


@dataclass(frozen=True)
class ExplainedExample:
    """Our explanation of a prediction that the paper explains."""

    ours: Explanation
    """With the first facts only."""
    paper: tuple[ExplainedFact, ...]
    """The paper's fact in our ranking; its label may stand for several entities."""


@dataclass(frozen=True)
class PartResult:
    """The stored result of a finished part."""

    asked: dict[str, Any]
    """The settings that tell it from other results."""
    measured: Measured
    runs: tuple[TrainedRun, ...]
    evaluation: dict[str, Any]
    """The document of an `Evaluation`."""
    significance: tuple[Significance, ...]
    """Rollback against every baseline."""
    examples: tuple[Explanation, ...]
    """Explanations of the predictions that fell furthest."""
    qualitative: tuple[ExplainedExample, ...] = ()
    other_credit: tuple[Order, ...] = ()
    """How rollback ranks facts with the other credit."""
    labels: dict[str, str] = field(default_factory=dict)
    """By name: the labels of entities in `other_credit`."""


@dataclass(frozen=True)
class Finished:
    """A finished part with its result."""

    part: Part
    result: PartResult

    @cached_property
    def evaluation(self) -> Evaluation:
        return Evaluation.from_dict(self.result.evaluation)

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
    """The results of all finished parts, by name."""

    options: PaperOptions
    parts: Mapping[str, PartResult]

    @cached_property
    def finished(self) -> list[Finished]:
        """The finished parts, in the order of the paper's tables."""
        known, planned = self.parts, plan(self.options)
        return [Finished(part, known[part.name]) for part in planned if part.name in known]

    @property
    def table1(self) -> list[Finished]:
        """The finished parts of Table 1."""
        return [each for each in self.finished if each.part.in_table1]

    def find(self, name: str) -> list[Finished]:
        """The part of that name, if it is finished."""
        return [each for each in self.finished if each.part.name == name]

    @property
    def missing(self) -> list[Part]:
        return [part for part in plan(self.options) if part.name not in self.parts]


@dataclass(frozen=True)
class Measuring:
    """Measures parts with one engine."""

    options: PaperOptions
    engine: Engine
    events: Events
    runs: Runs

    def kept(self, part: Part) -> PartResult | None:
        """The stored result of a part; None if there is none for these settings."""
        path = self.path(part)
        try:
            document = json.loads(path.read_bytes())
            same = document["asked"] == self._asked(part)
            return convert(document, PartResult, str(path)) if same else None
        except (OSError, ValueError, LookupError, TypeError, WhereofError):
            return None

    def measure(self, part: Part) -> PartResult:
        """Evaluate a part and store the result."""
        run = self.runs.open(part)
        # Whatever may be missing is found before anything is retrained.
        qualitative = explain_examples(run, self.events) if part.explains_examples else ()
        other = self._other_run(run, part)
        evaluation = self._evaluate(run, part.options)
        if evaluation.retrainings:
            path = self.options.folder / "retrainings" / f"{part.name}.parquet"
            evaluation.to_file(path, force=True)
        date = datetime.now(UTC).isoformat(timespec="seconds")
        runs = [self.runs.sibling(run, seed=seed) for seed in part.seeds]
        document = plain(
            {
                "asked": self._asked(part),
                "measured": Measured(self.options.command, self.engine.describe(), date),
                "runs": [
                    TrainedRun(it.config.seed, it.summary()["seconds"], it.metrics) for it in runs
                ],
                "evaluation": evaluation.to_dict(),
                "significance": self._significance(run, part, evaluation),
                "examples": [
                    run.explain(row.subject, row.relation, row.object, top=_EXAMPLE_FACTS)
                    for row in fallen(evaluation.retrainings)
                ],
                "qualitative": qualitative,
                **(self._other_credit(run, other, evaluation) if other else {}),
            }
        )
        path = self.path(part)
        write_text(path, json.dumps(document, ensure_ascii=False, allow_nan=False), force=True)
        return convert(document, PartResult, str(path))

    def _evaluate(self, run: Run, options: EvaluateOptions) -> Evaluation:
        return run.evaluate(events=self.events, **options.to_dict(), **self.runs.engine.to_dict())

    def _significance(self, run: Run, part: Part, evaluation: Evaluation) -> list[Significance]:
        """Rollback against every baseline; by now no retraining is needed."""
        found = []
        for baseline in part.other_baselines:
            options = part.options.replace(methods=(baseline, "rollback"), baseline=baseline)
            found.append(self._evaluate(run, options))
        rows = [row for each in (*found, evaluation) for row in each.significance]
        return [row for row in rows if row.method == "rollback"]

    def _other_run(self, run: Run, part: Part) -> Run | None:
        """The run with the part's other credit, which must have the same parameters."""
        if part.other_credit is None:
            return None
        other = self.runs.sibling(run, credit=part.other_credit)
        check_same_rows(run, other)
        return other

    def _other_credit(self, run: Run, other: Run, evaluation: Evaluation) -> dict[str, Any]:
        with open_case(run, self.engine, self.events) as case:
            options = EvaluateOptions.from_dict(evaluation.options)
            orders = rank_by_other_trace(case, other, options)
        entities = other.dataset.entities
        names = dict.fromkeys(name for each in orders for name in (each.subject, each.object))
        labels = {name: entities.label(entities.find(name)) for name in names}
        return {"other_credit": orders, "labels": labels}

    def path(self, part: Part) -> Path:
        """The file of its result."""
        return self.options.folder / "parts" / f"{part.name}.json"

    def _asked(self, part: Part) -> Any:
        identity, version = self.engine.identity, __version__
        return plain({"format": _FORMAT, "part": part, "engine": identity, "whereof": version})


def fallen(retrainings: Sequence[Retraining], n: int = _EXAMPLES) -> list[Retraining]:
    """The predictions of the first seed that fell furthest without rollback's first fact."""
    first = ("removal", "rollback", "1", FIRST_SEED)
    single = [row for row in retrainings if (row.protocol, row.method, row.k, row.seed) == first]

    def change(row: Retraining) -> float:
        if row.actual is None or row.original is None:  # ratings have no probability
            return row.actual_score - row.original_score
        return row.actual - row.original

    return [row for row in sorted(single, key=change)[:n] if row.asks == "object"]


def explain_examples(run: Run, events: Events) -> tuple[ExplainedExample, ...]:
    """How a run explains the paper's examples.

    Examples that are not in the data are left out: all of them, if it has no labels.
    """
    found, missing = list[ExplainedExample](), list[str]()
    for example in EXAMPLES:
        try:
            found.append(_explain_example(run, example))
        except WhereofError as error:
            missing.append(str(error))
    if missing:
        n_left_out = f"{len(missing)} of the paper's {len(EXAMPLES)} examples are left out"
        events.emit(Note(f"{n_left_out}: {missing[0]}"))
    return tuple(found)


def _explain_example(run: Run, example: PublishedExample) -> ExplainedExample:
    found = run.explain(example.subject, example.relation, example.object, top=None)
    asked = found.prediction
    papers = [
        fact
        for fact in found.facts
        if (fact.relation, fact.object) == (asked.relation, asked.object)
        and fact.labels["subject"] == example.paper
    ]
    return ExplainedExample(replace(found, facts=found.facts[:_SHOWN]), tuple(papers))


def check_same_rows(run: Run, other: Run) -> None:
    """Refuse to compare a trace with the retrainings of a model that it does not belong to."""
    if not (
        np.array_equal(run.entity_rows, other.entity_rows)
        and np.array_equal(run.relation_rows, other.relation_rows)
    ):
        raise WhereofError(
            f"{other.path} has other parameters than {run.path}, and credit changes none: they "
            f"were trained on different machines; remove {run.path} to train both again"
        )


def rank_by_other_trace(case: Case, other: Run, options: EvaluateOptions) -> list[Order]:
    """How rollback ranks facts with the trace of another run that has the same parameters.

    Credit by step and by source differ in the trace only, so one set of retrainings serves both.
    """
    sample = pick(case, options)
    # The evaluation retrained the same, so the journal has all of it.
    truth = Truth(sample, options)
    # Explanations are computed where the run's own are: on the GPU, or on the CPU.
    traced = replace(case, trained=replace(other._trained, backing=case.trained.backing))
    estimates = Sample(traced, sample.predictions).adjacent_influences("rollback")
    return find_orders(sample, estimates, truth)
