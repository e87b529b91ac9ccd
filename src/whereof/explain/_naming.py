"""From names to ids: predictions, what is explained of them, candidates and facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whereof.data import Dataset
from whereof.errors import WhereofError
from whereof.explain._options import ExplainOptions, as_list
from whereof.explain._situation import Aim, Contest, Situation
from whereof.explain._trained import Candidates, Trained
from whereof.predict import OPEN
from whereof.types import OBJECT, SUBJECT, FactIds


@dataclass(frozen=True, slots=True)
class Asked:
    """A prediction by ids; None leaves the answer open."""

    given: int
    """The entity that is not asked for."""
    relation: int
    asks: str
    target: int | None


def find_situation(trained: Trained, names: Sequence[Any], options: ExplainOptions) -> Situation:
    """The prediction that names spell; an open place stands for its top answer."""
    asked = find_prediction(trained, names, options)
    candidates = find_candidates(trained, asked.asks, asked.relation, options.candidates)
    return situate(trained, asked, candidates)


def situate(trained: Trained, asked: Asked, candidates: Candidates) -> Situation:
    """A prediction among its candidates."""
    contest = Contest(trained, asked.given, asked.relation, asked.asks, candidates)
    if asked.target is None:
        return contest.top_situation()
    return Situation(contest, asked.target)


def find_prediction(trained: Trained, names: Sequence[Any], options: ExplainOptions) -> Asked:
    """The ids of what names spell."""
    data = trained.dataset
    spelled = [OPEN if name is None else str(name) for name in names]
    if len(spelled) != (2 if data.two_way else 3):
        shape = "SUBJECT OBJECT" if data.two_way else "SUBJECT RELATION OBJECT"
        raise WhereofError(f"a prediction is {shape}; got {' '.join(spelled) or 'nothing'}")
    subject, object_ = spelled[0], spelled[-1]
    asks = "subject" if subject == OPEN else options.asks
    check_asks(trained, asks)
    if subject == object_ == OPEN or (object_ == OPEN and asks == "subject"):
        raise WhereofError("leave only the place open that is asked for")
    if not data.two_way and spelled[1] == OPEN:
        raise WhereofError("relations cannot be left open; name one")
    relation = 0 if data.two_way else data.relations.find(spelled[1])
    sides = ((subject, data.subjects), (object_, data.objects))
    (given, among), (asked, place) = sides if asks == "object" else sides[::-1]
    return Asked(
        data.entities.find(given, among),
        relation,
        asks,
        None if asked == OPEN else data.entities.find(asked, place),
    )


def check_asks(trained: Trained, asks: str) -> None:
    """Refuse to ask for subjects where no inverse relation was learned."""
    if asks == "subject" and not trained.config.inverse:
        raise WhereofError("this run cannot be asked for subjects; train one with --inverse")


def find_aim(situation: Situation, options: ExplainOptions) -> Aim:
    """What influence is on: the answer, or the answer rather than another one."""
    if options.instead_of is not None:
        return Aim("log_ratio", _find_rival(situation, options.instead_of))
    if not situation.trained.learned_ratings:
        return Aim(options.of or "probability")
    if options.of in ("probability", "loss"):
        raise WhereofError(f"this run learned ratings, which have no {options.of}; ask of score")
    return Aim("score")


def _find_rival(situation: Situation, name: str) -> int:
    """The entity that the prediction is to be compared with."""
    data, asks = situation.trained.dataset, situation.contest.asks
    rival = data.entities.find(name, data.subjects if asks == "subject" else data.objects)
    if rival == situation.target:
        raise WhereofError(f"{name!r} is the prediction itself; name another answer")
    return Situation(situation.contest, rival).target


def find_candidates(trained: Trained, asks: str, relation: int, wanted: Any) -> Candidates:
    """The entities that compete for an answer, by a word or by names."""
    data = trained.dataset
    if wanted is None or wanted == f"{asks}s":
        return trained.all_candidates(asks)
    words: dict[str, range] = {
        "objects": data.objects,
        "subjects": data.subjects,
        "entities": range(data.n_entities),
    }
    if isinstance(wanted, str) and wanted in words:
        return trained.candidates(words[wanted])
    if wanted == "seen":
        facts = trained.adjacency.facts_of_relation(relation)
        mine = data.train if data.two_way else data.train[facts]
        column = SUBJECT if asks == "subject" else OBJECT
        return trained.candidates(mine[:, column].astype(np.int64))
    names = wanted.split(",") if isinstance(wanted, str) else wanted
    ids = [data.entities.find(str(name).strip()) for name in names]
    if len(set(ids)) < 2:
        raise WhereofError("candidates compete with each other: name 2 or more")
    return trained.candidates(np.array(ids))


def find_facts(trained: Trained, wanted: Any) -> FactIds:
    """Training facts by id or by names, each once, in the order given."""
    found = [_find_fact(trained, text) for text in _split_ids(wanted)]
    return np.array(list(dict.fromkeys(found)), np.int64)


def _split_ids(wanted: Any) -> list[Any]:
    """Several ids may stand in one text, by commas or blanks."""
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
    names = _split_names(text, data)
    subject = data.entities.find(names[0], data.subjects)
    object_ = data.entities.find(names[-1], data.objects)
    relation = 0 if data.two_way else data.relations.find(names[1])
    ids = trained.adjacency.facts_of_entity(subject)
    facts = data.train[ids]
    same = (facts == (subject, relation, object_)).all(axis=1)
    if not same.any():
        raise WhereofError(f"{' '.join(names)} is not a training fact")
    return int(ids[same][0])


def _split_names(text: Any, data: Dataset) -> list[str]:
    """The names of a fact, however they are kept apart."""
    size = 2 if data.two_way else 3
    if not isinstance(text, str):
        names = [str(name) for name in text] if isinstance(text, list | tuple) else [str(text)]
        ways = [names]
    else:
        ways = [[name.strip() for name in text.split(mark)] for mark in ("\t", ",", None)]
    for names in ways:
        if len(names) == size:
            return names
    shape = "SUBJECT,OBJECT" if data.two_way else "SUBJECT,RELATION,OBJECT"
    raise WhereofError(f"{text!r} is not a fact; give its id, or {shape}")
