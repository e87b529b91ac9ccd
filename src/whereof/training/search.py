"""Settings found before training: where Adagrad's sums start, and a short search by validation.

What is found is frozen in the run's config, so that removing a fact never changes it. All work is
counted in facts, so that two searches with the same data and settings find the same.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from whereof._jit import announced
from whereof.data.dataset import Dataset, part_of
from whereof.errors import Interrupted
from whereof.events import Advanced, Compiling, Events, Note
from whereof.training.config import TrainConfig
from whereof.training.fit import MakeTrainer, Validate
from whereof.training.problem import Problem
from whereof.training.results import FEW_CASES, Validation
from whereof.training.trainer import Training

_PROBED = 20_000
"""The most facts to train on before Adagrad's sums are read."""
_START_SHARE, _START_EPOCHS = 0.01, 5
"""The sums start at this share of what training adds to them in this number of epochs."""
_FACT_SHARE = 1 / 12
"""In graphs they start at least at this share of what one fact adds to a row over all epochs, so
that no single fact decides the first steps."""

_FACTORS = {"n3": (1 / 3, 3.0), "l2": (1 / 3, 3.0), "rate": (0.5,), "accumulator": (4.0,)}
"""The factors that the search tries for each setting, in this order. It tries no larger rate and no
smaller start: removing a fact would no longer be a small change."""
_MOST_TRIALS = 6
_EPOCHS, _EVERY = 16, 4
"""A trial has at most this number of epochs, and is validated every few of them."""
_SHARE, _EXPECTED_EPOCHS = 0.25, 20
"""The search may cost this share of a training of at most this number of epochs."""
_LEAST_NUMBERS = 4e9
"""Numbers that a search may compute, however short training is: some seconds."""
_LEAST_FACTS, _SIZINGS = 500, 4
_MARGIN = 0.3
"""A clear gain is above this share of the metric, divided by the root of the validation facts."""
_FACTS_AT_ONCE = 4096
_MOST_HELD_OUT = 0.3
"""No larger share of the facts is recommended for validation."""
_MOST_SECONDS = 300.0
"""After this time the search ends with what it has found."""


def settle_steps(
    problem: Problem,
    config: TrainConfig,
    make_trainer: MakeTrainer,
    events: Events,
    given: Mapping[str, Any] | None,
    dataset: Dataset,
    validator_of: Callable[[Dataset], Validate],
    seconds: float,
) -> "tuple[Problem, SearchResult | None]":
    """The problem with Adagrad's start and what a search finds, and the search if there was one.

    config: the settings as they were chosen. given: those that a search may not change; None for no
    search. seconds: the most that the search may take.
    """
    adagrad = config.optimizer == "adagrad" and config.accumulator is None
    with announced(partial(events.emit, Compiling())):
        if adagrad:
            problem = _with(problem, accumulator=adagrad_start(problem, make_trainer))
        if given is None:
            return problem, None
        names = searchable(problem.config, given)
        part = search_part(dataset, problem) if names and len(dataset.valid) else dataset
        if reason := _reason_to_skip(problem.config, names, part):
            events.emit(Note(f"no search for settings: {reason}"))
            return problem, None
        small, scale = _problem_of_part(part, problem), 1.0
        if adagrad:
            scale = adagrad_start(small, make_trainer) / (problem.config.accumulator or 1.0)
        validate, n_valid = validator_of(part), len(part.valid)
        trials = Searcher(small, problem.config, scale, n_valid, validate, make_trainer, events)
        search = trials.run(names, min(seconds, _MOST_SECONDS))
    events.emit(Note(search.text))
    return _with(problem, **search.chosen), search


def _reason_to_skip(config: TrainConfig, names: tuple[str, ...], part: Dataset) -> str:
    """Why there is no search for some settings on a part of the data; empty if there is one."""
    if config.optimizer != "adagrad":
        return f"it needs the optimizer adagrad, not {config.optimizer}"
    if not names:
        return "all settings that it could change are given or off"
    if not config.validate_every:
        return "training is not validated"
    if Validation.count_cases(part, rated=config.rated) < FEW_CASES:
        if part.two_way and not config.rated:
            return f"fewer than {FEW_CASES} users with validation facts"
        needed = math.ceil(100 * FEW_CASES / (part.n_facts + len(part.valid))) / 100
        helps = needed <= _MOST_HELD_OUT and (not len(part.valid) or "valid_fraction" in part.read)
        remedy = f"; try --valid-fraction {needed:g}" if helps else ""
        return f"fewer than {FEW_CASES} validation facts{remedy}"
    return ""


def _with(problem: Problem, **changes: Any) -> Problem:
    return replace(problem, config=problem.config.replace(**changes))


def _problem_of_part(part: Dataset, problem: Problem) -> Problem:
    """The problem on a part of the data: no trace, sums from 0, and no more negatives than fit."""
    off = {"trace": False, "trace_precision": None, "keep_checkpoints": 0}
    config = problem.config.replace(**off, accumulator=0.0)
    if isinstance(config.negatives, int) and not config.rated:
        sides = (part.objects, part.subjects)[: problem.n_directions]
        config = config.replace(negatives=min(config.negatives, *(len(it) - 1 for it in sides)))
    return Problem.of(part, config)


