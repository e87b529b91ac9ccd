"""The impact of facts on predictions: in words and as a table."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console
from rich.text import Text

from whereof.explain.impact import Impact, ImpactedPrediction
from whereof.present import names
from whereof.present.terminal import heading, on_one_line, show
from whereof.table import Column, Table
from whereof.units import count, seconds

_SHOWN = 3
"""The most facts to name."""


def impact_words(impact: Impact) -> str:
    """The facts, how many predictions they support and oppose, and what retraining showed."""
    facts = "; ".join(names.fact_text(fact) for fact in impact.facts[:_SHOWN])
    facts += f"; and {len(impact.facts) - _SHOWN} more" * (len(impact.facts) > _SHOWN)
    return " ".join(filter(None, [f"{facts}:", _counts(impact), claims_words(impact)]))


def _counts(impact: Impact) -> str:
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


def claims_words(impact: Impact) -> str:
    """How many estimates came true for the listed predictions; empty without retraining."""
    claims = Counter(each.claim for each in impact.predictions if each.claim is not None)
    if not claims:
        return ""
    kinds = ("confirmed", "partly confirmed", "refuted")
    found = ", ".join(f"{claims[kind]:,} {kind}" for kind in kinds if claims[kind])
    return f"Retraining checked {count(claims.total(), 'estimate')}: {found}."


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
        *(
            _actual_columns(found, unit)
            if impact.n_retrainings
            else _estimated_columns(found, unit)
        ),
    ]
    return Table.by_columns("predictions", "The predictions", columns, most=most)


def _estimated_columns(
    found: Sequence[ImpactedPrediction], unit: str
) -> Iterator[tuple[Column, list[Any]]]:
    yield Column("without", "estimated without", unit), [each.without.value for each in found]
    tops = [names.top_cell(it.without, it) if it.top_answer_changes else None for it in found]
    yield Column("top", "new top answer"), tops


def _actual_columns(
    found: Sequence[ImpactedPrediction], unit: str
) -> Iterator[tuple[Column, list[Any]]]:
    """What retraining showed: the influence is the difference to the control."""
    both = [(it.before, it.actual) for it in found if it.before and it.actual]
    actual = [before.value - after.value for before, after in both]
    yield Column("actual_influence", "actual influence", "influence"), actual
    yield Column("actual", "actual without", unit), [after.value for _, after in both]
    yield Column("claim", "estimate is"), [each.claim for each in found]
    tops = [
        names.top_cell(after, before) if after.top_answer != before.top_answer else None
        for before, after in both
    ]
    yield Column("top", "new top answer"), tops


def show_impact(out: Console, impact: Impact, *, can_verify: bool = True) -> None:
    """Print the impact. can_verify: whether the command line can retrain the run."""
    for fact in impact.facts[:_SHOWN]:
        show(out, Text(on_one_line(f"{fact.fact_id}  {names.fact_text(fact)}"), style="bold"))
    show(out, _counts(impact), *filter(None, [claims_words(impact)]))
    if impact.predictions:
        table = impact_table(impact)
        show(out, heading(table.title), replace(table, title=""))
    lists_opposing = any(each.influence < 0 for each in impact.predictions)
    offers_opposing = impact.n_opposed > 0 and not lists_opposing
    if offers_opposing and not impact.n_supported:
        opposed = count(impact.n_opposed, "prediction")
        show(out, f"There is nothing to list; --opposing lists the {opposed} that it opposes.")
    near = f"{count(impact.n_adjacent, 'prediction')} with something in common"
    if impact.n_retrainings:
        noun = names.noun_of(impact.facts)
        these = names.these_facts(len(impact.facts), noun)
        said = f"actual influence: retrained with all {noun}s, minus retrained without {these}"
        effort, more = f"{near}; {names.effort_text(impact)}", []
    else:
        said = "The numbers are estimates, not confirmed by retraining."
        effort = f"{near}, in {seconds(impact.seconds)}"
        more = ["--verify"] * (can_verify and bool(impact.predictions))
    more += ["--opposing"] * offers_opposing + ["--json"]
    show(out, *impact.notes, f"{effort}; method {impact.method}", said, f"next: {', '.join(more)}")
