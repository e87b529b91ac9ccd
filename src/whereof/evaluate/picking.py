"""Which predictions of a case are evaluated."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.sample import Sample
from whereof.explain import Asked, ExplainOptions, Question, Situation, Trained, situate
from whereof.explain._adjacent import find_adjacent
from whereof.explain._naming import find_prediction
from whereof.files import find_questions
from whereof.retrain import Case

_OPTIONS = ExplainOptions()


def pick(case: Case, options: EvaluateOptions, threads: int | None = None) -> Sample:
    """The predictions that options ask for: objects of a split's queries, or lines of a file.

    Each distinct triple comes once. With a limit, so many are drawn by the options' seed, the same
    queries in every case, and kept in the order of their appearance.
    """
    trained, wanted = case.trained, options.predictions
    questions = find_questions(trained, wanted, options.split, None, "object")
    found: dict[tuple[int, int, int, str], tuple[int, Situation]] = {}
    others = list[int]()
    for number in _order(len(questions), options):
        situation = _situation(trained, questions[number], wanted)
        if situation is None:
            continue
        if (n_adjacent := _unasked(situation, options)) is not None:
            others.append(n_adjacent)
            continue
        found.setdefault(_key(situation), (number, situation))
        if len(found) == options.limit:
            break
    if not found:
        raise _nothing(options, others)
    in_order = sorted(found.values(), key=lambda each: each[0])
    situations = tuple(situation for _, situation in in_order)
    return Sample(case, situations, threads, options.seed)


def _order(n_questions: int, options: EvaluateOptions) -> Sequence[int] | Iterator[int]:
    """As they come or, with a limit, at random."""
    if options.limit is None:
        return range(n_questions)
    return map(int, np.random.default_rng(options.seed).permutation(n_questions))


def _situation(trained: Trained, question: Question, wanted: str) -> Situation | None:
    """A question's prediction; None for a query of a split that has no new answer."""
    asked, from_file = question.places, not isinstance(question.places, Asked)
    try:
        if not isinstance(asked, Asked):
            asked = find_prediction(trained, asked, _OPTIONS)
        situation = situate(trained, asked, trained.all_candidates(asked.asks))
    except WhereofError as error:
        if from_file:
            raise WhereofError(f"{Path(wanted)}:{question.line}: {error}") from None
        return None
    # Scores that found the answer are not kept: a sample may be large.
    whole = Asked(asked.given, asked.relation, asked.asks, situation.target)
    return situate(trained, whole, situation.contest.candidates)


def _unasked(situation: Situation, options: EvaluateOptions) -> int | None:
    """How many adjacent facts a prediction has, if not as many as are asked for; None if so."""
    least, most = options.least_adjacent, options.most_adjacent
    if least is None and most is None:
        return None
    n_adjacent = len(find_adjacent(situation))
    is_asked = (least or 0) <= n_adjacent and (most is None or n_adjacent <= most)
    return None if is_asked else n_adjacent


def _nothing(options: EvaluateOptions, others: Sequence[int]) -> WhereofError:
    """others: adjacent facts of predictions that were not asked for."""
    least, most = options.least_adjacent, options.most_adjacent
    if others:
        asked = f"{least} or more" if most is None else f"{least or 0} to {most}"
        return WhereofError(
            f"no prediction has {asked} adjacent facts; they have {min(others)} to {max(others)}"
        )
    return WhereofError(
        "no query has an answer that is not known from training or validation; "
        "evaluate true predictions, or those of a file"
    )


def _key(situation: Situation) -> tuple[int, int, int, str]:
    return (situation.subject, situation.relation, situation.object, situation.contest.asks)
