"""The impact of facts on predictions: in words and as a table."""

from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from whereof.explain.impact import Impact
from whereof.present import names
from whereof.present.terminal import heading, on_one_line, show
from whereof.table import Column, Table
from whereof.units import count, seconds


def impact_words(impact: Impact) -> str:
    """How many predictions the facts support and oppose, and how many top answers change."""
    noun = names.noun_of(impact.facts)
    fact = f"The {noun} supports" if len(impact.facts) == 1 else f"The {noun}s together support"
    oppose = "opposes" if len(impact.facts) == 1 else "oppose"
    words = (
        f"{fact} {impact.n_supported:,} and {oppose} {impact.n_opposed:,} of "
        f"{count(impact.n_predictions, 'prediction')}, as estimated."
    )
    if impact.n_top_changes is not None:
        words += f" Without {names.these_facts(len(impact.facts), noun)}, "
        words += f"{count(impact.n_top_changes, 'top answer')} would change."
    return words


def impact_table(impact: Impact, most: int | None = None) -> Table:
    """The predictions with the largest influence."""
    found = impact.predictions
    places = names.places_of(found[0]) if found else []
    unit = names.output_unit(found[0], "probability") if found else "probability"
    output = names.output_noun(found[0]) if found else "probability"
    columns: list[tuple[Column, list[Any]]] = [
        *(
            (Column(it, names.place_noun(found[0], it)), [names.label_of(p, it) for p in found])
            for it in places
        ),
        (Column("asks", "predicts"), [each.asks for each in found]),
        (Column("value", output, unit), [each.value for each in found]),
        (Column("influence", "estimated influence", "influence"), [p.influence for p in found]),
        (Column("without", "estimated without", unit), [p.without.value for p in found]),
        (
            Column("top", "new top answer"),
            [names.top_cell(p.without, p) if p.top_answer_changes else None for p in found],
        ),
    ]
    return Table.by_columns("predictions", "The predictions", columns, most=most)


def show_impact(out: Console, impact: Impact) -> None:
    """Print the impact."""
    for fact in impact.facts[:3]:
        show(out, Text(on_one_line(f"{fact.fact_id}  {names.fact_text(fact)}"), style="bold"))
    show(out, impact_words(impact))
    if impact.predictions:
        table = impact_table(impact)
        show(out, heading(table.title), replace(table, title=""))
    took = f"{count(impact.n_adjacent, 'prediction')} with something in common, in "
    show(out, *impact.notes, f"{took}{seconds(impact.seconds)}; method {impact.method}")
    show(out, "The numbers are estimates, not confirmed by retraining.")
