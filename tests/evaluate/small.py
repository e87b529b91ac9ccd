"""Small runs to evaluate, and expected results computed from the definitions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from models.formulas import distmult
from numpy.typing import NDArray
from training.helpers import make_facts

import whereof
from whereof.api.runs import open_case
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import protocols
from whereof.evaluate.sample import Sample, Task
from whereof.events import Events
from whereof.explain.explain import score_answer
from whereof.predict.prediction import find_predictions
from whereof.retrain.engine import choose_engine
from whereof.retrain.options import EngineOptions
from whereof.training.results import Parameters

Array = NDArray[np.float64]
N_FACTS, N_TEST = 40, 9
SETTINGS: dict[str, Any] = {
    "model": "distmult",
    "dim": 4,
    "inverse": False,
    "negatives": "all",
    "optimizer": "adam-lazy",
    "rate": 0.05,
    "n3": 0.0,
    "epochs": 6,
    "patience": 0,
    "precision": "float64",
    "seed": 5,
}


def train(folder: Path, **settings: Any) -> whereof.Run:
    """DistMult on 40 facts of 8 entities and 3 relations, and 9 to test."""
    data = folder / "data"
    if not data.exists():
        data.mkdir(parents=True)
        lines = [f"e{s}\tr{r}\te{o}\n" for s, r, o in make_facts(N_FACTS + N_TEST)]
        (data / "train.txt").write_text("".join(lines[:N_FACTS]))
        (data / "test.txt").write_text("".join(lines[N_FACTS:]))
    name = "-".join(f"{key}-{value}" for key, value in settings.items()).replace(":", "")
    run = whereof.train(data, out=folder / f"run-{name}", **(SETTINGS | settings))
    # On a slow machine, training takes so long that it also measures reliability.
    run.file("reliability.json").unlink(missing_ok=True)
    return run


@contextmanager
def sampled(
    run: whereof.Run,
    *,
    true: bool = False,
    split: str = "test",
    events: Events | None = None,
) -> Iterator[Sample]:
    """A sample of the top answers of a split's queries, or of its facts."""
    with open_case(run, choose_engine(EngineOptions()), events or Events()) as case:
        trained = case.trained
        listed = find_predictions(trained, "true" if true else "top", split, None, "object")
        asked = (each.find(trained) for each in listed)
        found = dict.fromkeys(score_answer(trained, each).prediction for each in asked)
        yield Sample(case, tuple(found))


def run_protocol(
    name: str, samples: Sequence[Sample], variants: Any = None, **options: Any
) -> SimpleNamespace:
    """The results and the retrainings of one protocol on samples."""
    asked = EvaluateOptions(protocols=name, **options)
    (protocol,) = protocols([name])
    task = Task(name, asked, samples, variants or {})
    return SimpleNamespace(results=protocol.run(task), retrainings=tuple(task.retrainings))


def retrain(sample: Sample, removed: Sequence[int]) -> Parameters:
    """Rows trained without facts."""
    return sample.case.retrainer.recipe.retrain(np.array(sorted(removed), np.int64))


def scores_of(rows: Parameters, subject: int, relation: int) -> Array:
    """(n_entities,) DistMult, in plain NumPy."""
    s, r = rows.entity_rows[subject], rows.relation_rows[relation]
    return np.array([distmult(s, r, o)[0] for o in rows.entity_rows])


def probabilities(sample: Sample, rows: Parameters) -> Array:
    """(n_predictions,) softmax over all entities."""
    found = []
    for situation in sample.predictions:
        exp = np.exp(scores_of(rows, situation.subject, situation.relation))
        found.append(exp[situation.object] / exp.sum())
    return np.array(found)


def ranks(sample: Sample, rows: Parameters) -> Array:
    """(n_predictions,) known answers skipped."""
    known = {tuple(fact) for fact in sample.case.trained.dataset.train.tolist()}
    found = []
    for situation in sample.predictions:
        subject, relation, object_ = situation.subject, situation.relation, situation.object
        scores = scores_of(rows, subject, relation)
        rivals = [o for o in range(len(scores)) if (subject, relation, o) not in known]
        found.append(1 + sum(scores[o] > scores[object_] for o in rivals))
    return np.array(found, float)


def influences(run: whereof.Run, sample: Sample, method: str) -> Array:
    """(n_predictions, n_facts) as single explanations say; 0 elsewhere."""
    found = np.zeros((len(sample.predictions), run.dataset.n_facts))
    for row, situation in zip(found, sample.predictions, strict=True):
        names = names_of(run, situation)
        for fact in run.explain(*names, method=method, top=None, seed=sample.case.seed).facts:
            row[fact.fact_id] = fact.influence
    return found


def names_of(run: whereof.Run, situation: Any) -> tuple[str, str, str]:
    entities, relations = run.dataset.entities, run.dataset.relations
    return (
        entities.name(situation.subject),
        relations.name(situation.relation),
        entities.name(situation.object),
    )


def is_adjacent(run: whereof.Run, situation: Any) -> NDArray[np.bool_]:
    """(n_facts,) whether a fact has the subject, the relation or the object."""
    ends = {situation.subject, situation.object}
    return np.array(
        [s in ends or o in ends or r == situation.relation for s, r, o in run.dataset.train]
    )


def spearman(x: Array, y: Array) -> float:
    """By counting, pair by pair."""
    a, b = (np.array([(v < u).sum() + (v == u).sum() / 2 for u in v]) for v in (x, y))
    return float(np.corrcoef(a, b)[0, 1])
