"""Facts removed and the model retrained: how often predictions fall and answers change."""

from collections.abc import Iterator, Mapping, Sequence

from whereof.drawing import Bar, Box, Strip, bars_svg, boxes_svg, strip_svg
from whereof.report._parts import (
    Document,
    Section,
    amount,
    count,
    figures,
    number,
    p_text,
    paragraph,
    points,
    rate,
    span,
    table,
)
from whereof.report._sentences import released_sentences, removal_sentences, steadiness_sentences
from whereof.report._worth import Worth, worth_of

_LABEL = "share of predictions"
_SPREAD = ("low", "first_quarter", "median", "third_quarter", "high", "mean")


def removal(evaluation: Document) -> Section:
    """PD and TC of every method and size, and what they mean."""
    rows: Sequence[Document] = evaluation.get("removal") or ()
    if not rows:
        return Section("Removing facts and retraining", (), "removal")
    worth = worth_of(evaluation)
    shares = {"pd": f"PD: the {worth.one} fell", "tc": "TC: the top answer changed"}
    parts = [
        *(paragraph(said, kind="verdict") for said in removal_sentences(evaluation)),
        _table(rows, worth),
        paragraph(*released_sentences(rows)),
        figures(*(_bars(rows, *share) for share in shares.items())),
        *_significance(evaluation),
        *_seeds(rows, shares),
    ]
    return Section("Removing facts and retraining", tuple(parts), "removal")


def size_text(k: int | str) -> str:
    """How many facts go."""
    return f"k = {k}"


def _table(rows: Sequence[Document], worth: Worth) -> str:
    about = (
        f"PD is the share of predictions whose {worth.one} is lower after the facts are removed "
        "and the model is retrained; TC the share whose top answer is another. Beside each stands "
        "its 95% interval. With k = all, all facts in support are removed; of random, as many."
    )
    titles = ("method", "removed", "PD", "95%", "TC", "95%", "predictions", "seeds", "facts")
    cells = (
        (
            row["method"],
            size_text(row["k"]),
            rate(row["pd"]),
            span(row["pd_interval"]),
            rate(row["tc"]),
            span(row["tc_interval"]),
            f"{row['n_predictions']:,}",
            f"{row['n_seeds']:,}",
            f"{amount(row['removed_mean'])} ± {amount(row['removed_std'])}",
        )
        for row in rows
    )
    return table(titles, cells, about, n_words=2)


def _bars(rows: Sequence[Document], name: str, title: str) -> str:
    sizes = dict.fromkeys(row["k"] for row in rows)
    bars = [
        Bar(size_text(k), row["method"], row[name], row[f"{name}_interval"])
        for k in sizes
        for row in rows
        if row["k"] == k and row[name] is not None
    ]
    return bars_svg(bars, title=title, x_label=_LABEL)


def _seeds(rows: Sequence[Document], shares: Mapping[str, str]) -> Iterator[str]:
    """How far single seeds lie apart, where there are several."""
    if not any(row["n_seeds"] > 1 for row in rows):
        return
    yield "<h4>Seed by seed</h4>"
    yield figures(
        *(
            strip_svg(
                [
                    Strip(f"{row['method']}, {size_text(row['k'])}", row[f"{name}_seeds"])
                    for row in rows
                ],
                title=title,
                x_label=_LABEL,
            )
            for name, title in shares.items()
        )
    )


def _significance(evaluation: Document) -> Iterator[str]:
    tests: Sequence[Document] = evaluation.get("significance") or ()
    if not tests:
        return
    yield "<h4>Is it chance?</h4>"
    about = (
        "How probable a difference at least as large is if the method were no other than the "
        "baseline: paired approximate randomisation over queries."
    )
    cells = (
        (
            f"{test['method']} over {test['baseline']}",
            size_text(test["k"]),
            test["metric"].upper(),
            _difference(test["difference"]),
            p_text(test["p_value"]),
        )
        for test in tests
    )
    yield table(("methods", "removed", "", "difference", "p"), cells, about, n_words=3)


def _difference(value: float | None) -> str:
    if value is None:
        return rate(None)
    return ("\N{MINUS SIGN}" if value < 0 else "+") + points(value)


def changes(evaluation: Document) -> Section:
    """How much more a method lowers probabilities than its baseline, as boxes."""
    rows: Sequence[Document] = evaluation.get("changes") or ()
    worth = worth_of(evaluation)
    title = f"How far {worth.several} fall"
    if not rows:
        return Section(title, (), "changes")
    baselines = " and ".join(dict.fromkeys(row["baseline"] for row in rows))
    boxes = [
        Box(
            label=f"{row['method']} {'all' if row['k'] == 'all' else 'k=' + str(row['k'])}",
            count=row["removed_mean"],
            **{name: row["spread"][name] for name in _SPREAD},
        )
        for row in rows
    ]
    said = (
        f"Above zero, the method's facts lowered the {worth.one} further than those of {baselines} "
        "did, prediction by prediction."
    )
    svg = boxes_svg(
        boxes,
        title=f"Fall of the {worth.one} beyond that by {baselines}",
        y_label=f"difference of {worth.several}",
    )
    return Section(title, (paragraph(said), figures(svg)), "changes")


def steadiness(evaluation: Document) -> Section:
    """What one random fact less does by itself."""
    steady: Document | None = evaluation.get("steadiness")
    if not steady:
        return Section("Steadiness", (), "steadiness")
    said = paragraph(*steadiness_sentences(evaluation), kind="verdict")
    more = paragraph(
        f"The figures are of {count(steady['n_removals'], 'random fact')}, each removed in a "
        f"retraining of its own; {worth_of(evaluation).several} moved by "
        f"{number(steady['mean_change'])} on average."
    )
    return Section("Steadiness", (said, more), "steadiness")
