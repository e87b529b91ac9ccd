"""How near rollback comes to retraining: correlations, box plots and bounds."""

from dataclasses import dataclass

from whereof.paper import _published as published
from whereof.paper._plan import PAPERS
from whereof.paper._records import Count, Figure, Row, Table
from whereof.paper._results import Document, Results, count, make_table, over_seeds, pair

_BOX = {
    "low": "lowest",
    "first_quarter": "25%",
    "median": "median",
    "third_quarter": "75%",
    "high": "highest",
    "mean": "mean",
}

_THEORY = {
    "rollback_error": "mean |rollback - retrained|",
    "original_error": "mean |original - retrained|",
    "stability_bound": "stability bound, closed form",
    "recurrence_bound": "stability bound, recurrence unrolled",
    "largest_norm": "largest norm C",
    "lipschitz": "Lipschitz constant by the lemma, 2 C^2",
    "lipschitz_met": "largest slope met in training",
    "smoothness": "smoothness by the lemma, 4 C",
    "normaliser_mean": "log of the normaliser, mean over facts",
    "normaliser_std": "log of the normaliser, deviation over facts",
    "score_std": "scores, deviation over facts",
}


def approximation_table(results: Results) -> Table | None:
    """Predicted against actual probability under every constraint."""
    rows = [
        Row((*near.names, near.item["constraint"]), _close(results.dataset, near), near.count)
        for near in approximations(results)
    ]
    about = (
        "Pearson r of what rollback foretold without its first fact and what retraining gave: of "
        "probabilities, as the paper plots them, and of their changes."
    )
    if len({row.names[-1] for row in rows}) > 1:
        about += f" {_claim()}"
    columns = ("r, probabilities", "r, changes", "Lipschitz")
    heads = "model optimizer constraint"
    return make_table("approximation", "Approximation", about, heads, columns, rows)


@dataclass(frozen=True)
class Near:
    """How near rollback comes to retraining: one model under one constraint."""

    names: tuple[str, str]
    """Of the model and the optimizer."""
    item: Document
    count: Count


def approximations(results: Results) -> list[Near]:
    """Of the part that has constraints, then of every part of Table 1 that measured it."""
    own, names = results.evaluation("approximation"), (published.TITLES["distmult"], PAPERS)
    found = [Near(names, item, count(own)) for item in own["approximation"]] if own else []
    return found + [
        Near(mine.names, item, mine.count)
        for mine in results.removals
        for item in mine.evaluation["approximation"]
    ]


def _close(dataset: str, near: Near) -> tuple[Figure, ...]:
    """Both correlations, of all points and of every seed, and the Lipschitz constant."""
    item, printed = near.item, published.LIPSCHITZ if dataset == "nations" else {}
    slopes, paper = tuple(item["lipschitz_seeds"]), printed.get(item["constraint"])
    return (
        _correlation(item, "pearson_probability"),
        _correlation(item, "pearson_change"),
        over_seeds(slopes, Figure(item["lipschitz"], paper=paper, unit="number")),
    )


def _correlation(item: Document, name: str) -> Figure:
    return Figure(
        item[name],
        interval=pair(item[f"{name}_interval"]),
        seeds=tuple(seed for seed in item[f"{name}_seeds"] if seed is not None),
        n=item["n_points"],
        unit="number",
    )


def _claim() -> str:
    claim = published.APPROXIMATION_CLAIM
    return f"{claim[0].upper()}{claim[1:]}."


def changes_table(results: Results) -> Table | None:
    """The numbers of the box plots: rollback against random."""
    rows = []
    for mine in results.removals:
        for item in mine.evaluation["changes"]:
            if (item["method"], item["baseline"]) == ("rollback", "random"):
                figures = tuple(Figure(item["spread"][name], unit="number") for name in _BOX)
                rows.append(Row((*mine.names, str(item["k"])), figures, mine.count))
    about = (
        "The probability without random facts less the one without rollback's, prediction by "
        "prediction: above 0, rollback's facts mattered more."
    )
    columns = tuple(_BOX.values())
    return make_table("boxes", "Box plots in numbers", about, "model optimizer k", columns, rows)


def theory_table(results: Results) -> Table | None:
    """The paper's claim as numbers."""
    found = results.evaluation("theory")
    if found is None:
        return None
    theory = found["theory"]
    rows = [
        Row((title,), (Figure(theory[name], unit="number"),), count(found))
        for name, title in _THEORY.items()
        if name in theory
    ]
    about = (
        "DistMult. The claim: rolling a fact back is nearer to retraining without it than the "
        "original model is, and within the bound. A bound above 1 says nothing of a probability."
    )
    return make_table("theory", "Theory", about, "quantity", ("value",), rows)
