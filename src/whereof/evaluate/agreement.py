"""Compare the explanations of one prediction under several seeds."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.evaluate.statistics import spearman
from whereof.events import Events
from whereof.explain.explain import Explainer, find_candidates, find_scored, score_answer
from whereof.explain.explanation import ExplainedFact, Explanation, SeedAgreement
from whereof.explain.options import ExplainOptions
from whereof.retrain.retrainer import Case
from whereof.types import Numbers

_TOP = 10
"""The number of top facts to compare if `top` is not a number."""


def explain_over_seeds(
    cases: Sequence[Case], names: Sequence[Any], options: ExplainOptions, events: Events | None
) -> Explanation:
    """Explain a prediction in the first case, and compare with the same question in the others."""
    start = time.perf_counter()
    asked = find_scored(cases[0].trained, names, options).prediction
    explainers = []
    for case in cases:
        relation = asked.relation
        candidates = find_candidates(case.trained, asked.asks, relation, options.candidates)
        scored = score_answer(case.trained, asked, candidates)
        explainers.append(Explainer(scored, options, case, events=events))
    explanation = explainers[0].explanation(start)
    found = [explainer.influences() for explainer in explainers]
    fact_ids, influences = found[0][0], np.stack([influence for _, influence in found])
    top = options.top if isinstance(options.top, int) else _TOP
    signs = {"both": (1, -1), "True": (-1,)}.get(str(options.opposing), (1,))
    in_top = np.stack(
        [np.any([_are_top(sign * each, top) for sign in signs], axis=0) for each in influences[1:]]
    )
    pairs = [_agreement(*pair) for pair in combinations(influences, 2)]
    known = [each for each in pairs if not np.isnan(each)]
    places = np.searchsorted(fact_ids, [fact.fact_id for fact in explanation.facts])
    agreement = SeedAgreement(
        seeds=tuple(case.seed for case in cases),
        top=top,
        rank_agreement=float(np.mean(known)) if known else None,
        n_facts=len(fact_ids),
        standings=tuple(explainer.scored.standing for explainer in explainers),
    )
    facts = (
        _with_seeds(fact, int(in_top[:, at].sum()), influences[:, at])
        for fact, at in zip(explanation.facts, places.tolist(), strict=True)
    )
    seconds = time.perf_counter() - start
    return replace(explanation, facts=tuple(facts), seeds=agreement, seconds=seconds)


@dataclass(frozen=True)
class Overlap:
    """How far two explanations have the same facts. Facts are compared by name, across runs."""

    n_facts: int
    """Number of facts in both."""
    rank_agreement: float | None
    """Spearman's rank correlation of their influences; None if there are fewer than three."""


def overlap(one: Explanation, other: Explanation) -> Overlap:
    """Compare the facts of two explanations."""
    found = [
        {(fact.subject, fact.relation, fact.object): fact.influence for fact in each.facts}
        for each in (one, other)
    ]
    both = [key for key in found[0] if key in found[1]]
    rho = spearman(*(np.array([side[key] for key in both]) for side in found)) if both[2:] else None
    return Overlap(len(both), None if rho is None or np.isnan(rho) else rho)


def _are_top(influences: Numbers, top: int) -> NDArray[np.bool_]:
    """(n_facts,) which facts are among the strongest of those that support."""
    order = np.argsort(-np.nan_to_num(influences, nan=-np.inf), kind="stable")[:top]
    found = np.zeros(len(influences), bool)
    found[order[influences[order] > 0]] = True
    return found


def _agreement(one: Numbers, other: Numbers) -> float:
    """The rank correlation over the facts that both seeds have a number for."""
    known = ~np.isnan(one) & ~np.isnan(other)
    return spearman(one[known], other[known])


def _with_seeds(fact: ExplainedFact, n_in_top: int, influences: Numbers) -> ExplainedFact:
    known = influences[~np.isnan(influences)]
    return replace(
        fact,
        in_top=n_in_top,
        mean_influence=float(known.mean()) if len(known) else None,
        std_influence=float(known.std(ddof=1)) if len(known) > 1 else None,
    )
