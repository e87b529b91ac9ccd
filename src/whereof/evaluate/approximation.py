"""How close rollback comes to retraining: predicted against actual, one fact removed.

For every prediction the fact that rollback ranks first is removed alone, and the probability that
rollback foretells stands beside that of the retrained model (the paper's scatter plots).
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from whereof.evaluate.estimates import outputs, rolled_back
from whereof.evaluate.recording import Recorder, as_ids
from whereof.evaluate.results import Approximation, Found, Retraining
from whereof.evaluate.sample import Sample
from whereof.evaluate.statistics import pearson, pearson_interval
from whereof.retrain import Job

_PROTOCOL = "approximation"
_Point = tuple[float, float, float]
"""Original, predicted and actual."""


def approximate(samples_by_constraint: Mapping[str, Sequence[Sample]], seed: int = 0) -> Found:
    """Predicted against actual probability under every constraint; points of all seeds together.

    Ratings take the place of probabilities where a model learned them.
    """
    rows, records = [], []
    for constraint, samples in samples_by_constraint.items():
        found = [[*_points(sample)] for sample in samples]
        points = [[point for point, _ in mine] for mine in found]
        rows.append(_approximation(constraint, samples, points, seed))
        records += [record for mine in found for _, record in mine]
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
    constraint: str, samples: Sequence[Sample], points: Sequence[Sequence[_Point]], seed: int
) -> Approximation:
    """One row; the points are those of every seed."""
    seeds = [np.array(mine, np.float64).reshape(-1, 3) for mine in points]
    original, predicted, actual = np.concatenate(seeds).T
    values = [mine[:, 1:] for mine in seeds]
    changes = [mine[:, 1:] - mine[:, :1] for mine in seeds]
    slopes = tuple(float(sample.case.result["lipschitz"]) for sample in samples)
    return Approximation(
        constraint=constraint,
        n_points=len(original),
        pearson_probability=pearson(predicted, actual),
        pearson_change=pearson(predicted - original, actual - original),
        lipschitz=float(np.mean(slopes)),
        points=tuple(point for mine in points for point in mine),
        pearson_probability_interval=pearson_interval(values, seed),
        pearson_probability_seeds=tuple(pearson(*mine.T) for mine in values),
        pearson_change_interval=pearson_interval(changes, seed),
        pearson_change_seeds=tuple(pearson(*mine.T) for mine in changes),
        lipschitz_seeds=slopes,
    )
