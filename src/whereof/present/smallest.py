"""The smallest set of facts that changes an answer: in words, in the terminal, in a notebook."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from whereof import units
from whereof.predict.scored import Standing
from whereof.present import html, names
from whereof.present.terminal import heading, on_one_line, show
from whereof.retrain.smallest import Smallest
from whereof.retrain.sufficient import Sufficient
from whereof.table import Cell, Column, Table


def smallest_words(result: Smallest) -> str:
    """Whether a set changes the top answer, what happens without it, and what was predicted."""
    return " ".join([*_sentences(result), *_replaced(result)])


def show_smallest(out: Console, result: Smallest) -> None:
    """Print the result, with its facts."""
    name = Text(on_one_line(names.fact_text(result.prediction)), style="bold")
    show(out, name, " ".join(_sentences(result)), *_replaced(result))
    for table in smallest_tables(result, most=20):
        note = names.rank_note(result) if table.name == "standings" else ""
        show(out, heading(table.title), replace(table, title="", note=note))
    show(out, *result.notes, f"{names.effort_text(result)}; method {result.method}", "next: --json")


def smallest_html(result: Smallest) -> str:
    """The result in words and a table of its facts, for notebooks."""
    parts = [
        ("sentence", " ".join(_sentences(result)), "retrained"),
        ("paragraphs", [*_replaced(result), *result.notes]),
        *(("titled", table) for table in smallest_tables(result, most=50)),
    ]
    return html.page(parts, title=names.fact_text(result.prediction), template="notebook")


def smallest_page(result: Smallest) -> str:
    """A whole HTML file: the result in words, with its tables."""
    items = {
        "prediction": names.fact_text(result.prediction, full=True),
        "found": units.show(result.found),
        "method": result.method,
        "engine": result.engine,
        "effort": names.effort_text(result),
    }
    parts = [
        ("sentence", " ".join(_sentences(result)), "retrained"),
        ("paragraphs", [*_replaced(result), *(f"Note: {note}" for note in result.notes)]),
        *(("titled", table) for table in smallest_tables(result)),
        ("heading", "About"),
        ("items", items.items()),
    ]
    name, title = names.fact_text(result.prediction), names.heading(result.prediction)
    return html.page(parts, title=f"{name}: smallest set", heading=title)


def sufficient_words(result: Sufficient) -> str:
    """Which facts give other entities the same answer, and to how many."""
    asked, n_all = result.prediction, len(result.receivers)
    answer = names.label_of(asked, asked.asks)
    given = names.label_of(asked, "subject" if asked.asks == "object" else "object")
    entities = units.count(n_all, "other entity")
    if not result.found:
        facts = units.count(len(result.given), "fact")
        return (
            f"Even with the strongest {facts} of {given}, {answer} is not the top answer for any "
            f"of {entities}."
        )
    facts = "this fact" if len(result.given) == 1 else f"these {len(result.given)} facts"
    words = f"With {facts} of {given}, {answer} becomes the top answer for {result.n_converted} of "
    words += f"{entities}"
    if result.n_possible < n_all:
        words += ", the same number as with all its strongest facts"
    if len(result.given) == 1:
        return f"{words}."
    proven = "every fact is needed"
    unproven = "the budget was too small to check whether each fact is needed"
    return f"{words}; {proven if result.minimal else unproven}."


def show_sufficient(out: Console, result: Sufficient) -> None:
    """Print the facts that are sufficient, and what they do for other entities."""
    name = Text(on_one_line(names.fact_text(result.prediction)), style="bold")
    show(out, name, sufficient_words(result))
    facts = Table.by_columns("facts", "The facts", [*names.fact_columns(result.facts)], most=20)
    receivers, unit = result.receivers, names.output_unit(result.prediction)
    columns: list[tuple[Column, list[Any]]] = [
        (Column("entity", "entity"), [each.label for each in receivers]),
        (Column("before", "before", unit), [each.before.value for each in receivers]),
        (Column("top_before", "top answer"), [each.before.top_label for each in receivers]),
        (Column("actual", "actual", unit), [each.actual.value for each in receivers]),
        (
            Column("top_actual", "top answer"),
            [names.top_cell(each.actual, each.before) for each in receivers],
        ),
    ]
    answer = names.label_of(result.prediction, result.prediction.asks)
    given = Table.by_columns("receivers", f"{answer} for the entities that get them", columns)
    for table in (facts, given):
        show(out, heading(table.title), replace(table, title=""))
    show(out, f"{names.effort_text(result)}; method {result.method}", "next: --json")


def _sentences(result: Smallest) -> Iterator[str]:
    before, actual, predicted = result.before, result.actual, result.predicted
    fact, top = names.noun_of(result.facts), before.top_label
    facts = names.removed_text(result.facts, result.prediction)
    first, last = names.amount_text(before), names.amount_text(actual)
    change = f"goes from {first} to {last}" if first != last else f"stays at {first}"
    if predicted is not None:
        same = predicted.top_answer in ("", actual.top_answer)  # empty: not known
        said = "" if same else f", and {predicted.top_label} as the top answer"
        change += f"; the estimate was {names.amount_text(predicted)}{said}"
    if result.found:
        said = names.ended(f"to {actual.top_label}")
        yield f"Without {facts}, the top answer changes from {top} {said}"
    else:
        spent = units.count(result.n_retrainings, "retraining")
        yield f"No set of {fact}s changed the top answer, {top}, in {spent}."
        yield f"The answer is closest to changing without {facts}."
    yield f"The {names.output_noun(before)} of {top} {change}."
    if not result.found and result.limit_reached:
        yield "Try a larger budget."
    if result.found and len(result.removed) > 1:
        proven = f"Every {fact} is needed: with any one put back, retraining keeps the answer."
        unproven = f"The budget was too small to check whether each {fact} is needed."
        yield proven if result.minimal else unproven
        if result.limit_reached:
            spent = units.count(result.n_retrainings, "retraining")
            yield (
                f"The search reached its limit after {spent}: this is the smallest set found so "
                "far, and a smaller one may exist."
            )


def _replaced(result: Smallest) -> Iterator[str]:
    """Which facts of the set replace each other."""
    fact = names.noun_of(result.facts)
    rival = result.actual.top_label if result.found else "the strongest rival"
    for group in result.interchangeable:
        ids, n_facts = ", ".join(map(str, group.fact_ids)), len(group.fact_ids)
        all_of_them = n_facts == len(result.removed)
        which = f"These {n_facts} {fact}s" if all_of_them else f"{fact.capitalize()}s {ids}"
        yield (
            f"{which} replace each other. Without all of them, the margin to {rival} falls by "
            f"{units.number(group.fall)}. Without one of them at a time, it falls by only "
            f"{units.number(group.sum_of_single)} in total."
        )


def smallest_tables(result: Smallest, most: int | None = None) -> Iterator[Table]:
    """All tables of a result."""
    yield names.removal_table(result)
    if result.top_answers:
        yield names.answers_table(result)
    unit, facts = names.output_unit(result.before), result.facts

    def values(standings: list[Standing | None]) -> list[Any]:
        return [None if each is None else each.value for each in standings]

    def tops(standings: list[Standing | None]) -> list[Cell | None]:
        cells = [
            None if each is None else names.top_cell(each, result.before) for each in standings
        ]
        return [cell if cell and cell.tone else None for cell in cells]

    alone, kept = [fact.alone for fact in facts], [fact.kept for fact in facts]
    columns = [
        *names.fact_columns(facts),
        (Column("source", "source"), [fact.source for fact in facts]),
        (Column("alone", "without it alone", unit), values(alone)),
        (Column("alone_top", "top answer"), tops(alone)),
        (Column("kept", "without the others", unit), values(kept)),
        (Column("kept_top", "top answer"), tops(kept)),
    ]
    yield Table.by_columns("facts", f"The {names.noun_of(facts)}s", columns, most=most)
