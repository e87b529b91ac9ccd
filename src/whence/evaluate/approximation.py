"""How close rollback comes to retraining: predicted against actual, one fact removed.

For every prediction the fact that rollback ranks first is removed alone, and the probability that
rollback foretells stands beside that of the retrained model (the paper's scatter plots).
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from whence.engines import Job
from whence.evaluate.estimates import outputs, rolled_back
from whence.evaluate.recording import Recorder, as_ids
from whence.evaluate.results import Approximation, Found, Retraining
from whence.evaluate.sample import Sample
from whence.evaluate.statistics import pearson

_PROTOCOL = "approximation"
_Point = tuple[float, float, float]
"""Original, predicted and actual."""


def approximate(samples_by_constraint: Mapping[str, Sequence[Sample]]) -> Found:
    """Predicted against actual probability under every constraint; points of all seeds together.

    Ratings take the place of probabilities where a model learned them.
    """
    rows, records = [], []
    for constraint, samples in samples_by_constraint.items():
        found = [pair for sample in samples for pair in _points(sample)]
        rows.append(_approximation(constraint, samples, [point for point, _ in found]))
        records += [record for _, record in found]
    return Found(tuple(rows), tuple(records))


def _points(sample: Sample) -> Iterator[tuple[_Point, Retraining]]:
    """The points of one seed, each with the retraining that it comes from."""
    firsts = [(number, ids) for number, ids in enumerate(sample.rank("rollback", 1)) if len(ids)]
    jobs = [Job.of(ids, [number]) for number, ids in firsts]
    outcomes = sample.case.retrainer.ask(sample.predictions, jobs)
    original = outputs(sample, outcomes.control)
    recorder = Recorder(sample, outcomes.control, _PROTOCOL)
    for (number, ids), standings in zip(firsts, outcomes.jobs, strict=True):
        predicted = float(rolled_back(sample, number, [ids])[0])
        point = float(original[number]), predicted, float(outputs(sample, standings)[0])
        yield (
            point,
            recorder.record(
                number,
                as_ids(ids),
                standings[0],
                method="rollback",
                k="1",
                predicted=predicted,
            ),
        )


def _approximation(
    constraint: str, samples: Sequence[Sample], points: Sequence[_Point]
) -> Approximation:
    original, predicted, actual = np.array(points, np.float64).reshape(-1, 3).T
    return Approximation(
        constraint=constraint,
        n_points=len(points),
        pearson_probability=pearson(predicted, actual),
        pearson_change=pearson(predicted - original, actual - original),
        lipschitz=float(np.mean([sample.case.result["lipschitz"] for sample in samples])),
        points=tuple(points),
    )
