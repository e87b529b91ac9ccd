"""An evaluation: one sample of predictions a seed, and every protocol that is asked for."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from whence.evaluate.counting import CountingRetrainer
from whence.evaluate.options import EvaluateOptions
from whence.evaluate.picking import pick
from whence.evaluate.removal import compare, record, remove, spread_changes, tabulate
from whence.evaluate.results import Evaluation, Found, Retraining
from whence.evaluate.sample import Sample
from whence.evaluate.steadiness import steady
from whence.verify import Case


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


@dataclass(frozen=True)
class _Part:
    """Fields of an evaluation, and the retrainings that they rest on."""

    fields: dict[str, Any]
    retrainings: tuple[Retraining, ...] = ()


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
    parts = [protocol(work) for name, protocol in PROTOCOLS.items() if name in options.protocols]
    found = replace(
        _described(samples, options, about),
        **{name: value for part in parts for name, value in part.fields.items()},
        retrainings=tuple(row for part in parts for row in part.retrainings),
    )
    return replace(found, **_counts([*sample_of.values()]), seconds=time.perf_counter() - start)


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
        n_predictions=round(np.mean([len(sample.situations) for sample in samples])),
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
    return {
        "control_matches_run": all(
            bool((sample.stored == control).all())
            for sample, control in zip(samples, controls, strict=True)
        ),
        "explain_seconds": _seconds(samples),
        "n_retrainings": asked,
        "n_known": asked - trained,
        "notes": tuple(dict.fromkeys(note for sample in samples for note in sample.notes)),
    }


def _seconds(samples: Sequence[Sample]) -> dict[str, float] | None:
    """By method, the mean over seeds."""
    names = dict.fromkeys(name for sample in samples for name in sample.seconds)
    by_method = {name: [s.seconds[name] for s in samples if name in s.seconds] for name in names}
    return {name: float(np.mean(found)) for name, found in by_method.items()} or None


def _removal(work: _Work) -> _Part:
    options = work.options
    found = [remove(sample, options.methods, options.k) for sample in work.samples]  # type: ignore[arg-type]
    return _Part(
        {
            "removal": tuple(tabulate(found, options.seed)),
            "significance": tuple(compare(found, options)),
            "changes": tuple(spread_changes(found, options)),
        },
        tuple(row for each in found for row in record(each)),
    )


def _steadiness(work: _Work) -> _Part:
    found = steady(work.samples, work.options.removals, work.options.seed)
    return _Part({"steadiness": found.rows[0]}, found.retrainings)


def _approximation(work: _Work) -> _Part:
    return _rows("approximation", _call("approximation", "approximate", work.constrained))


def _leave_one_out(work: _Work) -> _Part:
    found = _call("leave_one_out", "leave_one_out", work.samples, work.options.methods)
    return _rows("leave_one_out", found)


def _datamodelling(work: _Work) -> _Part:
    options = work.options
    asked = (work.samples, options.methods, options.subsets, options.seed)
    return _rows("datamodelling", _call("datamodelling", "datamodel", *asked))


def _kelpie(work: _Work) -> _Part:
    options = work.options
    return _rows("kelpie", _call("kelpie", "kelpie", work.samples, options.methods, options.k))


def _theory(work: _Work) -> _Part:
    return _Part({"theory": _call("theory", "theorise", work.samples)})


def _call(module: str, function: str, *asked: Any) -> Any:
    """A protocol is loaded when it is asked for."""
    return getattr(import_module(f"whence.evaluate.{module}"), function)(*asked)


def _rows(field: str, found: Found) -> _Part:
    return _Part({field: found.rows}, found.retrainings)


PROTOCOLS: dict[str, Callable[[_Work], _Part]] = {
    "leave-one-out": _leave_one_out,
    "steadiness": _steadiness,
    "datamodelling": _datamodelling,
    "kelpie": _kelpie,
    "removal": _removal,
    "approximation": _approximation,
    "theory": _theory,
}
"""By name, in the order in which they run: first those that look at all predictions after every
retraining, so that what others ask of the same ones is known."""
