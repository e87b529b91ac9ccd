"""The figures that the paper prints; each comes from one seed."""

from collections.abc import Collection, Mapping
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

Printed = float | tuple[float, float] | None
"""A figure, or a mean and its standard deviation. Shares are in percent."""
PrintedTable = Mapping[str, tuple[Printed, ...]]
"""By names of rows: a figure for each column. The first row with these names, or more, has them."""


@dataclass(frozen=True)
class Published:
    """The paper's figures on one dataset."""

    title: str
    catalogue: str
    """The dataset's name in the catalogue."""
    limit: int | None
    """Number of test predictions, drawn at random; None for all."""
    tables: Mapping[str, PrintedTable]
    """By name of our table."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """By name of our table: what the paper says without figures."""

    def row(self, table: str, names: Collection[str]) -> tuple[Printed, ...]:
        """The paper's figures for a row of our table; empty if there are none."""
        rows = self.tables.get(table, {}).items()
        return next((figures for words, figures in rows if {*words.split()} <= {*names}), ())


def _table1(rows: Mapping[str, tuple[float, ...]]) -> PrintedTable:
    """PD% and TC% without 1, 10 and all supporting facts, with the differences to random."""
    differences = {
        f"{model} difference": tuple(
            theirs - randoms
            for theirs, randoms in zip(
                rows[f"{model} adam rollback"], rows[f"{model} adam random"], strict=True
            )
        )
        for model in MODELS.values()
    }
    return {**rows, **differences}


DATASETS = {
    "nations": Published(
        "Nations",
        "nations",
        limit=None,
        tables={
            "table1": _table1(
                {
                    "DistMult adam random": (54, 66, 82, 18, 36, 70),
                    "DistMult adam rollback": (93, 97, 100, 38, 83, 97),
                    "ComplEx adam random": (59, 68, 80, 13, 47, 76),
                    "ComplEx adam rollback": (90, 95, 100, 38, 85, 99),
                }
            ),
            "sizes": {"DistMult adam": ((261, 56), (508, 101)), "": (None, (508, 101))},
            "criage": {
                "random PD": (49, 50, 51, 60),
                "random TC": (3, 13, 14, 20),
                "criage PD": (91, 93, 94, 95),
                "criage TC": (16, 36, 48, 68),
                "rollback-o PD": (92, 94, 97, 97),
                "rollback-o TC": (25, 48, 62, 68),
                "rollback PD": (92, 96, 97, 98),
                "rollback TC": (27, 51, 66, 73),
            },
            "models": {
                "DistMult adam paper's": (58.88, 38.31, 97.51),
                "ComplEx adam paper's": (60.41, 39.80, 97.01),
            },
            "times": {"adam": (60, 1, (4.2, 1.2), (0.07, 0.02))},
            "approximation": {"none": (None, None, 6.93), "unit": (None, None, 0.67)},
        },
        claims={
            "approximation": "The paper: the correlation rises from no constraint over maximum "
            "norm 3 and 2 to unit norm, and the Lipschitz constant falls."
        },
    ),
    "fb15k-237": Published(
        "FB15k-237",
        "fb15k-237",
        limit=100,
        tables={
            "table1": _table1(
                {
                    "DistMult adam random": (59, 67, 83, 35, 45, 59),
                    "DistMult adam rollback": (77, 82, 96, 38, 58, 85),
                    "ComplEx adam random": (72, 83, 91, 69, 70, 79),
                    "ComplEx adam rollback": (80, 88, 99, 65, 81, 91),
                }
            ),
            "sizes": {"DistMult adam": ((2900, 2300), (5500, 4500)), "": (None, (5500, 4500))},
            "models": {
                "DistMult adam paper's": (25.84, 19.16, 40.18),
                "ComplEx adam paper's": (25.11, 18.15, 40.05),
            },
            "times": {"adam": (1020, 17, (360, 420), (6, 7))},
        },
    ),
    "movielens": Published(
        "MovieLens",
        "movielens-100k",
        limit=100,
        tables={
            "table1": _table1(
                {
                    "DistMult adam random": (53, 52, 92, 3, 14, 72),
                    "DistMult adam rollback": (68, 82, 100, 20, 38, 100),
                    "ComplEx adam random": (53, 61, 91, 5, 13, 77),
                    "ComplEx adam rollback": (73, 71, 100, 29, 48, 100),
                }
            ),
            "sizes": {"DistMult adam": ((16700, 5000), (23700, 7800)), "": (None, (23700, 7800))},
            "models": {
                "DistMult adam paper's": (61.81, 37.60, None),
                "ComplEx adam paper's": (61.76, 37.51, None),
            },
            "times": {"adam": (420, 7, (720, 240), (12, 4))},
        },
    ),
}


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