def adagrad_start(problem: Problem, make_trainer: MakeTrainer) -> float:
    """A start for Adagrad's sums of squares: a hundredth of what five epochs add to them.

    Of a typical entity: the median over the rows. If entities of a graph have few facts, it is a
    twelfth of what one fact adds over all epochs. Measured in a first epoch, or a part of it.
    """
    trainer = make_trainer(problem, None)
    n_facts = _advance(trainer, min(len(problem.facts), _PROBED))
    table = np.asarray(trainer.read()[0].state[:, problem.widths.entity :], np.float64)
    sums, n_epochs = table.mean(axis=1), problem.config.epochs
    typical = float(np.median(sums) or sums.mean()) * len(problem.facts) / n_facts  # of an epoch
    if not math.isfinite(typical):
        return 0.0
    of_fact = 0.0 if problem.model.two_way else float(sums.sum()) / (2 * n_facts)  # two entities
    of_epochs = _START_SHARE * min(n_epochs, _START_EPOCHS) * typical
    return rounded(max(of_epochs, _FACT_SHARE * n_epochs * of_fact))


def search_part(dataset: Dataset, problem: Problem) -> Dataset:
    """The part of the data to search on: small enough to train all trials to their end."""
    config, width, n_facts = problem.config, problem.widths.entity, len(problem.facts)
    whole = problem.fact_cost * n_facts * min(config.epochs, _EXPECTED_EPOCHS)
    budget = max(_SHARE * whole, _LEAST_NUMBERS)
    n_steps = _MOST_TRIALS * min(config.epochs, _EPOCHS) * problem.n_directions
    part = dataset
    for _ in range(_SIZINGS):  # a smaller part also has fewer negatives
        n_candidates = min(1 + problem.draw.objects[2], len(part.objects))
        n_facts = max(int(budget / (n_steps * n_candidates * width)), _LEAST_FACTS)
        part = part_of(dataset, n_facts, config.seed)
    return part


@dataclass(frozen=True)
class SearchResult:
    """What a search tried and found."""

    metric: str
    tried: list[dict[str, float | None]]
    """The settings of every trial, and the value of the metric; None if training diverged."""
    chosen: dict[str, float]
    seconds: float
    n_facts: int
    """Training facts of the part of the data that was searched on."""
    n_valid: int
    stopped: bool
    """Whether the search took too long, so that not all settings were tried."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def text(self) -> str:
        """One line for the user."""
        chosen = ", ".join(f"{name} {value:g}" for name, value in self.chosen.items())
        cut = " (stopped: it took too long)" * self.stopped
        return f"searched {len(self.tried)} settings in {self.seconds:.0f} s{cut}: {chosen}"


def searchable(config: TrainConfig, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The settings that a search may change: none that was given, and none that has no effect.

    None without Adagrad: steps of a fixed rate are far from their end after the few epochs of a
    trial, and weaker penalties look better than they are.
    """
    if config.optimizer != "adagrad":
        return ()
    return tuple(name for name in _FACTORS if name not in given and getattr(config, name))


@dataclass
class Searcher:
    """Searches one setting after the other. A setting changes only for a clear gain."""

    problem: Problem
    """That of the part of the data to search on."""
    config: TrainConfig
    """The best config so far, for all data."""
    scale: float
    """Adagrad's start on the part, relative to the start on all data."""
    n_valid: int
    validate: Validate
    make_trainer: MakeTrainer
    events: Events

    def run(self, names: tuple[str, ...], seconds: float) -> SearchResult:
        """Search for settings by name; start no trial after some seconds."""
        began, tried, metric, best = time.monotonic(), list[Any](), "", -math.inf

        def done() -> bool:
            return len(tried) >= _MOST_TRIALS or time.monotonic() - began > seconds

        def improves(config: TrainConfig) -> bool:
            """Measure a config; keep it if it is clearly better."""
            nonlocal best, metric
            found = self._measure(config)
            metric, gain = (found.metric, found.gain) if found else (metric, -math.inf)
            value = found.value if found else None
            margin = _MARGIN * abs(best) / math.sqrt(self.n_valid)
            better = not tried or gain > best + margin
            tried.append({name: getattr(config, name) for name in names} | {"value": value})
            self.events.emit(Advanced(len(tried), _MOST_TRIALS, "settings"))
            if better:
                self.config, best = config, gain
            return better

        improves(self.config)
        for name in names:
            for factor in _FACTORS[name]:
                n_better = 0
                while not done() and improves(self._changed(name, factor)):
                    n_better += 1
                if n_better:
                    break
        self.events.emit(Advanced(_MOST_TRIALS, _MOST_TRIALS, "settings"))
        took, sizes = time.monotonic() - began, (len(self.problem.facts), self.n_valid)
        chosen = {name: getattr(self.config, name) for name in names}
        return SearchResult(metric, tried, chosen, took, *sizes, took > seconds)

    def _changed(self, name: str, factor: float) -> TrainConfig:
        return self.config.replace(**{name: rounded(factor * getattr(self.config, name))})

    def _measure(self, config: TrainConfig) -> Validation | None:
        """The best validation of a training that stops when it gets worse; None if it diverges."""
        changes = {name: getattr(config, name) for name in _FACTORS}
        changes["accumulator"] = self.scale * changes["accumulator"]
        problem = _with(self.problem, **changes)
        trainer, best = self.make_trainer(problem, None), None
        for start in range(0, min(config.epochs, _EPOCHS), _EVERY):
            n_epochs = min(_EVERY, config.epochs - start)
            _advance(trainer, n_epochs * len(problem.facts), self.events)
            rows = trainer.parameters()
            if not all(np.isfinite(each).all() for each in rows):
                break
            found = self.validate(rows)
            if best and found.gain <= best.gain:
                break
            best = found
        return best


def _advance(trainer: Training, n_facts: int, events: Events | None = None) -> int:
    """Train on at least `n_facts` facts, over all epochs; return how many they were."""
    done = 0
    while done < n_facts:
        done += trainer.advance(min(n_facts - done, _FACTS_AT_ONCE))
        if events is not None and events.should_stop():
            raise Interrupted("interrupted in the search for settings; nothing was kept")
    return done


def rounded(value: float) -> float:
    """The number with two significant digits, so that it is easy to pass on."""
    return float(f"{value:.2g}")
