"""The facts of a prediction: those that share something with it, named ones, and their records."""

import csv
from collections.abc import Sequence
from itertools import combinations, compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.data.dataset import Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.explain.explanation import ExplainedFact, NamedPrediction
from whereof.explain.method import Ranked, get_method
from whereof.explain.options import ExplainOptions, as_list
from whereof.predict.prediction import Prediction
from whereof.predict.scored import ScoredPrediction, Trained
from whereof.predict.standing import name_standings
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds

_MOST_PARTS = 12
"""A text with more commas is not split at every choice of them."""
PARTS = ("subject", "relation", "object", "rival")
"""Parts of a prediction that a fact can share; the rival is the other answer of a contrast."""


def find_adjacent(trained: Trained, prediction: Prediction, rival: int | None = None) -> FactIds:
    """All facts that contain the prediction's subject, relation or object, or the rival."""
    entities = (prediction.subject, prediction.object, rival)
    present = [entity for entity in entities if entity is not None]
    return trained.adjacency.adjacent(present, prediction.relation)


def shared_parts(
    trained: Trained, prediction: Prediction, fact_ids: FactIds, rival: int | None = None
) -> NDArray[np.bool_]:
    """(n, 4) which of PARTS each fact shares with a prediction; entities count in both places."""
    data = trained.dataset
    facts = data.train[fact_ids]
    shared = np.zeros((len(facts), len(PARTS)), bool)
    for column, entity in ((0, prediction.subject), (2, prediction.object), (3, rival)):
        if entity is not None:
            shared[:, column] = (facts[:, SUBJECT] == entity) | (facts[:, OBJECT] == entity)
    shared[:, 1] = not data.two_way and facts[:, RELATION] == prediction.relation
    return shared


def filter_facts(
    trained: Trained,
    prediction: Prediction,
    fact_ids: FactIds,
    options: ExplainOptions,
    rival: int | None = None,
) -> FactIds:
    """The facts that pass the filters by method, role, relation and entity."""
    data = trained.dataset
    relations, entities = as_list(options.relation), as_list(options.entity)
    if relations and data.two_way:
        raise WhereofError("two-way data has no relations to choose from; leave out relation")
    if get_method(options.method).same_answer:
        column = SUBJECT if prediction.asks == "subject" else OBJECT
        fact_ids = fact_ids[data.train[fact_ids, column] == prediction.target]
    if options.role is not None:
        shared = shared_parts(trained, prediction, fact_ids, rival)
        several = options.role == "several"
        keep = shared.sum(axis=1) > 1 if several else shared[:, PARTS.index(options.role)]
        fact_ids = fact_ids[keep]
    if relations:
        ids = [data.relations.find(str(name)) for name in relations]
        fact_ids = fact_ids[np.isin(data.train[fact_ids, RELATION], ids)]
    if entities:
        ids = [data.entities.find(str(name)) for name in entities]
        fact_ids = fact_ids[np.isin(data.train[fact_ids][:, [SUBJECT, OBJECT]], ids).any(axis=1)]
    return fact_ids


class Describer:
    """Makes named records for one prediction."""

    def __init__(self, scored: ScoredPrediction, rival: int | None = None) -> None:
        self.scored, self.rival = scored, rival

    def prediction(self) -> NamedPrediction:
        """The prediction with its standing."""
        scored, stands = self.scored, vars(self.scored.standing)
        names = _names(scored.trained.dataset, scored.prediction)
        return NamedPrediction(
            **stands | names | {"labels": names["labels"] | stands["labels"]},
            asks=scored.asks,
            n_candidates=len(scored.candidates.ids),
        )

    def facts(self, fact_ids: FactIds, ranked: Ranked) -> tuple[ExplainedFact, ...]:
        """The listed facts, in order."""
        trained, totals = self.scored.trained, ranked.totals
        shared = shared_parts(trained, self.scored.prediction, fact_ids, self.rival)
        found = []
        for index, fact_id in enumerate(fact_ids.tolist()):
            named, after = describe_fact(trained.dataset, fact_id), self._after(ranked, index)
            named["labels"]["top_answer_without"] = after.pop("label", None)
            parts = tuple(compress(PARTS, shared[index]))
            role = "several" if len(parts) > 1 else "".join(parts) or "none"
            influence = float(ranked.influences[index])
            share = None if totals is None else influence / (totals[influence <= 0] or 1.0)
            ranks = {"influence": influence, "rank": index + 1, "share": share}
            fields: dict[str, Any] = named | after | ranks
            found.append(ExplainedFact(**fields, role=role, parts=parts))
        return tuple(found)

    def _after(self, ranked: Ranked, index: int) -> dict[str, Any]:
        """The fields of the standing without a fact, if the method computes it."""
        if ranked.standings is None:
            return {}
        (stands,) = name_standings(self.scored.trained, ranked.standings[index : index + 1])
        before = self.scored.top if ranked.top_before is None else ranked.top_before
        return {
            "probability_without": stands.probability,
            "score_without": stands.score,
            "top_answer_without": stands.top_answer,
            "top_answer_changes": bool(ranked.standings["top"][index] != before),
            "label": stands.labels["top_answer"],
        }


