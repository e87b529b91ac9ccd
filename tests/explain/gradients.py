"""Losses and explained quantities with their gradients, by formula and finite differences."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from models.formulas import FORMULAS
from numpy.typing import NDArray

import whereof
from whereof.explain.explain import find_scored
from whereof.explain.options import ExplainOptions
from whereof.models import MODELS
from whereof.models.scoring import Scorer
from whereof.predict.scored import ScoredPrediction

Vector = NDArray[np.float64]

FACTS = np.array(
    [(0, 0, 3), (0, 0, 0), (3, 1, 3), (0, 1, 2), (2, 0, 3), (3, 0, 0), (4, 1, 5), (1, 1, 0)]
)
PAIRS = FACTS[:, ::2]


def make_run(model: str, *, dim: int = 2, inverse: bool = False, **options: Any) -> whereof.Run:
    """Random rows in double precision; some facts are self-loops."""
    kind, rng = MODELS[model], np.random.default_rng(1)
    widths, names = kind.widths(dim), [] if kind.two_way else ["r0", "r1"]
    n_rows = max(len(names), 1) * (1 + inverse)
    return whereof.Run.from_arrays(
        model=model,
        entities=[f"e{i}" for i in range(6)],
        relations=names or None,
        facts=PAIRS if kind.two_way else FACTS,
        entity_rows=rng.normal(size=(6, widths.entity)),
        relation_rows=rng.normal(size=(n_rows, widths.relation)),
        **options,
    )


def make_rated_run(folder: Path) -> whereof.Run:
    """A small run with a rating model."""
    lines = [f"u{u}\ti{i}\t{1 + (2 * u + i) % 5}" for u in range(4) for i in range(5) if u != i]
    table = folder / "ratings.tsv"
    table.write_text("user\titem\trating\n" + "\n".join(lines) + "\n")
    return whereof.train(
        str(table),
        out=folder / "run",
        model="mf-biased",
        loss="squared",
        dim=2,
        epochs=2,
        precision="float64",
        rate=0.1,
    )


def scored_of(run: whereof.Run, *names: str, **options: Any) -> ScoredPrediction:
    return find_scored(run._trained, names, ExplainOptions(**options))


@dataclass(frozen=True)
class Oracle:
    """One run, with all its parameters in one vector."""

    run: whereof.Run

    @property
    def parameters(self) -> Vector:
        return np.concatenate([self.run.entity_rows.ravel(), self.run.relation_rows.ravel()])

    def gradient(self, function: Callable[[Vector], float]) -> Vector:
        """By central differences in every parameter."""
        x, out = self.parameters.astype(np.float64), []
        for k in range(len(x)):
            kept, values = x[k], []
            for x[k] in (kept + 1e-5, kept - 1e-5):
                values.append(function(x))
            x[k] = kept
            out.append((values[0] - values[1]) / 2e-5)
        return np.array(out)

    def scores(self, x: Vector, given: int, relation_row: int, candidates: Any) -> Vector:
        n = self.run.entity_rows.size
        entities = x[:n].reshape(self.run.entity_rows.shape)
        relations = x[n:].reshape(self.run.relation_rows.shape)
        formula = FORMULAS[self.run.config.model]
        rows = entities[given], relations[relation_row]
        return np.array([formula(*rows, entities[c])[0] for c in candidates])

    def loss(self, x: Vector, fact_id: int) -> float:
        """The training loss of a fact, with all candidates, in every direction."""
        data, config = self.run.dataset, self.run.config
        s, r, o = (int(part) for part in data.train[fact_id])
        if config.loss == "squared":
            target = data.ratings.standardised()[fact_id]
            return (self.scores(x, s, r, [o])[0] - target) ** 2 / 2
        total = self._cross_entropy(self.scores(x, s, r, data.objects), o - data.objects.start)
        if config.inverse:
            scores = self.scores(x, o, r + data.inverse_offset, data.subjects)
            total += self._cross_entropy(scores, s - data.subjects.start)
        return total

    def _cross_entropy(self, scores: Vector, answer: int) -> float:
        if self.run.config.loss == "softmax":
            return float(np.log(np.exp(scores).sum()) - scores[answer])
        signs = np.ones(len(scores))
        signs[answer] = -1
        return float(np.log1p(np.exp(signs * scores)).mean())

    def value(self, x: Vector, scored: ScoredPrediction, of: str) -> float:
        """What is explained: the answer's probability, log-probability or score."""
        ids = scored.candidates.ids
        scores = self.scores(x, scored.prediction.given, scored.relation_row, ids)
        mine = scores[scored.place]
        if of == "score":
            scorer: Scorer = self.run.scorer
            return float(scorer.scale * mine + scorer.offset)
        log_probability = float(mine - np.log(np.exp(scores).sum()))
        return log_probability if of == "loss" else float(np.exp(log_probability))
