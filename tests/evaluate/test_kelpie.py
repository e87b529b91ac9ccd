"""All explanations removed together, by the definition."""

from pathlib import Path

import numpy as np
import pytest

from evaluate.small import N_FACTS, influences, ranks, retrain, sampled, train
from whereof.errors import WhereofError
from whereof.evaluate.kelpie import kelpie


@pytest.mark.parametrize("limit", [2, 100])
def test_falls_are_those_of_the_definition(tmp_path: Path, limit: int) -> None:
    runs = [train(tmp_path), train(tmp_path, seed=6)]
    with sampled(runs[0], true=True) as one, sampled(runs[1], true=True) as two:
        found = kelpie([one, two], ["rollback", "random"], [1, 2], limit)
        assert [(row.method, row.k) for row in found.rows] == [
            ("rollback", 1),
            ("rollback", 2),
            ("random", 1),
            ("random", 2),
        ]
        for row in found.rows:
            hits, mrr, sizes, counts = [], [], [], []
            for run, sample in zip(runs, (one, two), strict=True):
                firsts = np.flatnonzero(ranks(sample, retrain(sample, [])) == 1)[:limit]
                assert 0 < len(firsts) < len(sample.situations)
                estimated = influences(run, sample, row.method)[firsts]
                union = {i for e in estimated for i in np.argsort(-e, kind="stable")[: row.k]}
                after = ranks(sample, retrain(sample, [*union]))[firsts]
                hits.append((after == 1).mean())
                mrr.append((1 / after).mean())
                sizes.append(len(union))
                counts.append(len(firsts))
            assert (row.hits1_before, row.mrr_before) == (1, 1)
            assert row.hits1_after == pytest.approx(np.mean(hits))
            assert row.hits1_fall == pytest.approx(1 - np.mean(hits))
            assert row.mrr_after == pytest.approx(np.mean(mrr))
            assert row.mrr_fall == pytest.approx(1 - np.mean(mrr))
            assert row.removed_mean == np.mean(sizes)
            assert row.n_predictions == round(np.mean(counts))
            assert row.n_seeds == 2


def test_records_are_of_the_union(tmp_path: Path) -> None:
    with sampled(train(tmp_path)) as sample:
        found = kelpie([sample], ["rollback"], [3])
        union = sorted({int(i) for ids in sample.rank("rollback", 3) for i in ids})
    assert {r.removed for r in found.retrainings} == {tuple(union)}
    assert len(found.retrainings) == found.rows[0].n_predictions
    assert all(r.rank_before == 1 for r in found.retrainings)
    fallen = np.mean([r.rank_after > 1 for r in found.retrainings])
    assert found.rows[0].hits1_fall == pytest.approx(fallen)


def test_a_size_that_leaves_nothing_is_left_out(tmp_path: Path) -> None:
    with sampled(train(tmp_path)) as sample:
        everything = {int(i) for ids in sample.rank("random", N_FACTS) for i in ids}
        assert len(everything) == N_FACTS
        found = kelpie([sample], ["random"], [1, N_FACTS])
    assert [row.k for row in found.rows] == [1]


def test_random_at_all_takes_as_many_facts_as_rollback(tmp_path: Path) -> None:
    with sampled(train(tmp_path)) as sample:
        which = np.flatnonzero(sample.stored["rank"] == 1)[:1]
        supporting = sample.rank("rollback", "all")[which[0]]
        found = kelpie([sample], ["rollback", "random"], ["all"], limit=1)
        adjacent = sample.n_adjacent[which[0]]
    assert [row.removed_mean for row in found.rows] == [len(supporting)] * 2
    assert 0 < len(supporting) < adjacent
    assert len({row.removed for row in found.retrainings}) == 2


def test_a_limit_of_nothing_is_refused(tmp_path: Path) -> None:
    with sampled(train(tmp_path)) as sample, pytest.raises(WhereofError, match="limit is 0"):
        kelpie([sample], ["random"], [1], 0)
