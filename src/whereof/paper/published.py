"""The figures that the paper prints; each comes from one seed."""

from dataclasses import dataclass, field

SIZES = ("1", "10", "all")
"""Numbers of removed facts in Table 1."""
CRIAGE_SIZES = ("1", "3", "5", "10")
METRICS = {"pd": "PD", "tc": "TC"}
"""With their titles."""
RANKINGS = {"mrr": "MRR", "hits@1": "Hits@1", "hits@10": "Hits@10"}
"""The metrics of the model table, with their titles."""
MODELS = {"distmult": "DistMult", "complex": "ComplEx"}
"""With their titles."""

Percents = tuple[float, ...]


@dataclass(frozen=True)
class MeanStd:
    """A mean and a standard deviation."""

    mean: float
    std: float


@dataclass(frozen=True)
class Published:
    """The paper's figures on one dataset."""

    title: str
    catalogue: str
    """The dataset's name in the catalogue."""
    limit: int | None
    """Number of test predictions, drawn at random; None for all."""
    removal: dict[tuple[str, str], tuple[Percents, Percents]]
    """Table 1, by model and method: PD% and TC% without 1, 10 and all supporting facts."""
    models: dict[str, tuple[float, float, float | None]]
    """The model table: MRR, Hits@1 and Hits@10 in percent."""
    training_minutes: float
    explaining_minutes: MeanStd
    """For one prediction."""
    n_adjacent: MeanStd
    """Number of facts adjacent to a prediction."""
    n_removed: MeanStd
    """Number of facts that rollback at `all` removed, with DistMult."""
    lipschitz: dict[str, float] = field(default_factory=dict)
    """For DistMult, by constraint."""

    def share(self, model: str, method: str, metric: str, k: str) -> float:
        """PD or TC of Table 1, as a fraction."""
        percents = self.removal[model, method][list(METRICS).index(metric)]
        return fraction(percents[SIZES.index(k)])

    def difference(self, model: str, metric: str, k: str) -> float:
        """How far rollback lies above random in Table 1, as a fraction."""
        rollback, random = (self.share(model, name, metric, k) for name in ("rollback", "random"))
        return round(rollback - random, 6)

    def ranking(self, model: str, metric: str) -> float | None:
        """A figure of the model table, as a fraction."""
        percent = self.models[model][list(RANKINGS).index(metric)]
        return None if percent is None else fraction(percent)


DATASETS = {
    "nations": Published(
        "Nations",
        "nations",
        limit=None,
        removal={
            ("distmult", "random"): ((54, 66, 82), (18, 36, 70)),
            ("distmult", "rollback"): ((93, 97, 100), (38, 83, 97)),
            ("complex", "random"): ((59, 68, 80), (13, 47, 76)),
            ("complex", "rollback"): ((90, 95, 100), (38, 85, 99)),
        },
        models={"distmult": (58.88, 38.31, 97.51), "complex": (60.41, 39.80, 97.01)},
        training_minutes=1,
        explaining_minutes=MeanStd(0.07, 0.02),
        n_adjacent=MeanStd(508, 101),
        n_removed=MeanStd(261, 56),
        lipschitz={"none": 6.93, "unit": 0.67},
    ),
    "fb15k-237": Published(
        "FB15k-237",
        "fb15k-237",
        limit=100,
        removal={
            ("distmult", "random"): ((59, 67, 83), (35, 45, 59)),
            ("distmult", "rollback"): ((77, 82, 96), (38, 58, 85)),
            ("complex", "random"): ((72, 83, 91), (69, 70, 79)),
            ("complex", "rollback"): ((80, 88, 99), (65, 81, 91)),
        },
        models={"distmult": (25.84, 19.16, 40.18), "complex": (25.11, 18.15, 40.05)},
        training_minutes=17,
        explaining_minutes=MeanStd(6, 7),
        n_adjacent=MeanStd(5500, 4500),
        n_removed=MeanStd(2900, 2300),
    ),
    "movielens": Published(
        "MovieLens",
        "movielens-100k",
        limit=100,
        removal={
            ("distmult", "random"): ((53, 52, 92), (3, 14, 72)),
            ("distmult", "rollback"): ((68, 82, 100), (20, 38, 100)),
            ("complex", "random"): ((53, 61, 91), (5, 13, 77)),
            ("complex", "rollback"): ((73, 71, 100), (29, 48, 100)),
        },
        models={"distmult": (61.81, 37.60, None), "complex": (61.76, 37.51, None)},
        training_minutes=7,
        explaining_minutes=MeanStd(12, 4),
        n_adjacent=MeanStd(23700, 7800),
        n_removed=MeanStd(16700, 5000),
    ),
}

# The CRIAGE table, DistMult on Nations: PD% and TC% without 1, 3, 5 and 10 facts.
_CRIAGE: dict[str, tuple[Percents, Percents]] = {
    "random": ((49, 50, 51, 60), (3, 13, 14, 20)),
    "criage": ((91, 93, 94, 95), (16, 36, 48, 68)),
    "rollback-o": ((92, 94, 97, 97), (25, 48, 62, 68)),
    "rollback": ((92, 96, 97, 98), (27, 51, 66, 73)),
}


def criage_share(method: str, metric: str, k: str) -> float:
    """PD or TC of the CRIAGE table, as a fraction."""
    percents = _CRIAGE[method][list(METRICS).index(metric)]
    return fraction(percents[CRIAGE_SIZES.index(k)])


def fraction(percent: float) -> float:
    """A printed percentage as a fraction, without rounding errors of the division."""
    return round(percent / 100, 6)


APPROXIMATION_CLAIM = (
    "The paper: the correlation rises from no constraint over maximum norm 3 and 2 to unit norm, "
    "and the Lipschitz constant falls."
)


@dataclass(frozen=True)
class PublishedExample:
    """A prediction that the paper explains, and the fact that it gives, by labels.

    The fact has the prediction's relation and object.
    """

    subject: str
    relation: str
    object: str
    paper: str
    """The subject of the paper's fact."""


_CURRENCY = "/location/statistical_region/rent50_2./measurement_unit/dated_money_value/currency"
_INDUSTRY = "/business/business_operation/industry"
_REGION = "/film/film/release_date_s./film/film_regional_release_date/film_release_region"
EXAMPLES = (
    PublishedExample("Lycoming County", _CURRENCY, "United States Dollar", "Delaware County"),
    PublishedExample("Bandai", _INDUSTRY, "Video game", "Midway Games"),
    PublishedExample("Inception", _REGION, "Denmark-GB", "Bird"),  # the label of Denmark
)
"""On FB15k-237."""
