"""A verdict in words, in the terminal and as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from whereof import units
from whereof.explain.method import get_method
from whereof.present import html, names
from whereof.present.terminal import heading, on_one_line, show
from whereof.retrain.verify import Confirmed, Summary, Verdict, near_in_log_odds
from whereof.run.reliability import sizes_agree
from whereof.table import Column, Table


def verdict_words(verdict: Verdict) -> str:
    """What really happened, what was predicted, and the results of other seeds."""
    return " ".join(_sentences(verdict))


def claim_words(verdict: Verdict) -> str:
    """What retraining confirmed of the estimate, and what not. Empty if there was no estimate."""
    predicted, actual, found = verdict.predicted, verdict.actual, verdict.confirmed
    if predicted is None or found is None:
        return ""
    size = _size_text(found)
    wrong = [] if found.size else [size]
    if found.top_answer is False:
        wrong.append(f"the top answer is {actual.top_label}, not {predicted.top_label}")
    if verdict.claim == "refuted":
        return f"refuted: {' and '.join(wrong)}"
    parts = {"direction": found.direction, "size": found.size, "top answer": found.top_answer}
    *others, last = (name for name, is_right in parts.items() if is_right)
    right = f"{', '.join(others)} and {last}" if others else last
    more = f", but {' and '.join(wrong)}" if wrong else f"; {size}" * (found.ratio is not None)
    return f"{verdict.claim}: retraining confirms {right}{more}"


def _size_text(found: Confirmed) -> str:
    """The actual change beside the estimated one; that of the log-odds if only it differs."""
    ratio, of = found.ratio, ""
    if ratio is None:
        return "no change was estimated"
    if ratio < 0:
        return "the change goes the other way"
    odds = found.log_odds_ratio
    if odds is not None and sizes_agree(1.0, ratio, 0.0) and not near_in_log_odds(odds):
        ratio, of = odds, " of the log-odds"
    times = f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"
    times = f"{times} times " * (float(times) != 1)
    return f"the actual change{of} is {times}as large as the estimated one"


def show_verdict(out: Console, verdict: Verdict, *, listed: bool = True) -> None:
    """Print a verdict, with its facts if `listed`."""
    name = Text(on_one_line(names.fact_text(verdict.prediction)), style="bold")
    claim = [] if verdict.claim is None else [f"The estimate is {claim_words(verdict)}."]
    show(out, name, verdict_words(verdict), *claim)
    for table in verdict_tables(verdict, most=20):
        if listed or table.name != "facts":
            note = names.rank_note(verdict) if table.name == "standings" else ""
            show(out, heading(table.title), replace(table, title="", note=note))
    more = ["--each"] * (not verdict.each) + ["--seeds 5"] * (not verdict.seeds) + ["--json"]
    effort = f"{names.effort_text(verdict)}; method {verdict.method}"
    show(out, *verdict.notes, effort, f"next: {', '.join(more)}")


def verdict_html(verdict: Verdict) -> str:
    """The verdict in words, with its tables, for notebooks."""
    parts = [
        ("sentence", verdict_words(verdict), "retrained"),
        ("paragraphs", verdict.notes),
        *(("titled", table) for table in verdict_tables(verdict, most=50)),
    ]
    return html.page(parts, title=names.fact_text(verdict.prediction), template="notebook")


def verdict_page(verdict: Verdict) -> str:
    """A whole HTML file: the verdict in words, with its tables."""
    noun = names.noun_of(verdict.facts)
    items = {
        "prediction": names.fact_text(verdict.prediction, full=True),
        f"{noun}s chosen by": verdict.method,
        f"removed {noun}s": f"{len(verdict.removed):,}",
        "engine": verdict.engine,
        "estimate": claim_words(verdict) or "none",
        "effort": names.effort_text(verdict),
        "control equals the stored run": units.show(verdict.control_matches_run),
    }
    parts = [
        ("sentence", verdict_words(verdict), "retrained"),
        ("paragraphs", [f"Note: {note}" for note in verdict.notes]),
        *(("titled", table) for table in verdict_tables(verdict)),
        ("heading", "About"),
        ("items", items.items()),
    ]
    name, heading = names.fact_text(verdict.prediction), names.heading(verdict.prediction)
    return html.page(parts, title=f"{name}: verdict", heading=heading)


def _sentences(verdict: Verdict) -> Iterator[str]:
    before, actual, predicted = verdict.before, verdict.actual, verdict.predicted
    first, last = names.amount_text(before), names.amount_text(actual)
    verb = "falls" if actual.value < before.value else "rises"
    change = f"really {verb} from {first} to {last}"
    if before.value == actual.value:
        change = f"stays at {first}"
    elif first == last:
        change = f"hardly {verb}, at {first}"
    facts = names.removed_text(verdict.facts, verdict.prediction)
    said = "" if predicted is None else f"; the estimate was {names.amount_text(predicted)}"
    yield f"Without {facts} the {names.output_noun(before)} {change}{said}."
    top, said = f"stays {before.top_label}", ""
    if before.top_answer != actual.top_answer:
        top = f"changes from {before.top_label} to {actual.top_label}"
    if predicted is not None and predicted.top_answer:
        same = predicted.top_answer == actual.top_answer
        said = ", as estimated" if same else f"; the estimate was {predicted.top_label}"
    yield f"The top answer {top}{said}."
    if verdict.summary is not None:
        summary, unit = verdict.summary, names.output_unit(before)
        first, last = (units.show(each.mean, unit) for each in (summary.before, summary.actual))
        yield (
            f"The {names.output_noun(before)} falls in {summary.n_fell} of {summary.n_seeds} "
            f"seeds, on average from {first} to {last}; the top answer changes in "
            f"{summary.n_top_changed}."
        )


def verdict_tables(verdict: Verdict, most: int | None = None) -> Iterator[Table]:
    """All tables of a verdict."""
    yield names.removal_table(verdict)
    if verdict.top_answers:
        yield names.answers_table(verdict)
    facts = verdict.each or verdict.facts
    source = Column("source", "source"), [fact.source for fact in facts]
    weight = Column("weight", "weight", "number"), [fact.weight for fact in facts]
    columns = [*names.fact_columns(facts), source, weight, *_effects(verdict)]
    title = f"The {names.noun_of(facts)}s, by {verdict.method}"
    title = "Influence of each of them alone" if verdict.each else title
    yield Table.by_columns("facts", title, columns, most=most)
    if verdict.summary is not None:
        yield _seeds(verdict, verdict.summary)


def _effects(verdict: Verdict) -> Iterator[tuple[Column, list[Any]]]:
    """The influence of the facts; estimated and actual, if each was removed alone."""
    before, each, unit = verdict.before, verdict.each, names.output_unit(verdict.before)
    if not each:
        title = "influence" if get_method(verdict.method).retrains else "estimated influence"
        influences = [fact.influence for fact in verdict.facts]
        yield Column("influence", title, "influence"), influences
        return
    said = [it.predicted and before.value - it.predicted.value for it in each]
    done = [before.value - fact.actual.value for fact in each]
    tops = [names.top_cell(fact.actual, before) for fact in each]
    yield Column("estimated_influence", "estimated", "influence"), said
    yield Column("actual_influence", "actual", "influence"), done
    yield Column("value_without", "without", unit), [fact.actual.value for fact in each]
    yield Column("rank", "rank", "count"), [fact.actual.rank for fact in each]
    yield Column("top_answer", "new top answer"), [top if top.tone else None for top in tops]


def _seeds(verdict: Verdict, summary: Summary) -> Table:
    unit = names.output_unit(verdict.before)
    columns = [
        Column("seed", "seed"),
        *(Column(name, name, unit) for name in ("before", "actual")),
        Column("fall", "fall", names.output_unit(verdict.before, "points")),
        *(Column(f"top_{name}", f"top {name}") for name in ("before", "after")),
    ]
    rows: list[Sequence[Any]] = []
    for each in verdict.seeds:
        before, actual = each.before, each.actual
        values = (before.value, actual.value, before.value - actual.value)
        rows.append((str(each.seed), *values, before.top_label, names.top_cell(actual, before)))
    for name, field in (("mean", "mean"), ("deviation", "std")):
        spread = [getattr(each, field) for each in (summary.before, summary.actual, summary.fall)]
        rows.append((name, *spread, "", ""))
    return Table(
        "seeds",
        f"Without the same {names.noun_of(verdict.facts)}s, under several seeds",
        columns,
        rows,
    )