def describe_fact(data: Dataset, fact_id: int) -> dict[str, Any]:
    """The fields of a `NamedFact`."""
    sources, ratings = data.sources, data.ratings
    return {
        "fact_id": fact_id,
        **_names(data, Prediction(*data.train[fact_id].tolist())),
        "rating": None if ratings is None else float(ratings.train[fact_id]),
        "source": None if sources is None else sources.names[sources.codes[fact_id]],
    }


def _names(data: Dataset, triple: Prediction) -> dict[str, Any]:
    return {**triple.spell(data), "labels": triple.spell(data, Vocabulary.label)}


def find_facts(trained: Trained, wanted: Any) -> FactIds:
    """Training facts given by id or names, each once, in the given order."""
    found = [_find_fact(trained, text) for text in _split_ids(wanted)]
    return np.array(list(dict.fromkeys(found)), np.int64)


def _split_ids(wanted: Any) -> list[Any]:
    """Split a text of several ids, separated by commas or spaces."""
    texts: list[Any] = []
    for item in as_list(wanted):
        parts = str(item).replace(",", " ").split()
        texts += parts if parts and all(part.isdecimal() for part in parts) else [item]
    return texts


def _find_fact(trained: Trained, text: Any) -> int:
    data = trained.dataset
    if str(text).isdecimal():
        if int(text) >= data.n_facts:
            raise WhereofError(f"no fact has id {text}; ids go from 0 to {data.n_facts - 1}")
        return int(text)
    ways = _split_names(text, 2 if data.two_way else 3)
    if not ways:
        shape = "SUBJECT,OBJECT" if data.two_way else "SUBJECT,RELATION,OBJECT"
        raise WhereofError(f"{text!r} is not a fact; give its id, or {shape}")
    matches = [_match(data, names) for names in ways]
    found = {i for places in matches for i in _facts_at(trained, places)}
    if len(found) > 1:
        ids = ", ".join(map(str, sorted(found)))
        raise WhereofError(f"{text!r} matches several facts: {ids}; give the id of one")
    if found:
        return found.pop()
    names, places = max(zip(ways, matches, strict=True), key=lambda way: sum(map(bool, way[1])))
    if all(len(ids) == 1 for ids in places):
        raise WhereofError(f"{' '.join(names)} is not a training fact")
    data.entities.find(names[0], data.subjects)  # raises the error of an unknown name
    data.entities.find(names[-1], data.objects)
    return data.relations.find(names[1])


def _match(data: Dataset, names: Sequence[str]) -> tuple[list[int], list[int], list[int]]:
    """The ids that the names of a fact stand for."""
    return (
        data.entities.matches(names[0], data.subjects),
        [0] if data.two_way else data.relations.matches(names[1]),
        data.entities.matches(names[-1], data.objects),
    )


def _facts_at(trained: Trained, places: Sequence[list[int]]) -> list[int]:
    """The training fact with these names, if each name is unique."""
    if any(len(ids) != 1 for ids in places):
        return []
    fact_ids = trained.adjacency.facts_of_entity(places[0][0])
    same = (trained.dataset.train[fact_ids] == [ids[0] for ids in places]).all(axis=1)
    return [int(i) for i in fact_ids[same][:1]]


def _split_names(text: Any, size: int) -> list[list[str]]:
    """All ways to read a text as the names of a fact: by TAB, in quotes, by commas or blanks.

    A name may contain commas: every choice of commas that gives `size` names is a way.
    """
    if not isinstance(text, str):
        names = [str(name) for name in text] if isinstance(text, list | tuple) else [str(text)]
        return [names] if len(names) == size else []
    if "\t" in text:
        ways = [text.split("\t")]
    else:
        parts = text.split(",")
        cuts = combinations(range(1, len(parts)), size - 1) if len(parts) <= _MOST_PARTS else ()
        ways = [[",".join(parts[a:b]) for a, b in pairwise((0, *cut, len(parts)))] for cut in cuts]
        quoted = next(csv.reader([text], skipinitialspace=True), []) if '"' in text else []
        ways = [quoted, *ways, text.split()]
    stripped = ([name.strip() for name in names] for names in ways)
    return [names for names in stripped if len(names) == size and all(names)]
