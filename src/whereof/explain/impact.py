"""The impact of a fact: the predictions that it supports, and those that it opposes."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whereof.errors import WhereofError
from whereof.events import Advanced, Events
from whereof.explain.explain import describe_fact, name_prediction, score_answer
from whereof.explain.explanation import NamedFact, NamedPrediction
from whereof.explain.facts import find_facts, name_notes
from whereof.explain.method import Aim, Context, Method, Sets, check_finite, get_method, prepare
from whereof.explain.methods.rollback import roll_back_rows
from whereof.explain.options import ImpactOptions
from whereof.predict.prediction import Listed, Prediction, find_predictions
from whereof.predict.predictions import Predictions
from whereof.predict.scored import Standing, Standings, Trained, name_standings
from whereof.records import RecordTables, as_plain
from whereof.registry import render
from whereof.run.reliability import Claims, measure_command
from whereof.types import OBJECT, RELATION, SUBJECT, FactIds


@dataclass(frozen=True, kw_only=True)
class ImpactedPrediction(NamedPrediction):
    """A prediction, and what a fact does to it."""

    influence: float
    """The probability, or the rating, with all facts minus that without the fact."""
    without: Standing
    """The standing without the fact, as estimated."""
    top_answer_changes: bool | None
    """Whether the top answer is another one without the fact; None if the estimate does not say."""
    before: Standing | None = None
    actual: Standing | None = None
    """With `verify`: as retrained with all facts, the control, and without the fact."""
    claim: str | None = None
    """With `verify`: whether the estimate came true: confirmed, partly confirmed or refuted."""


@dataclass(frozen=True)
class Impact(RecordTables):
    """What facts do to predictions, if they are removed together.

    All of it is estimated, except for what retraining shows with `verify`.
    """

    main_part = "predictions"

    facts: tuple[NamedFact, ...]
    predictions: tuple[ImpactedPrediction, ...]
    """Those with the largest influence first."""
    n_predictions: int
    """Number of predictions that were looked at."""
    n_adjacent: int
    """Number of those that share an entity or the relation with a fact; only these are scored."""
    n_supported: int
    n_opposed: int
    n_top_changes: int | None
    """Number of predictions with another top answer without the facts; None if not known."""
    method: str
    seconds: float
    control_matches_run: bool | None = None
    """Whether retraining with all facts gives the stored run; None without `verify`."""
    n_retrainings: int = 0
    n_known: int = 0
    """Number of retrainings that were stored already."""
    engine: str | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof impact --json` prints."""
        return dict(as_plain(self))

    def __str__(self) -> str:
        """The facts, and what they do to predictions, in words."""
        return str(render("impact-words", self))


def find_impact(
    trained: Trained,
    wanted: Sequence[Any],
    options: ImpactOptions,
    events: Events,
    claims: Claims | None = None,
    run: str | None = None,
) -> Impact:
    """What the removal of some facts together does to predictions.

    wanted: ids or names, such as the words of one fact; claims: how often those of the method come
    true; None if unknown. run: the folder; None if `whereof evaluate` cannot measure it.
    """
    start, method = time.perf_counter(), get_method(options.method)
    method.check_groups(trained)
    fact_ids = find_facts(trained, [wanted], names_win=True)
    if not len(fact_ids):
        raise WhereofError("no fact is named; give its id, or its names")
    every = [*_find_predictions(trained, fact_ids, options, events)]
    adjacent = _adjacent(trained, every, fact_ids)
    near = [each for each, is_near in zip(every, adjacent, strict=True) if is_near]
    before = Predictions.of(trained, near).stand(trained.parameters)
    after = _stand_without(trained, near, fact_ids, method, events)
    value = "score" if trained.config.rated else "probability"
    influences = before[value] - after[value]
    check_finite(influences)
    signed = -influences if options.opposing else influences
    order = np.argsort(-signed, kind="stable")
    order = order[signed[order] > 0][: None if options.top == "all" else int(options.top)]
    says_tops = claims is not None and claims.believable
    changes = _top_changes(before, after) if says_tops else None
    own = _notes(trained, options, claims, run, len(order))
    notes = (*name_notes(trained, wanted, fact_ids), *method.notes(trained), *own)
    named = name_standings(trained, after[order])
    facts = (NamedFact(**describe_fact(trained.dataset, fact)) for fact in fact_ids.tolist())
    found = (
        ImpactedPrediction(
            **vars(name_prediction(trained.score(near[at]))),
            influence=float(influences[at]),
            without=without,
            top_answer_changes=None if changes is None else bool(changes[at]),
        )
        for at, without in zip(order.tolist(), named, strict=True)
    )
    return Impact(
        facts=tuple(facts),
        predictions=tuple(found),
        n_predictions=len(every),
        n_adjacent=len(near),
        n_supported=int((influences > 0).sum()),
        n_opposed=int((influences < 0).sum()),
        n_top_changes=None if changes is None else int(changes.sum()),
        method=method.name,
        seconds=time.perf_counter() - start,
        notes=notes,
    )


