"""How near rollback comes to retraining: correlations, box plots and bounds."""

from whence.paper import _published as published
from whence.paper._records import Figure, Row, Table
from whence.paper._results import Document, Results, make_table, over_seeds, pair

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
        Row((item["constraint"],), _close(item))
        for item in (results.evaluation("approximation") or {"approximation": ()})["approximation"]
    ]
    about = (
        "Pearson r of what rollback foretold without its first fact and what retraining gave: of "
        f"probabilities, as the paper plots them, and of their changes. {_claim()}"
    )
    columns = ("r, probabilities", "r, changes", "Lipschitz")
    return make_table("approximation", "Approximation", about, "constraint", columns, rows)


def _close(item: Document) -> tuple[Figure, ...]:
    """Both correlations, of all points and of every seed, and the Lipschitz constant."""
    slopes, paper = tuple(item["lipschitz_seeds"]), published.LIPSCHITZ.get(item["constraint"])
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
    for model in results.models:
        for item in (results.evaluation(f"removal-{model}") or {"changes": ()})["changes"]:
            if (item["method"], item["baseline"]) == ("rollback", "random"):
                figures = tuple(Figure(item["spread"][name], unit="number") for name in _BOX)
                rows.append(Row((published.TITLES[model], str(item["k"])), figures))
    about = (
        "The probability without random facts less the one without rollback's, prediction by "
        "prediction: above 0, rollback's facts mattered more."
    )
    columns = tuple(_BOX.values())
    return make_table("boxes", "Box plots in numbers", about, "model k", columns, rows)


def theory_table(results: Results) -> Table | None:
    """The paper's claim as numbers."""
    theory = (results.evaluation("theory") or {}).get("theory") or {}
    rows = [
        Row((title,), (Figure(theory[name], unit="number"),))
        for name, title in _THEORY.items()
        if name in theory
    ]
    about = (
        "DistMult. The claim: rolling a fact back is nearer to retraining without it than the "
        "original model is, and within the bound. A bound above 1 says nothing of a probability."
    )
    return make_table("theory", "Theory", about, "quantity", ("value",), rows)
