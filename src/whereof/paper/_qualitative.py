"""The paper's examples of explanations on FB15k-237, looked up by label, and ours beside them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whereof.api import Run
from whereof.errors import WhereofError
from whereof.events import Events, Note
from whereof.paper._records import Figure, Row, Table
from whereof.paper._results import Document, Results, make_table

if TYPE_CHECKING:
    from whereof.explain.explanation import ExplainedFact, Explanation

_SHOWN = 3


@dataclass(frozen=True)
class Example:
    """A prediction that the paper explains, and the fact that it gives, by labels.

    The fact has the prediction's relation and object.
    """

    subject: str
    relation: str
    object: str
    paper: str
    """The subject of the paper's fact."""


EXAMPLES = (
    Example(
        "Lycoming County",
        "/location/statistical_region/rent50_2./measurement_unit/dated_money_value/currency",
        "United States Dollar",
        "Delaware County",
    ),
    Example("Bandai", "/business/business_operation/industry", "Video game", "Midway Games"),
    Example(
        "Inception",
        "/film/film/release_date_s./film/film_regional_release_date/film_release_region",
        "Denmark-GB",  # so the labels have it
        "Bird",
    ),
)

_PARTS = ("removal-distmult", "lazy-distmult")
"""Whose runs explain the examples."""


def explain_examples(part: str, dataset: str, run: Run, events: Events) -> list[Document]:
    """What a part's run says of the paper's examples; of parts without any, nothing.

    Those that are not in the data, such as all of them where it has no labels, are left out.
    """
    found, lacking = list[Document](), list[str]()
    for example in EXAMPLES if dataset == "fb15k-237" and part in _PARTS else ():
        try:
            found.append(_explained(run, example))
        except WhereofError as error:
            lacking.append(str(error))
    if lacking:
        events.emit(
            Note(
                f"{len(lacking)} of the paper's {len(EXAMPLES)} examples are left out: {lacking[0]}"
            )
        )
    return found


def _explained(run: Run, example: Example) -> Document:
    """Our first facts, and where the paper's stands among all adjacent ones."""
    found = run.explain(example.subject, example.relation, example.object, top=None)
    asked = found.prediction
    return {
        "prediction": [asked.subject, asked.relation, asked.object],
        "labels": asked.labels,
        "probability": asked.probability,
        "rank": asked.rank,
        "n_adjacent": found.n_adjacent,
        "facts": [_fact(fact) for fact in found.facts[:_SHOWN]],
        "paper": [_fact(fact) for fact in _papers(found, example)],
    }


def _papers(found: "Explanation", example: Example) -> Iterator["ExplainedFact"]:
    """Training facts that read as the paper's does: a label may stand for several entities."""
    asked = found.prediction
    for fact in found.facts:
        same = (fact.relation, fact.object) == (asked.relation, asked.object)
        if same and fact.labels["subject"] == example.paper:
            yield fact


def _fact(fact: "ExplainedFact") -> Document:
    return {
        "fact_id": fact.fact_id,
        "fact": [fact.subject, fact.relation, fact.object],
        "labels": fact.labels,
        "rank": fact.rank,
        "influence": fact.influence,
    }


def qualitative_table(results: Results) -> Table | None:
    """The first facts of every example by both trainings, then the paper's."""
    parts = [results.parts[name] for name in _PARTS if name in results.parts]
    rows = [
        row
        for number in range(len(EXAMPLES))
        for part in parts
        for document in part.get("qualitative", ())[number : number + 1]
        for row in _rows(document, part["evaluation"]["config"])
    ]
    about = (
        "DistMult. What rollback ranks first for the predictions that the paper shows, and where "
        "the fact that it gives stands in our ranking. Influence is on the probability."
    )
    columns = ("probability", "rank", "of", "influence")
    heads = "prediction training whose fact"
    return make_table("qualitative", "The paper's examples", about, heads, columns, rows)


def _rows(document: Document, config: Document) -> Iterator[Row]:
    training = f"{config['optimizer']}, credit={config['credit']}"
    prediction = _words(document["prediction"], document["labels"])
    shown = [("ours", fact) for fact in document["facts"]]
    shown += [("paper's", fact) for fact in document["paper"]]
    for whose, fact in shown:
        figures = (
            Figure(document["probability"], unit="number"),
            Figure(fact["rank"], unit="facts"),
            Figure(document["n_adjacent"], unit="facts"),
            Figure(fact["influence"], unit="number"),
        )
        names = prediction, training, whose, _words(fact["fact"], fact["labels"])
        yield Row(names, figures)


def _words(names: list[str], labels: Document) -> str:
    return f"{labels['subject']} - {short_relation(names[1])} - {labels['object']}"


def short_relation(name: str | None) -> str:
    """The last word of a path: `currency` for /location/.../currency."""
    return (name or "").rsplit("/", 1)[-1].replace("_", " ")
