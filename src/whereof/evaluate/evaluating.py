"""An evaluation: one sample of predictions a seed, and every protocol that is asked for."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whereof.evaluate.counting import CountingRetrainer, count_retrainings
from whereof.evaluate.options import PROTOCOLS, EvaluateOptions
from whereof.evaluate.picking import pick
from whereof.evaluate.removal import (
    compare,
    record,
    removal_jobs,
    remove,
    spread_changes,
    tabulate,
)
from whereof.evaluate.results import Evaluation, Retraining
from whereof.evaluate.sample import Sample
from whereof.evaluate.statistics import mean_size
from whereof.evaluate.steadiness import shaking_jobs, steady
from whereof.events import Foreseen
from whereof.predict import stand_alike
from whereof.retrain import Case


@dataclass(frozen=True)
class About:
    """What an evaluation says of its run."""

    run: str
    dataset: str


@dataclass(frozen=True)
class _Work:
    """What protocols work on."""

    samples: Sequence[Sample]
    constrained: Mapping[str, Sequence[Sample]]
    """By constraint, for approximation."""
    options: EvaluateOptions


def evaluate(
    cases: Sequence[Case],
    options: EvaluateOptions,
    about: About,
    constrained: Mapping[str, Sequence[Case]] | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Run the protocols over cases of all seeds; `constrained` are those of approximation.

    Without any, approximation looks at the cases themselves.
    """
    start = time.perf_counter()
    constrained = constrained or {cases[0].trained.config.constraint: cases}
    every = dict.fromkeys([*cases, *(case for mine in constrained.values() for case in mine)])
    sample_of = {case: pick(_counted(case), options, threads) for case in every}
    samples = [sample_of[case] for case in cases]
    by_constraint = {name: [sample_of[case] for case in mine] for name, mine in constrained.items()}
    work = _Work(samples, by_constraint, options)
    _foresee(work, [*sample_of.values()])
    _retrain_together(work)
    found = _described(samples, options, about)
    for name in PROTOCOLS:
        if name in options.protocols:
            found = _RUN[name](found, work)
    return replace(found, **_counts([*sample_of.values()]), seconds=time.perf_counter() - start)


def _foresee(work: _Work, samples: Sequence[Sample]) -> None:
    """Say what all protocols and seeds will take at most, from one short probe."""
    constrained = [sample for mine in work.constrained.values() for sample in mine]
    n_retrainings = 0
    for sample in samples:
        protocols = set(work.options.protocols) - {"approximation"}
        mine = protocols if sample in work.samples else set()
        if "approximation" in work.options.protocols and sample in constrained:
            mine = mine | {"approximation"}
        n_facts = sample.case.trained.dataset.n_facts
        n_retrainings += count_retrainings(
            mine, work.options, len(sample.situations), n_facts, _n_left_out(sample, work.options)
        )
    retrainer = samples[0].case.retrainer
    seconds = retrainer.seconds_for(n_retrainings)
    retrainer.events.emit(Foreseen(n_retrainings, seconds, retrainer.engine.at_once))


def _retrain_together(work: _Work) -> None:
    """Ask once for what two protocols ask apart: an engine is the faster, the more it gets."""
    options, protocols = work.options, set(work.options.protocols)
    # Leave-one-out removes every fact alone, for all predictions: it comes first.
    if "leave-one-out" in protocols or not {"removal", "steadiness"} <= protocols:
        return
    for sample in work.samples:
        jobs = shaking_jobs(sample, options.removals, options.seed)
        jobs += removal_jobs(sample, options.methods, options.k)  # type: ignore[arg-type]
        sample.case.retrainer.ask(sample.predictions, jobs)


def _n_left_out(sample: Sample, options: EvaluateOptions) -> int | None:
    if not options.adjacent_only:
        return None
    from whereof.evaluate.leave_one_out import count_adjacent

    return count_adjacent(sample)


