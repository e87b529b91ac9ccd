"""How near estimates come to the truth: probabilities, true influence, subsets, answers."""

from collections.abc import Sequence
from itertools import starmap

from whereof.drawing import Bar, Scatter, bars_svg, scatter_svg
from whereof.drawing._axes import is_number as known
from whereof.report._parts import (
    Document,
    Section,
    amount,
    correlation,
    count,
    figures,
    number,
    paragraph,
    points,
    rate,
    span,
    table,
)
from whereof.report._removal import size_text
from whereof.report._sentences import approximation_sentences, constraint_text
from whereof.report._worth import worth_of


def approximation(evaluation: Document) -> Section:
    """Predicted against actual probability, constraint by constraint."""
    rows: Sequence[Document] = evaluation.get("approximation") or ()
    title, worth = "Predicted against actual", worth_of(evaluation)
    if not rows:
        return Section(title, (), "approximation")
    panels = [
        Scatter(
            constraint_text(row["constraint"]).capitalize(),
            [(predicted, actual) for _, predicted, actual in row["points"]],
            f"r {correlation(row['pearson_probability'])}, L {number(row['lipschitz'])}",
        )
        for row in rows
    ]
    about = (
        "Without the one fact that rollback ranks first. r is Pearson's correlation, L the "
        "steepest slope of the score that training met."
    )
    cells = (
        (
            constraint_text(row["constraint"]),
            f"{row['n_points']:,}",
            correlation(row["pearson_probability"]),
            correlation(row["pearson_change"]),
            number(row["lipschitz"]),
        )
        for row in rows
    )
    titles = ("training", "points", f"r of {worth.several}", "r of changes", "L")
    chart = scatter_svg(
        panels,
        title=f"{worth.one.capitalize()} without the fact: predicted and actual",
        x_label=f"predicted {worth.one}",
        y_label=f"actual {worth.one}",
    )
    parts = (
        paragraph(*approximation_sentences(rows, worth), kind="verdict"),
        table(titles, cells, about),
        figures(chart),
    )
    return Section(title, parts, "approximation")


def leave_one_out(evaluation: Document) -> Section:
    """Estimated against true influence, every fact removed alone."""
    rows: Sequence[Document] = evaluation.get("leave_one_out") or ()
    title = "True influence, fact by fact"
    if not rows:
        return Section(title, (), "leave-one-out")
    said = _best_order(rows)
    cells = (
        (
            row["method"],
            correlation(row["rho_adjacent"]),
            span(row["rho_adjacent_interval"], correlation),
            correlation(row["rho_all"]),
            span(row["rho_all_interval"], correlation),
            rate(row["share_of_best"]),
            f"{row['n_predictions']:,}",
            f"{row['n_seeds']:,}",
        )
        for row in rows
    )
    titles = ("method", "rho, adjacent", "95%", "rho, all", "95%", "of the best fall", "n", "seeds")
    bars = [Bar("over adjacent facts", *_bar(row, "rho_adjacent")) for row in rows]
    bars += [Bar("over all facts", *_bar(row, "rho_all")) for row in rows]
    chart = bars_svg(
        [bar for bar in bars if known(bar.value)],
        title="Estimated and true influence",
        x_label="mean of Spearman's rho",
        in_percent=False,
    )
    about = "Mean over predictions of the correlation of estimated and true influence."
    parts = (paragraph(said, kind="verdict"), table(titles, cells, about), figures(chart))
    return Section(title, parts, "leave-one-out")


def _best_order(rows: Sequence[Document]) -> str:
    """Which method orders facts best: over all of them or, where not all were removed, adjacent."""
    name = "rho_all" if any(known(row["rho_all"]) for row in rows) else "rho_adjacent"
    ranked = [row for row in rows if known(row[name])]
    if not ranked:
        return ""
    best = max(ranked, key=lambda row: float(row[name]))
    near = correlation(best["rho_adjacent"])
    noun, rho = "adjacent fact", f"{near} over those of a prediction"
    if name == "rho_all":
        every = correlation(best[name])
        noun, rho = "fact", f"{every} over all facts, {near} over adjacent ones"
    return (
        f"Every one of {count(best['n_facts'], noun)} was removed alone. "
        f"{best['method']} orders them most as retraining does: Spearman's rho {rho}. Its first "
        f"fact brings {rate(best['share_of_best'])} of the largest fall that any one fact brings."
    )


def _bar(row: Document, name: str) -> tuple[str, float, tuple[float, float] | None]:
    return row["method"], row[name], row[f"{name}_interval"]


def datamodelling(evaluation: Document) -> Section:
    """Sums of influences against what random halves of the facts give."""
    rows: Sequence[Document] = evaluation.get("datamodelling") or ()
    title = "Linear datamodelling score"
    if not rows:
        return Section(title, (), "datamodelling")
    about = (
        "Random halves of the facts are trained on. The score is the mean over predictions of "
        "Spearman's correlation between what the model then says and the sum of the influences of "
        "the facts that were kept: 1 is a perfect order, 0 is none."
    )
    cells = (
        (
            row["method"],
            correlation(row["score"]),
            span(row["interval"], correlation),
            f"{row['n_subsets']:,}",
            f"{row['n_predictions']:,}",
            f"{row['n_seeds']:,}",
        )
        for row in rows
    )
    titles = ("method", "score", "95%", "halves", "predictions", "seeds")
    return Section(title, (table(titles, cells, about),), "datamodelling")


def kelpie(evaluation: Document) -> Section:
    """All explanations removed together: how far the answers fall."""
    rows: Sequence[Document] = evaluation.get("kelpie") or ()
    title = "All explanations removed together"
    if not rows:
        return Section(title, (), "kelpie")
    cells = (
        (
            row["method"],
            size_text(row["k"]),
            amount(row["removed_mean"]),
            *starmap(_fall, ((row, "hits1"), (row, "mrr"))),
            f"{row['n_predictions']:,}",
            f"{row['n_seeds']:,}",
        )
        for row in rows
    )
    about = "Before and after one retraining a seed without the facts of every explanation."
    titles = ("method", "removed", "facts", "Hits@1", "MRR", "predictions", "seeds")
    said = paragraph(*map(_kelpie_sentence, rows), kind="verdict")
    return Section(title, (said, table(titles, cells, about, n_words=2)), "kelpie")


def _fall(row: Document, name: str) -> str:
    return f"{rate(row[f'{name}_before'])} to {rate(row[f'{name}_after'])}"


def _kelpie_sentence(row: Document) -> str:
    before, after = row["hits1_before"], row["hits1_after"]
    if not known(before) or not known(after):
        return ""
    first = "the first fact" if row["k"] == 1 else f"the first {row['k']} facts"
    facts = "all facts in support" if row["k"] == "all" else first
    moved = f"falls by {points(before - after)}" if after < before else "does not fall"
    return (
        f"Without {facts} that {row['method']} finds for each of "
        f"{count(row['n_predictions'], 'prediction')}, all removed at once, Hits@1 on them "
        f"{moved}, to {rate(after)}."
    )
