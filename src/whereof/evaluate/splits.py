"""All the metrics of a run's validation and test facts, and the one that picks the best epoch."""

from typing import Any

from whereof.data import Dataset
from whereof.evaluate.ranking import RankingEvaluator
from whereof.evaluate.recommending import list_metrics, rating_metrics
from whereof.models.scoring import Scorer
from whereof.training.config import TrainConfig
from whereof.training.results import Validation


class SplitEvaluator:
    """Measures a model by a dataset's splits; what is known is indexed once."""

    def __init__(self, dataset: Dataset, config: TrainConfig, threads: int | None = None) -> None:
        self.dataset, self.rated = dataset, config.loss == "squared"
        self.ranking = RankingEvaluator(dataset, inverse=config.inverse, threads=threads)

    def evaluate(self, scorer: Scorer, split: str) -> dict[str, Any] | None:
        """Metrics by name; None for a split without facts."""
        facts = getattr(self.dataset, split)
        if not len(facts):
            return None
        if self.dataset.two_way:
            rated = rating_metrics(self.dataset, scorer, split) if self.rated else {}
            return rated | list_metrics(self.ranking, scorer, split)
        ranked = self.ranking.evaluate(scorer, facts)
        assert ranked is not None
        return ranked.to_dict()

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
