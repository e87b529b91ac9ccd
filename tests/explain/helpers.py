"""Small runs of random arrays, and comparison of an explanation with the definition."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import whereof
from explain.oracle import Array, Ask, Oracle, quantity, rank_of
from whereof.explain.explain import find_scored
from whereof.explain.explanation import Explanation
from whereof.explain.method import Aim, Context, Sets, get_method, prepare
from whereof.explain.methods.rollback import Rollback
from whereof.explain.options import ExplainOptions
from whereof.models import MODELS

THREE_WAY = sorted(name for name, model in MODELS.items() if not model.two_way)
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}


def random_run(
    model: str,
    seed: int = 0,
    *,
    n_entities: int = 6,
    n_relations: int = 2,
    n_facts: int = 60,
    dim: int = 4,
    precision: str = "float64",
    size: float = 0.3,
    spread: float = 0.0,
    inverse: bool = True,
    loss: str = "softmax",
) -> whereof.Run:
    """Random rows, facts and traces.

    Traces are `size` times as large as the rows; with `spread`, each of a size of its own, up to
    that many powers of ten smaller.
    """
    rng, declared = np.random.default_rng(seed), MODELS[model]
    widths = declared.widths(dim)
    n_relations = 0 if declared.two_way else n_relations
    facts = rng.integers(0, n_entities, (n_facts, 3))
    facts[:, 1] = rng.integers(0, max(n_relations, 1), n_facts)
    parts = [widths.entity, widths.relation, widths.entity, widths.relation][: 3 + inverse]
    sizes = size * 10.0 ** -rng.uniform(0, spread, (n_facts, 1))
    slots = [(sizes * rng.normal(size=(n_facts, part))).astype(precision) for part in parts]
    slots[2][facts[:, 0] == facts[:, 2]] = 0  # a self-loop changes one row, once
    n_rows = max(n_relations, 1) * (1 + inverse)
    return whereof.Run.from_arrays(
        model=model,
        entities=[f"e{i}" for i in range(n_entities)],
        relations=[f"r{i}" for i in range(n_relations)] or None,
        facts=facts if n_relations else facts[:, [0, 2]],
        entity_rows=rng.normal(size=(n_entities, widths.entity)).astype(precision),
        relation_rows=rng.normal(size=(n_rows, widths.relation)).astype(precision),
        trace=tuple(slots),
        loss=loss,
    )


def with_facts(run: whereof.Run, facts: Array, trace: Array) -> whereof.Run:
    """A run of arrays with other facts and another trace."""
    return whereof.Run.from_arrays(
        model=run.config.model,
        entities=run.dataset.entities.names,
        relations=run.dataset.relations.names or None,
        facts=facts if run.dataset.n_relations else facts[:, [0, 2]],
        entity_rows=run.entity_rows,
        relation_rows=run.relation_rows,
        trace=trace,
    )


def sets_of(sets: Sequence[Sequence[int]]) -> Sets:
    """Facts to be rolled back together, set by set."""
    flat = np.array([fact for each in sets for fact in each], np.int64)
    return Sets(flat, np.append(0, np.cumsum([len(each) for each in sets])).astype(np.int64))


def names_of(run: whereof.Run, ask: Ask) -> tuple[str, ...]:
    return run.dataset.fact_names((ask.subject, ask.relation, ask.object))


def rollback_of(run: whereof.Run, names: Sequence[str], of: str, **options: Any) -> Rollback:
    """The rollback behind an explanation."""
    return Rollback(find_scored(run._trained, names, ExplainOptions(**options)), Aim(of))


def random_asks(run: whereof.Run, n: int, seed: int = 0) -> list[Ask]:
    """Random predictions; half of them predict the subject if the run can."""
    data, rng = run.dataset, np.random.default_rng(seed)
    asks = ["object", "subject"] if run.config.inverse else ["object"]
    return [
        Ask(
            int(rng.choice(data.subjects)),
            int(rng.integers(max(data.n_relations, 1))),
            int(rng.choice(data.objects)),
            data.objects if asks[i % len(asks)] == "object" else data.subjects,
            asks[i % len(asks)],
        )
        for i in range(n)
    ]


def check_all_facts(run: whereof.Run, ask: Ask, of: str, tolerance: float, **options: Any) -> None:
    """Check that every adjacent fact is listed once, in order, with the values of the
    definition."""
    oracle, options = Oracle(run), {"method": "rollback", **options}
    found = run.explain(*names_of(run, ask), of=of, asks=ask.asks, top=None, **options)
    adjacent = oracle.adjacent(ask)
    assert sorted(fact.fact_id for fact in found.facts) == adjacent
    assert found.n_adjacent == len(adjacent)
    n_first = found.n_history or 0  # the user's own
    assert all("subject" in fact.parts for fact in found.facts[:n_first])
    order = [(at >= n_first, -fact.influence, fact.fact_id) for at, fact in enumerate(found.facts)]
    assert order == sorted(order)
    assert [fact.rank for fact in found.facts] == list(range(1, len(order) + 1))
    before = oracle.before(ask)
    after = oracle.scores(ask, [[fact.fact_id] for fact in found.facts])
    _check_influences(run, ask, of, found, before, after, tolerance)
    _check_prediction(oracle, ask, found, before, tolerance)
    _check_top_answers(oracle, ask, found, after, tolerance)


def check_close(values: Any, wanted: Any, tolerance: float) -> None:
    """Equal up to a part of the size, or of 1 where they are small."""
    np.testing.assert_allclose(values, wanted, rtol=tolerance, atol=tolerance)


def _check_influences(
    run: whereof.Run,
    ask: Ask,
    of: str,
    found: Explanation,
    before: Array,
    after: Array,
    tolerance: float,
) -> None:
    kind = "sigmoid loss" if (of, run.config.loss) == ("loss", "sigmoid") else of
    wanted = quantity(kind, before, ask.place) - quantity(kind, after, ask.place)
    check_close([fact.influence for fact in found.facts], wanted, tolerance)
    without = [fact.probability_without for fact in found.facts]
    if run.config.loss == "squared":
        assert found.prediction.probability is None
        assert without == [None] * len(without)
    else:
        check_close(without, quantity("probability", after, ask.place), tolerance)
        probability = quantity("probability", before, ask.place)
        check_close(found.prediction.probability, probability, tolerance)


def _check_prediction(
    oracle: Oracle, ask: Ask, found: Explanation, before: Array, tolerance: float
) -> None:
    prediction, new = found.prediction, oracle.new(ask)
    check_close(prediction.score, before[ask.place], tolerance)
    assert prediction.rank == rank_of(before, ask.place, new)
    assert prediction.n_candidates == len(ask.candidates)
    best = int(np.where(new, before, -np.inf).argmax())
    assert prediction.top_answer == oracle.run.dataset.entities.name(ask.candidates[best])


def _check_top_answers(
    oracle: Oracle, ask: Ask, found: Explanation, after: Array, tolerance: float
) -> None:
    """Each fact's top answer has the highest score, or one that rounding cannot tell from it."""
    names = [oracle.run.dataset.entities.name(entity) for entity in ask.candidates]
    contenders = np.where(oracle.new(ask), after, -np.inf)
    places = [names.index(str(fact.top_answer_without)) for fact in found.facts]
    reached = contenders[np.arange(len(places)), places]
    assert (reached >= contenders.max(axis=1) - 10 * tolerance).all()
    changes = [fact.top_answer_without != found.prediction.top_answer for fact in found.facts]
    assert [fact.top_answer_changes for fact in found.facts] == changes


def sized_as_strong(
    run: whereof.Run, names: Sequence[str], aim: Aim, asks: str = "object"
) -> Array:
    """(n_facts,) influence by unrolled, with the size of strong facts, as sums over goals have."""
    scored = find_scored(run._trained, tuple(names), ExplainOptions(asks=asks))
    found = prepare(get_method("unrolled"), run._trained, [scored.prediction], Context(aim))
    changes, curve = (found[scored.prediction][name] for name in ("changes", "curve"))
    return run._trained.scorer.scale * curve[0] * changes[-1].astype(np.float64)
