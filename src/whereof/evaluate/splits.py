"""All the metrics of a run's validation and test facts, and the one that picks the best epoch."""

import math
import time
from typing import Any

import numpy as np

from whereof.data import Dataset
from whereof.evaluate.ranking import RankingEvaluator
from whereof.evaluate.recommending import list_metrics, new_facts, rating_metrics
from whereof.events import Events, Note
from whereof.models.scoring import Scorer
from whereof.training.config import TrainConfig
from whereof.training.results import Validation
from whereof.types import SUBJECT, Facts

_MOST_NUMBERS = 1e13
"""Products of a dot product that ranking may take without a time budget: minutes on one core."""
_PROBED = 512
"""Facts ranked by each thread to measure the speed."""


class SplitEvaluator:
    """Measures a model by a dataset's splits; what is known is indexed once.

    A model of ratings is measured by their errors, and by ranks only if `ranked` says so.
    """

    def __init__(
        self,
        dataset: Dataset,
        config: TrainConfig,
        threads: int | None = None,
        *,
        ranked: bool = False,
    ) -> None:
        self.dataset, self.rated = dataset, config.loss == "squared"
        self.ranked = ranked or not self.rated
        self.ranking = RankingEvaluator(dataset, inverse=config.inverse, threads=threads)

    def evaluate(
        self,
        scorer: Scorer,
        split: str,
        seconds: float = math.inf,
        events: Events | None = None,
    ) -> dict[str, Any] | None:
        """Metrics by name; None for a split without facts.

        If ranking all facts would take longer than `seconds`, a random sample is ranked, and the
        metrics say how many facts it has: `n_sampled`.
        """
        facts: Facts = getattr(self.dataset, split)
        if not len(facts):
            return None
        found: dict[str, Any] = {}
        if self.rated:
            found = dict(rating_metrics(self.dataset, scorer, split))
        if not self.ranked:
            return found
        facts = new_facts(self.dataset, split) if self.dataset.two_way else facts
        sample = self._sample(scorer, facts, seconds)
        if self.dataset.two_way:
            found |= list_metrics(self.ranking, scorer, split, sample, events)
        else:
            ranked = self.ranking.evaluate(scorer, sample, events)
            assert ranked is not None
            found |= ranked.to_dict()
        if len(sample) < len(facts):
            found["n_sampled"] = len(sample)
            if events is not None:
                some = f"{len(sample):,} of {len(facts):,}"
                events.emit(Note(f"{split} metrics: ranks of a random sample, {some} facts"))
        return found

    def _sample(self, scorer: Scorer, facts: Facts, seconds: float) -> Facts:
        """All facts, or as many as there is time for; in two-way data, all facts of some users."""
        n_sides = 2 if self.ranking.inverse else 1
        width = scorer.entity_rows.shape[1]
        most = _MOST_NUMBERS / (len(self.dataset.objects) * width * n_sides)
        n_probed = _PROBED * self.ranking.threads
        if math.isfinite(seconds) and len(facts) > n_probed:
            self.ranking.ranks(scorer, facts[:1])  # loads kernels and indexes known answers
            start = time.perf_counter()
            self.ranking.ranks(scorer, facts[:n_probed])
            took = time.perf_counter() - start
            most = max((seconds - took) / took, 1.0) * n_probed / n_sides
        if len(facts) <= most:
            return facts
        random = np.random.default_rng(0)
        if not self.dataset.two_way:
            return facts[np.sort(random.choice(len(facts), int(most), replace=False))]
        users, n_items = np.unique(facts[:, SUBJECT], return_counts=True)
        order = random.permutation(len(users))
        chosen = users[order[: 1 + np.searchsorted(np.cumsum(n_items[order]), most)]]
        return facts[np.isin(facts[:, SUBJECT], chosen)]

    def validate(self, scorer: Scorer) -> Validation:
        """The metric that picks the best epoch: MRR, for recommenders NDCG, for ratings RMSE."""
        if self.rated:
            rmse = rating_metrics(self.dataset, scorer, "valid")["rmse"]
            return Validation("rmse", rmse, gain=-rmse)
        if self.dataset.two_way:
            ndcg = list_metrics(self.ranking, scorer, "valid")["ndcg@10"]
            return Validation("ndcg@10", ndcg, gain=ndcg)
        ranked = self.ranking.evaluate(scorer, self.dataset.valid)
        assert ranked is not None
        return Validation("mrr", ranked.standard.mrr, gain=ranked.standard.mrr)
