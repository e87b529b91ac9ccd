"""Run an evaluation: sample predictions for every seed and run the protocols on them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from whereof.errors import WhereofError
from whereof.evaluate.evaluation import Evaluation
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import Task, count_retrainings, no_results, protocols
from whereof.evaluate.sample import Sample, pick
from whereof.evaluate.statistics import mean_size
from whereof.events import Foreseen
from whereof.explain.method import get_method
from whereof.predict.standing import stand_alike
from whereof.retrain.retrainer import Case

Variants = Mapping[str, Mapping[str, Sequence[Case]]]
"""By protocol and name: the cases of its variants, one per seed."""


def check_possible(case: Case, options: EvaluateOptions, threads: int | None = None) -> None:
    """Explain one prediction with every method, to find out early if the run lacks something."""
    asked = protocols(options.protocols)
    chosen = options.methods if any(each.by_method for each in asked) else ()
    needed = dict.fromkeys([*chosen, *(name for each in asked for name in each.uses)])
    if case.trained.trace is None:
        traced = [name for name in needed if "trace" in get_method(name).needs]
        lacking = [each.name for each in asked if set(each.uses) & set(traced)]
        lacking += [name for name in traced if name in chosen]
        if lacking:
            raise WhereofError(
                f"this run has no trace, and {', '.join(lacking)} need one; train it "
                "without --no-trace, or evaluate what needs none: methods gradient-dot,random and "
                "k 1,10"
            )
    sample = pick(case, replace(options, limit=1), threads)
    for method in needed:
        sample.rank(method, 1)
    if any(each.by_size for each in asked):
        for method in options.methods:
            sample.choose(method, options.sizes)


def evaluate(
    cases: Sequence[Case],
    options: EvaluateOptions,
    names: tuple[str, str],
    variants: Variants,
    threads: int | None = None,
) -> Evaluation:
    """Run the protocols on the cases of all seeds and on their variants.

    names: of the run and its dataset.
    """
    start = time.perf_counter()
    every = [case for mine in variants.values() for each in mine.values() for case in each]
    picked = {case: pick(case, options, threads) for case in dict.fromkeys([*cases, *every])}
    seeds, samples = [picked[case] for case in cases], [*picked.values()]
    asked = protocols(options.protocols)
    tasks = []
    for each in asked:
        mine = variants.get(each.name, {}).items()
        others = {name: [picked[case] for case in its_cases] for name, its_cases in mine}
        tasks.append(Task(each.name, options, seeds, others))
    _retrain(tasks, samples, options)
    results = no_results()
    for each, task in zip(asked, tasks, strict=True):
        results |= each.run(task)
    config, n_adjacent = cases[0].trained.config, np.concatenate([s.n_adjacent for s in seeds])
    # The journal has the controls, unless no protocol retrained anything.
    same = [stand_alike(sample.stored, sample.ask([]).control) for sample in samples]
    n_retrainings = sum(len(sample.asked) for sample in samples)
    methods = dict.fromkeys(name for sample in samples for name in sample.seconds)
    seconds = {
        name: tuple(each.seconds[name] for each in samples if name in each.seconds)
        for name in methods
    }
    return Evaluation(
        *names,
        model=config.model,
        config=config.to_dict(),
        seeds=tuple(case.seed for case in cases),
        predictions=Path(options.predictions).name,
        split=options.split,
        options=options.to_dict(),
        n_predictions=mean_size(seeds),
        n_adjacent_mean=float(n_adjacent.mean()),
        n_adjacent_std=float(n_adjacent.std()),
        results=results,
        explain_seconds={name: float(np.mean(each)) for name, each in seconds.items()} or None,
        explain_seconds_seeds=seconds or None,
        control_matches_run=all(same),
        n_retrainings=n_retrainings,
        n_known=n_retrainings - sum(len(sample.trained) for sample in samples),
        seconds=time.perf_counter() - start,
        notes=tuple(dict.fromkeys(note for sample in samples for note in sample.notes)),
        retrainings=tuple(row for task in tasks for row in task.retrainings),
    )


def _retrain(tasks: Sequence[Task], samples: Sequence[Sample], options: EvaluateOptions) -> None:
    """Announce all retrainings, then do those known beforehand: large batches are faster."""
    asked = {
        sample: protocols([task.name for task in tasks if sample in task.samples])
        for sample in samples
    }
    n_retrainings = sum(
        count_retrainings([each.name for each in mine], options, sample.size)
        for sample, mine in asked.items()
    )
    retrainer = samples[0].case.retrainer
    seconds = retrainer.seconds_for(n_retrainings)
    retrainer.events.emit(Foreseen(n_retrainings, seconds, retrainer.engine.at_once))
    for sample, mine in asked.items():
        jobs = [job for each in mine for job in each.jobs(sample, options)]
        if jobs:
            sample.ask(jobs)
