"""Run an evaluation: sample predictions for every seed and run the protocols on them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whereof.errors import WhereofError
from whereof.evaluate.evaluation import Evaluation, Retraining
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import Protocol, Task, count_retrainings, no_results, protocols
from whereof.evaluate.sample import Sample, pick
from whereof.evaluate.statistics import mean_size
from whereof.events import Foreseen
from whereof.explain.method import get_method
from whereof.predict.standing import stand_alike
from whereof.retrain import Case

Variants = Mapping[str, Mapping[str, Sequence[Case]]]
"""By protocol and name: the cases of its variants, one per seed."""


@dataclass(frozen=True)
class About:
    """What an evaluation says about its run."""

    run: str
    dataset: str


def check_possible(case: Case, options: EvaluateOptions, threads: int | None = None) -> None:
    """Explain one prediction with every method, to find out early if the run lacks something."""
    asked = protocols(options.protocols)
    needed = [name for each in asked for name in _methods(each, options)]
    if case.trained.trace is None:
        _check_without_trace(asked, needed, options)
    sample = pick(case, replace(options, limit=1), threads)
    for method in dict.fromkeys(needed):
        sample.rank(method, 1)
    if any(each.by_size for each in asked):
        for method in options.methods:
            sample.choose(method, options.sizes)


def _methods(protocol: Protocol, options: EvaluateOptions) -> Iterator[str]:
    yield from options.methods if protocol.by_method else ()
    yield from protocol.uses


def _check_without_trace(
    asked: Sequence[Protocol], needed: Sequence[str], options: EvaluateOptions
) -> None:
    """Raise an error that names everything that needs a trace."""
    traced = [name for name in dict.fromkeys(needed) if "trace" in get_method(name).needs]
    lacking = [each.name for each in asked if set(each.uses) & set(traced)]
    if any(each.by_method for each in asked):
        lacking += [name for name in traced if name in options.methods]
    if lacking:
        raise WhereofError(
            f"this run has no trace, and {', '.join(lacking)} need one; train it "
            "without --no-trace, or evaluate what needs none: methods gradient-dot,random and "
            "k 1,10"
        )


def evaluate(
    cases: Sequence[Case],
    options: EvaluateOptions,
    about: About,
    variants: Variants | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Run the protocols on the cases of all seeds and on their variants."""
    start, others = time.perf_counter(), variants or {}
    every = [case for mine in others.values() for each in mine.values() for case in each]
    samples = {case: pick(case, options, threads) for case in dict.fromkeys([*cases, *every])}
    seeds = [samples[case] for case in cases]
    tasks = {
        protocol: Task(
            options,
            seeds,
            {
                name: [samples[case] for case in mine]
                for name, mine in others.get(protocol.name, {}).items()
            },
        )
        for protocol in protocols(options.protocols)
    }
    _announce(tasks, [*samples.values()])
    _retrain(tasks, [*samples.values()])
    results: dict[str, Any] = no_results()
    retrainings: list[Retraining] = []
    for protocol, task in tasks.items():
        found = protocol.run(task)
        results |= found.results
        retrainings += found.retrainings
    return replace(
        _described(seeds, options, about),
        results=results,
        retrainings=tuple(retrainings),
        **_counts([*samples.values()]),
        seconds=time.perf_counter() - start,
    )


def _announce(tasks: Mapping[Protocol, Task], samples: Sequence[Sample]) -> None:
    """Announce the maximum number of retrainings of all protocols and seeds, and their time."""
    n_retrainings = 0
    for sample in samples:
        names = [each.name for each, task in tasks.items() if sample in task.samples]
        n_retrainings += count_retrainings(names, next(iter(tasks.values())).options, sample.size)
    retrainer = samples[0].case.retrainer
    seconds = retrainer.seconds_for(n_retrainings)
    retrainer.events.emit(Foreseen(n_retrainings, seconds, retrainer.engine.at_once))


def _retrain(tasks: Mapping[Protocol, Task], samples: Sequence[Sample]) -> None:
    """Retrain for all protocols together: engines are faster on large batches."""
    for sample in samples:
        jobs = [
            job
            for protocol, task in tasks.items()
            if sample in task.samples
            for job in protocol.jobs(sample, task.options)
        ]
        if jobs:
            sample.ask(jobs)


def _described(samples: Sequence[Sample], options: EvaluateOptions, about: About) -> Evaluation:
    """An evaluation without its results."""
    config = samples[0].case.trained.config
    n_adjacent = np.concatenate([sample.n_adjacent for sample in samples])
    wanted = options.predictions
    return Evaluation(
        run=about.run,
        dataset=about.dataset,
        model=config.model,
        config=config.to_dict(),
        seeds=tuple(sample.case.seed for sample in samples),
        predictions=wanted if wanted in ("top", "true") else Path(wanted).name,
        split=options.split,
        options=options.to_dict(),
        n_predictions=mean_size(samples),
        n_adjacent_mean=float(n_adjacent.mean()),
        n_adjacent_std=float(n_adjacent.std()),
    )


def _counts(samples: Sequence[Sample]) -> dict[str, Any]:
    """Counts, times, notes and the comparison of controls, after all protocols."""
    # The journal has the controls, unless no protocol retrained anything.
    controls = [sample.ask([]).control for sample in samples]
    asked = sum(len(sample.asked) for sample in samples)
    trained = sum(len(sample.trained) for sample in samples)
    methods = dict.fromkeys(name for sample in samples for name in sample.seconds)
    seconds = {
        name: tuple(each.seconds[name] for each in samples if name in each.seconds)
        for name in methods
    }
    return {
        "control_matches_run": all(
            stand_alike(sample.stored, control)
            for sample, control in zip(samples, controls, strict=True)
        ),
        "explain_seconds": {name: float(np.mean(each)) for name, each in seconds.items()} or None,
        "explain_seconds_seeds": seconds or None,
        "n_retrainings": asked,
        "n_known": asked - trained,
        "notes": tuple(dict.fromkeys(note for sample in samples for note in sample.notes)),
    }
