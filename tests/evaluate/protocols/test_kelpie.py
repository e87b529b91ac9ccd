"""Kelpie: all explanations removed together, compared with the definition."""

from collections.abc import Callable

import numpy as np
import pytest

import whereof
from evaluate.small import N_FACTS, influences, ranks, retrain, run_protocol, sampled
from whereof.evaluate.protocols import kelpie

Small = Callable[..., whereof.Run]


@pytest.mark.parametrize("limit", [2, 100])
def test_falls_are_those_of_the_definition(
    small_run: Small, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [small_run(), small_run(seed=6)]
    monkeypatch.setattr(kelpie, "LIMIT", limit)
    with sampled(runs[0], true=True) as one, sampled(runs[1], true=True) as two:
        found = run_protocol("kelpie", [one, two], k="1,2")
        assert [(row.method, row.k) for row in found.results["kelpie"]] == [
            ("rollback", 1),
            ("rollback", 2),
            ("random", 1),
            ("random", 2),
        ]
        for row in found.results["kelpie"]:
            hits, mrr, sizes, counts = [], [], [], []
            for run, sample in zip(runs, (one, two), strict=True):
                firsts = np.flatnonzero(ranks(sample, retrain(sample, [])) == 1)[:limit]
                assert 0 < len(firsts) < len(sample.predictions)
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


def test_records_are_of_the_union(small_run: Small) -> None:
    with sampled(small_run()) as sample:
        found = run_protocol("kelpie", [sample], methods="rollback", k=3)
        union = sorted({int(i) for ids in sample.rank("rollback", 3) for i in ids})
    assert {r.removed for r in found.retrainings} == {tuple(union)}
    assert len(found.retrainings) == found.results["kelpie"][0].n_predictions
    assert all(r.rank_before == 1 for r in found.retrainings)
    fallen = np.mean([r.rank_after > 1 for r in found.retrainings])
    assert found.results["kelpie"][0].hits1_fall == pytest.approx(fallen)


def test_a_size_that_leaves_nothing_is_left_out(small_run: Small) -> None:
    with sampled(small_run()) as sample:
        everything = {int(i) for ids in sample.rank("random", N_FACTS) for i in ids}
        assert len(everything) == N_FACTS
        found = run_protocol("kelpie", [sample], methods="random", k=[1, N_FACTS])
    assert [row.k for row in found.results["kelpie"]] == [1]


def test_random_at_all_takes_as_many_facts_as_rollback(
    small_run: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kelpie, "LIMIT", 1)
    with sampled(small_run()) as sample:
        which = np.flatnonzero(sample.case.stand(sample.arrays)["rank"] == 1)[:1]
        supporting = sample.rank("rollback", "all")[which[0]]
        found = run_protocol("kelpie", [sample], k="all")
        adjacent = sample.n_adjacent[which[0]]
    assert [row.removed_mean for row in found.results["kelpie"]] == [len(supporting)] * 2
    assert 0 < len(supporting) < adjacent
    assert len({row.removed for row in found.retrainings}) == 2