def _counted(case: Case) -> Case:
    return replace(case, retrainer=CountingRetrainer.of(case.retrainer))


def _described(samples: Sequence[Sample], options: EvaluateOptions, about: About) -> Evaluation:
    """An evaluation without its figures."""
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
        n_predictions=mean_size([sample.situations for sample in samples]),
        n_adjacent_mean=float(n_adjacent.mean()),
        n_adjacent_std=float(n_adjacent.std()),
    )


def _counts(samples: Sequence[Sample]) -> dict[str, Any]:
    """What is known once all protocols are done: counts, times, notes, and the controls."""
    # Nothing is trained for them but where no protocol did.
    controls = [sample.case.retrainer.ask(sample.predictions, []).control for sample in samples]
    counted = [sample.case.retrainer for sample in samples]
    asked = sum(len(each.asked) for each in counted if isinstance(each, CountingRetrainer))
    trained = sum(len(each.trained) for each in counted if isinstance(each, CountingRetrainer))
    seconds = _seconds(samples)
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


def _seconds(samples: Sequence[Sample]) -> dict[str, tuple[float, ...]]:
    """By method, of every seed."""
    names = dict.fromkeys(name for sample in samples for name in sample.seconds)
    return {name: tuple(s.seconds[name] for s in samples if name in s.seconds) for name in names}


def _removal(before: Evaluation, work: _Work) -> Evaluation:
    options = work.options
    found = [remove(sample, options.methods, options.k) for sample in work.samples]  # type: ignore[arg-type]
    return _add(
        before,
        [row for each in found for row in record(each)],
        removal=tuple(tabulate(found, options.seed)),
        significance=tuple(compare(found, options)),
        changes=tuple(spread_changes(found, options)),
    )


def _steadiness(before: Evaluation, work: _Work) -> Evaluation:
    found = steady(work.samples, work.options.removals, work.options.seed)
    return _add(before, found.retrainings, steadiness=found.rows[0])


# Protocols that are seldom asked for are loaded when they are.


def _approximation(before: Evaluation, work: _Work) -> Evaluation:
    from whereof.evaluate.approximation import approximate

    found = approximate(work.constrained, work.options.seed)
    return _add(before, found.retrainings, approximation=found.rows)


def _leave_one_out(before: Evaluation, work: _Work) -> Evaluation:
    from whereof.evaluate.leave_one_out import leave_one_out

    options = work.options
    found = leave_one_out(
        work.samples, options.methods, options.seed, adjacent_only=options.adjacent_only
    )
    return replace(before, leave_one_out=found.rows, true_influences=found.truths)


def _datamodelling(before: Evaluation, work: _Work) -> Evaluation:
    from whereof.evaluate.datamodelling import datamodel

    options = work.options
    found = datamodel(work.samples, options.methods, options.subsets, options.seed)
    return _add(before, found.retrainings, datamodelling=found.rows)


def _kelpie(before: Evaluation, work: _Work) -> Evaluation:
    from whereof.evaluate.kelpie import kelpie

    found = kelpie(work.samples, work.options.methods, work.options.k)  # type: ignore[arg-type]
    return _add(before, found.retrainings, kelpie=found.rows)


def _theory(before: Evaluation, work: _Work) -> Evaluation:
    from whereof.evaluate.theory import theorise

    return replace(before, theory=theorise(work.samples))


def _add(before: Evaluation, retrainings: Iterable[Retraining], **fields: Any) -> Evaluation:
    """An evaluation with one more protocol, and the retrainings that this rests on."""
    return replace(before, retrainings=(*before.retrainings, *retrainings), **fields)


_RUN: Mapping[str, Callable[[Evaluation, _Work], Evaluation]] = {
    "leave-one-out": _leave_one_out,
    "steadiness": _steadiness,
    "datamodelling": _datamodelling,
    "kelpie": _kelpie,
    "removal": _removal,
    "approximation": _approximation,
    "theory": _theory,
}
