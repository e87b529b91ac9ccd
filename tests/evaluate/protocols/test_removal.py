"""Removal, compared with plain loops written from the paper's protocol."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whereof
from evaluate.helpers import Naive, case_of
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.sample import pick

LIMIT = 6


@pytest.fixture(scope="module")
def run(nations: whereof.Run) -> whereof.Run:
    return nations


@pytest.fixture(scope="module")
def evaluation(run: whereof.Run) -> whereof.Evaluation:
    return run.evaluate(
        methods="rollback,random,gradient-dot", k="1,5,all", limit=LIMIT, protocols="removal"
    )


def explained(run: whereof.Run, names: tuple[str, ...], method: str) -> list[tuple[int, float]]:
    found = run.explain(*names, method=method, top=None, seed=run.config.seed)
    return [(fact.fact_id, fact.influence) for fact in found.facts]


def naive_set(run: whereof.Run, names: tuple[str, ...], method: str, k: Any) -> list[int]:
    ranked = explained(run, names, method)
    if k != "all":
        return [fact for fact, _ in ranked[:k]]
    if method == "random":
        n_supporting = sum(worth > 0 for _, worth in explained(run, names, "rollback"))
        return [fact for fact, _ in ranked[:n_supporting]]
    return [fact for fact, worth in ranked if worth > 0]


def test_figures_are_those_of_a_plain_loop(
    run: whereof.Run, evaluation: whereof.Evaluation
) -> None:
    naive = Naive(run)
    rows = evaluation.retrainings
    entities, relations = run.dataset.entities, run.dataset.relations
    names = list(dict.fromkeys((row.subject, str(row.relation), row.object) for row in rows))
    triples = [(entities.find(s), relations.find(r), entities.find(o)) for s, r, o in names]
    assert len(triples) == LIMIT
    assert set(triples) <= set(naive.top_predictions())
    for cell in evaluation.removal:
        dropped, changed, sizes = [], [], []
        for triple, spelled in zip(triples, names, strict=True):
            removed = naive_set(run, spelled, cell.method, cell.k)
            before, after = naive.stand([], triple), naive.stand(removed, triple)
            dropped.append(after[0] < before[0])
            changed.append(after[1] != before[1])
            sizes.append(len(removed))
        assert cell.pd == pytest.approx(np.mean(dropped))
        assert cell.tc == pytest.approx(np.mean(changed))
        assert cell.removed_mean == pytest.approx(np.mean(sizes))
        assert cell.removed_std == pytest.approx(np.std(sizes))
        assert cell.pd_interval[0] <= cell.pd <= cell.pd_interval[1]
        assert cell.tc_released_interval is not None
        assert cell.tc_released_interval[0] <= cell.tc_released <= cell.tc_released_interval[1]
        assert cell.tc_released_seeds == (cell.tc_released,)
        assert cell.removed_seeds == (cell.removed_mean,)
    # A loop that never sees a difference would prove little.
    assert 0 < sum(cell.tc for cell in evaluation.removal) < len(evaluation.removal)
    assert len({cell.pd for cell in evaluation.removal}) > 1


def test_every_retraining_is_a_row(run: whereof.Run, evaluation: whereof.Evaluation) -> None:
    naive, rows = Naive(run), evaluation.retrainings
    assert len(rows) == 9 * LIMIT
    assert {row.k for row in rows} == {"1", "5", "all"}
    entities, relations = run.dataset.entities, run.dataset.relations
    for row in rows[::7]:
        assert row.relation is not None
        triple = (
            entities.find(row.subject),
            relations.find(row.relation),
            entities.find(row.object),
        )
        before, after = naive.stand([], triple), naive.stand(list(row.removed), triple)
        assert (row.original, row.actual) == pytest.approx((before[0], after[0]), rel=1e-5)
        assert (row.top_before, row.top_after) == tuple(map(entities.name, (before[1], after[1])))
        assert row.top_released == entities.name(naive.released_top([*row.removed], triple))
        assert (row.seed, row.asks, row.protocol) == (run.config.seed, "object", "removal")
        assert row.rank_before == 1


def test_rollback_predicts_what_joint_rollback_leaves(
    run: whereof.Run, evaluation: whereof.Evaluation
) -> None:
    predicted = [row for row in evaluation.retrainings if row.method == "rollback"]
    others = [row for row in evaluation.retrainings if row.method != "rollback"]
    assert {row.predicted for row in others} == {None}
    for row in predicted[::4]:
        together = run.explain(
            row.subject, row.relation, row.object, without=list(row.removed)
        ).without
        assert together is not None
        assert row.predicted == pytest.approx(together.probability)


def test_random_at_all_is_as_large_as_rollback_even_alone(run: whereof.Run) -> None:
    options: dict[str, Any] = {"k": "all", "limit": LIMIT, "protocols": "removal"}
    both, alone = run.evaluate(**options), run.evaluate(methods="random", **options)
    rollback, random = both.removal
    assert random.removed_mean == rollback.removed_mean > 10
    assert alone.removal == (random,)
    assert alone.significance == alone.changes == ()
    mine = [row.removed for row in both.retrainings if row.method == "random"]
    assert [row.removed for row in alone.retrainings] == mine


def test_what_random_draws_is_drawn_by_the_seed(run: whereof.Run) -> None:
    with case_of(run) as case:
        asked = (EvaluateOptions(predictions="true", seed=seed) for seed in (0, 1, 1))
        first, other, again = (pick(case, each).rank("random", 3) for each in asked)
    same = [np.array_equal(a, b) for a, b in zip(first, other, strict=True)]
    assert not all(same)
    assert all(np.array_equal(a, b) for a, b in zip(other, again, strict=True))


def test_significance_and_changes_compare_with_the_baseline(
    evaluation: whereof.Evaluation,
) -> None:
    cells = {(cell.method, cell.k): cell for cell in evaluation.removal}
    assert len(evaluation.significance) == 2 * 3 * 2
    for each in evaluation.significance:
        mine, other = (
            getattr(cells[method, each.k], each.metric) for method in (each.method, "random")
        )
        assert each.difference == pytest.approx(mine - other)
        assert 0 < each.p_value <= 1
        assert each.seeds == (each.difference,)
        assert each.interval is not None
        assert each.interval[0] <= each.difference <= each.interval[1]
    left = {
        (row.method, row.k, row.subject, row.relation, row.object): row.actual
        for row in evaluation.retrainings
    }
    for change in evaluation.changes:
        lower = [
            left["random", *key[1:]] - actual  # type: ignore[operator]
            for key, actual in left.items()
            if key[:2] == (change.method, str(change.k))
        ]
        assert change.spread.median == pytest.approx(np.median(lower))
        assert change.spread.mean == pytest.approx(np.mean(lower))
        assert (change.spread.low, change.spread.high) == pytest.approx((min(lower), max(lower)))


def test_facts_that_oppose_fill_up_what_support_leaves(run: whereof.Run) -> None:
    options = EvaluateOptions(limit=4)
    with case_of(run) as case:
        sample = pick(case, options)
        n_adjacent = int(sample.n_adjacent.max())
        found = sample.choose("rollback", [n_adjacent + 5, "all"])
    for few, supporting, size in zip(*found.values(), sample.n_adjacent, strict=True):
        assert len(few) == len(set(few)) == size > len(supporting)
        assert few[: len(supporting)].tolist() == supporting.tolist()


def test_a_method_without_a_fact_removes_nothing(tmp_path: Path) -> None:
    facts = [(f"e{i}", "r", f"e{i + 1}") for i in range(8)]
    (tmp_path / "facts.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    run = whereof.train(
        tmp_path / "facts.tsv", out=tmp_path / "run", model="distmult", dim=4, epochs=3
    )
    # No fact has e0 as its object.
    (tmp_path / "asked.tsv").write_text("e3\tr\te0\ne3\tr\te5\n")
    found = run.evaluate(
        methods="rollback-o", k="1", predictions=tmp_path / "asked.tsv", protocols="removal"
    )
    first, second = found.retrainings
    assert first.removed == ()
    assert first.actual == first.original == pytest.approx(first.predicted)
    assert [fact[2] for fact in facts if facts.index(fact) in second.removed] == ["e5"]
    assert found.removal[0].removed_mean == 0.5


def test_a_model_of_ratings_is_told_by_its_scores(ratings: whereof.Run) -> None:
    run = ratings
    found = run.evaluate(predictions="true", split="train", k="1", protocols="removal,steadiness")
    assert found.n_predictions == run.dataset.n_facts
    rollback = found.removal[0]
    rows = [
        row for row in found.retrainings if (row.protocol, row.method) == ("removal", "rollback")
    ]
    assert rollback.pd == np.mean([row.actual_score < row.original_score for row in rows])
    assert rollback.pd > 0
    assert {row.relation for row in rows} == {None}
    assert {(row.original, row.predicted, row.actual) for row in rows} == {(None, None, None)}
    assert {row.subject[0] + row.object[0] for row in rows} == {"um"}


def test_cells_come_in_the_order_of_methods_and_sizes(run: whereof.Run) -> None:
    found = run.evaluate(limit=2, seed=5, k="1,2", protocols="removal").removal
    assert [(row.method, row.k) for row in found] == [
        (method, k) for method in ("rollback", "random") for k in (1, 2)
    ]
    assert [(row.removed_mean, row.removed_std) for row in found] == [(1, 0), (2, 0)] * 2