def _notes(
    trained: Trained,
    options: ImpactOptions,
    claims: Claims | None,
    run: str | None,
    n_listed: int,
) -> Iterator[str]:
    """What the impact leaves out, and how to get it."""
    if _only_own_queries(trained, options):
        other = next(it for it in ("valid", "train") if len(getattr(trained.dataset, it)))
        yield (
            f"split {options.split} has no facts, so Whereof asked only the queries that the given "
            f"facts answer; --split {other} adds the queries of that split"
        )
    if options.verify:
        if not n_listed:
            yield "nothing was retrained: there is no prediction to check"
    elif claims is not None and claims.n_announced is not None:
        if not claims.believable:
            came_true = f"{claims.n_true} of {claims.n_announced} announced ones came true"
            yield f"new top answers are not shown: in this run, {came_true}, too few to rely on"
    elif run is not None:
        yield (
            "new top answers are not shown, because their reliability is not measured; to measure "
            f"it, run `{measure_command(run)}`"
        )


def _find_predictions(
    trained: Trained, fact_ids: FactIds, options: ImpactOptions, events: Events
) -> Iterator[Prediction]:
    """The predictions that the options name, of both sides if the run predicts subjects.

    Top answers include those to the queries that the facts themselves answer.
    """
    wanted = options.predictions, options.split, options.limit
    sides = ["object"]
    if trained.config.inverse and options.predictions in ("top", "true"):
        sides.append("subject")
    listed = list[Listed]()
    if not _only_own_queries(trained, options):
        listed = [each for side in sides for each in find_predictions(trained, *wanted, side)]
    if options.predictions == "top":
        facts = trained.dataset.train[fact_ids].tolist()
        own = (Prediction(s, r, o, side).answered(None) for s, r, o in facts for side in sides)
        known = {each.asked for each in listed}
        listed += (Listed(0, each) for each in dict.fromkeys(own) if each not in known)
    for number, each in enumerate(listed, 1):
        try:
            asked = each.find(trained)
            found = score_answer(trained, asked).prediction
        except WhereofError as error:
            if options.predictions in ("top", "true"):  # every answer is known
                continue
            raise WhereofError(f"{Path(options.predictions)}:{each.line}: {error}") from None
        if number % 100 == 0:
            events.emit(Advanced(number, len(listed), "predictions"))
        yield found


def _only_own_queries(trained: Trained, options: ImpactOptions) -> bool:
    """Whether the split has no queries, so those that the facts themselves answer are left."""
    return options.predictions == "top" and not len(getattr(trained.dataset, options.split))


def _adjacent(
    trained: Trained, predictions: Sequence[Prediction], fact_ids: FactIds
) -> NDArray[np.bool_]:
    """(n,) whether each prediction shares an entity or the relation with one of the facts."""
    asked = np.array([each.triple for each in predictions], np.int64).reshape(-1, 3)
    facts = trained.dataset.train[fact_ids]
    ends = np.unique(facts[:, [SUBJECT, OBJECT]])
    near = np.isin(asked[:, [SUBJECT, OBJECT]], ends).any(axis=1)
    if not trained.dataset.two_way:
        near |= np.isin(asked[:, RELATION], facts[:, RELATION])
    return np.asarray(near)


def _stand_without(
    trained: Trained,
    predictions: Sequence[Prediction],
    fact_ids: FactIds,
    method: Method,
    events: Events,
) -> Standings:
    """(n,) standings of predictions without the facts; by rollback, all of them at once."""
    asked = Predictions.of(trained, predictions)
    if "trace" in method.needs or not predictions:
        return asked.stand(roll_back_rows(trained, fact_ids))
    scored = [trained.score(each) for each in predictions]
    context = Context(Aim.of_options(scored[0]), rivals=1)
    prepared = prepare(method, trained, predictions, context, events)
    sets = Sets.of([fact_ids])
    removed = (
        method.remove(each, sets, replace(context, prepared=prepared[each.prediction]))
        for each in scored
    )
    return np.concatenate([each.standings for each in removed])


def _top_changes(before: Standings, after: Standings) -> Any:
    """(n,) whether the top answers differ; None if the estimate does not have them."""
    if (after["top"] < 0).any():
        return None
    return before["top"] != after["top"]
