"""Facts held out of training, without a loss of entities or relations."""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from whereof.data._dataset import Dataset, Ratings
from whereof.types import OBJECT, RELATION, SUBJECT, Facts

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)


def hold_out(dataset: Dataset, valid: float, test: float, seed: int) -> Dataset:
    """Move these fractions of the training facts to the validation and test facts.

    In an order drawn by the seed, the first fact of every entity and of every relation stays; the
    next ones go, until there are enough. Within a split facts keep the order of the file.
    """
    n_facts = dataset.n_facts
    n_valid, n_test = round(valid * n_facts), round(test * n_facts)
    order = np.argsort(_draws(n_facts, seed), kind="stable")
    free = order[~_first_of_their_names(dataset.train[order], dataset.n_entities)]
    notes = dataset.notes + tuple(
        f"{split}: {fraction:g} of {n_facts} facts is less than one: none is held out"
        for split, fraction, n in (("valid", valid, n_valid), ("test", test, n_test))
        if fraction and not n
    )
    if len(free) < n_valid + n_test:
        notes += (
            f"{len(free)} fact{'s' * (len(free) != 1)} held out, not {n_valid + n_test}: "
            "the others are needed to keep every entity and relation in train",
        )
        n_valid = round(len(free) * n_valid / (n_valid + n_test))
        n_test = len(free) - n_valid
    held = free[: n_valid + n_test]
    kept = np.ones(n_facts, bool)
    kept[held] = False
    rows = (np.flatnonzero(kept), np.sort(held[:n_valid]), np.sort(held[n_valid:]))
    train, valid_facts, test_facts = (dataset.train[these] for these in rows)
    ratings, sources = dataset.ratings, dataset.sources
    return replace(
        dataset,
        train=train,
        valid=valid_facts,
        test=test_facts,
        notes=notes,
        ratings=Ratings(*(ratings.train[these] for these in rows)) if ratings is not None else None,
        sources=sources.take(rows[0]) if sources is not None else None,
    )


def _draws(n_draws: int, seed: int) -> NDArray[np.uint64]:
    """(n_draws,) numbers as SplitMix64 draws them after this seed, the same everywhere."""
    state = np.uint64(seed % 2**64) + np.arange(1, n_draws + 1, dtype=np.uint64) * _STEP
    state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return state ^ state >> np.uint64(31)


def _first_of_their_names(facts: Facts, n_entities: int) -> NDArray[np.bool_]:
    """(n_facts,) whether a fact is the first with its subject, relation or object."""
    first_subject = _first_rows(facts[:, SUBJECT], n_entities)
    first_object = _first_rows(facts[:, OBJECT], n_entities)
    first = np.zeros(len(facts) + 1, bool)
    first[np.minimum(first_subject, first_object)] = True
    first[_first_rows(facts[:, RELATION], int(facts[:, RELATION].max()) + 1)] = True
    return first[:-1]


def _first_rows(ids: NDArray[np.int32], n_ids: int) -> NDArray[np.int64]:
    """(n_ids,) where each id first stands; after the last row, if nowhere."""
    rows = np.full(n_ids, len(ids))
    # Of values assigned to one place, the last one stays.
    rows[ids[::-1]] = np.arange(len(ids))[::-1]
    return rows
