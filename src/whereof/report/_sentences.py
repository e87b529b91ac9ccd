"""What figures mean, in plain sentences."""

from collections.abc import Iterator, Sequence

from whereof.drawing._axes import is_number as known
from whereof.report._parts import (
    Document,
    amount,
    correlation,
    count,
    number,
    p_text,
    points,
    rate,
    span,
)
from whereof.report._worth import Worth, worth_of

_SURE = 0.05
"""Below this p a difference is not put down to chance."""


def removal_sentences(evaluation: Document) -> Iterator[str]:
    """For every method and size, what removal did beside what the baseline did."""
    rows: Sequence[Document] = evaluation["removal"]
    baseline = _baseline(evaluation)
    others = {row["k"]: row for row in rows if row["method"] == baseline}
    for row in rows:
        if row["method"] != baseline and known(row["pd"]) and known(row["tc"]):
            yield _removal_sentence(row, others.get(row["k"]), evaluation)


def released_sentences(rows: Sequence[Document]) -> Iterator[str]:
    """What TC is if answers that only removed facts had count as new."""
    there = [row for row in rows if known(row["tc"]) and known(row["tc_released"])]
    if not there:
        return
    said = (
        "TC leaves answers known from training out of the ranking, those of removed facts too. If "
        "an answer that only a removed fact had counts as new,"
    )
    moved = [
        f"{rate(row['tc_released'])} instead of {rate(row['tc'])} ({row['method']}, k = {row['k']})"
        for row in there
        if row["tc_released"] != row["tc"]
    ]
    yield f"{said} TC is {', '.join(moved)}." if moved else f"{said} TC is the same."


def _baseline(evaluation: Document) -> str:
    tests: Sequence[Document] = evaluation.get("significance") or ()
    return str(tests[0]["baseline"]) if tests else "random"


def _removal_sentence(row: Document, other: Document | None, evaluation: Document) -> str:
    predictions = count(row["n_predictions"], "prediction")
    seeds = f" (the mean of {row['n_seeds']} seeds)" if row["n_seeds"] > 1 else ""
    said = f"Removing {facts_text(row)} lowers the {worth_of(evaluation).one} of "
    said += f"{rate(row['pd'])} of {predictions}{seeds}"
    if other is None or not known(other["pd"]) or not known(other["tc"]):
        return f"{said}, and changes the top answer of {rate(row['tc'])}."
    them = f"{facts_text(other)} {'does' if other['k'] == 1 else 'do'} so for {rate(other['pd'])}"
    said += f"; {them}: {_compared(row, other, 'pd', evaluation)}. "
    said += f"The top answer changes for {rate(row['tc'])}, against {rate(other['tc'])}: "
    return f"{said}{_compared(row, other, 'tc', evaluation)}."


def facts_text(row: Document) -> str:
    """Which facts are removed, in words."""
    method, k = row["method"], row["k"]
    if method == "random":
        if k == "all":
            return f"as many random adjacent facts ({amount(row['removed_mean'])} on average)"
        return "one random adjacent fact" if k == 1 else f"{k} random adjacent facts"
    if k == "all":
        return (
            f"all facts that {method} finds in support ({amount(row['removed_mean'])} on average)"
        )
    return (
        f"the one fact that {method} ranks first"
        if k == 1
        else f"the {k} facts that {method} ranks first"
    )


def _compared(row: Document, other: Document, metric: str, evaluation: Document) -> str:
    """The difference, and whether it may be chance."""
    difference = row[metric] - other[metric]
    if not difference:
        return "no difference"
    said = f"{points(difference)} {'more' if difference > 0 else 'less'}"
    for test in evaluation.get("significance") or ():
        same = (test["method"], test["baseline"], test["k"], test["metric"])
        if same == (row["method"], other["method"], row["k"], metric) and known(test["p_value"]):
            p = p_text(test["p_value"])
            p = f"p {p}" if p.startswith("<") else f"p = {p}"
            p = p.replace(" ", "\N{NO-BREAK SPACE}")
            chance = "beyond chance" if test["p_value"] < _SURE else "which may be chance"
            return f"{said}, {chance} ({p})"
    return said


def steadiness_sentences(evaluation: Document) -> Iterator[str]:
    """How often answers change by themselves, and which methods are above that."""
    steady: Document = evaluation["steadiness"]
    if not known(steady["changed"]):
        return
    yield (
        f"Removing one random fact changes {rate(steady['changed'])} of the top answers (95% "
        f"interval {span(steady['interval'])}). That is the floor of TC: what a change of the "
        "answer is worth shows above it."
    )
    high = steady["interval"] and steady["interval"][1]
    for row in evaluation.get("removal") or ():
        if row["k"] == 1 and row["method"] != "random" and known(row["tc"]):
            low = row["tc_interval"] and row["tc_interval"][0]
            above = known(high) and known(low) and low > high
            where = "clearly above it" if above else "not clearly above it"
            yield f"The TC of {row['method']} at k = 1 is {rate(row['tc'])}, {where}."


def approximation_sentences(rows: Sequence[Document], worth: Worth) -> Iterator[str]:
    """How well rollback foretells retraining, and what constraints do to that."""
    for row in rows:
        if known(row["pearson_probability"]) and known(row["pearson_change"]):
            yield (
                f"With {constraint_text(row['constraint'])}, the {worth.one} that rollback "
                "foretells and that of the retrained model correlate with r = "
                f"{correlation(row['pearson_probability'])}; their changes, which is harder, with "
                f"r = {correlation(row['pearson_change'])}."
            )
    there = [row for row in rows if known(row["lipschitz"]) and known(row["pearson_probability"])]
    if len(there) > 1:
        steep = max(there, key=lambda row: float(row["lipschitz"]))
        flat = min(there, key=lambda row: float(row["lipschitz"]))
        rises = flat["pearson_probability"] > steep["pearson_probability"]
        yield (
            f"From {constraint_text(steep['constraint'])} to {constraint_text(flat['constraint'])} "
            f"the slope of the score falls from {number(steep['lipschitz'])} to "
            f"{number(flat['lipschitz'])}, and r {'rises' if rises else 'does not rise'}: "
            f"{correlation(steep['pearson_probability'])} to "
            f"{correlation(flat['pearson_probability'])}."
        )


def constraint_text(constraint: str) -> str:
    """A constraint in words."""
    if constraint.startswith("max:"):
        return f"maximum norm {constraint[4:]}"
    return {"none": "no constraint", "unit": "unit norm"}.get(constraint, constraint)
