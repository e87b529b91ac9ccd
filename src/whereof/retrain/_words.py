"""A verdict in words."""

from collections.abc import Iterator

from whereof.drawing._text import percent
from whereof.retrain._verdict import Stand, Summary, Verdict


def in_words(verdict: Verdict) -> str:
    """What really happened, what was predicted, and how it went under other seeds."""
    return " ".join(_sentences(verdict))


def _sentences(verdict: Verdict) -> Iterator[str]:
    before, actual, predicted = verdict.before, verdict.actual, verdict.predicted
    n_facts = len(verdict.removed)
    facts = "this fact" if n_facts == 1 else f"these {n_facts:,} facts"
    said = "" if predicted is None else f"; rollback said {amount(predicted)}"
    noun = "rating" if before.probability is None else "probability"
    yield f"Without {facts} the {noun} {_course(before, actual)}{said}."
    yield f"{_top(before, actual)}{_as_predicted(actual, predicted)}."
    if verdict.summary is not None:
        yield _over_seeds(verdict.summary, before.probability is None)


def amount(stand: Stand) -> str:
    """The probability in percent, or the rating."""
    return f"{stand.score:.3f}" if stand.probability is None else percent(stand.probability)


def _course(before: Stand, actual: Stand) -> str:
    if before.worth == actual.worth:
        return f"stays at {amount(before)}"
    verb = "falls" if actual.worth < before.worth else "rises"
    if amount(before) == amount(actual):
        return f"hardly {verb}, at {amount(before)}"
    return f"really {verb} from {amount(before)} to {amount(actual)}"


def _top(before: Stand, actual: Stand) -> str:
    labels = before.labels["top_answer"], actual.labels["top_answer"]
    if before.top_answer == actual.top_answer:
        return f"The top answer stays {labels[0]}"
    return f"The top answer changes from {labels[0]} to {labels[1]}"


def _as_predicted(actual: Stand, predicted: Stand | None) -> str:
    if predicted is None:
        return ""
    if predicted.top_answer == actual.top_answer:
        return ", as predicted"
    return f"; rollback said {predicted.labels['top_answer']}"


def _over_seeds(summary: Summary, rated: bool) -> str:
    before, actual = summary.before.mean, summary.actual.mean
    means = f"{before:.3f} to {actual:.3f}" if rated else f"{percent(before)} to {percent(actual)}"
    return (
        f"Of {summary.n_seeds} seeds it falls in {summary.n_fell}, on average from {means}, and "
        f"the top answer changes in {summary.n_top_changed}."
    )
