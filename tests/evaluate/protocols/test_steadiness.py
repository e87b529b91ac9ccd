"""Steadiness, compared with a plain loop."""

from pathlib import Path

import numpy as np
import pytest

import whereof
from evaluate.helpers import Naive


@pytest.fixture(scope="module")
def run(nations: whereof.Run) -> whereof.Run:
    return nations


def test_the_share_of_changed_answers_is_that_of_a_plain_loop(run: whereof.Run) -> None:
    found = run.evaluate(protocols="steadiness", removals=5, limit=12)
    steadiness, rows = found.steadiness, found.retrainings
    assert steadiness is not None
    assert (steadiness.n_removals, found.removal) == (5, ())
    assert len(rows) == 5 * 12
    assert {(row.protocol, row.method, row.k) for row in rows} == {("steadiness", "random", "1")}
    assert len({row.removed for row in rows}) == 5
    naive, entities, relations = Naive(run), run.dataset.entities, run.dataset.relations
    changed, moved = [], []
    for row in rows:
        triple = (
            entities.find(row.subject),
            relations.find(str(row.relation)),
            entities.find(row.object),
        )
        before, after = naive.stand([], triple), naive.stand(list(row.removed), triple)
        changed.append(before[1] != after[1])
        moved.append(abs(before[0] - after[0]))
    assert steadiness.changed == pytest.approx(np.mean(changed))
    assert steadiness.mean_change == pytest.approx(np.mean(moved), rel=1e-4)
    assert steadiness.mean_change > 0
    assert steadiness.interval[0] <= steadiness.changed <= steadiness.interval[1]


def test_facts_are_drawn_by_the_seed(run: whereof.Run) -> None:
    def drawn(seed: int) -> list[tuple[int, ...]]:
        found = run.evaluate(
            protocols="steadiness", removals=3, limit=1, seed=seed, predictions="true"
        )
        return [row.removed for row in found.retrainings]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_no_more_facts_are_drawn_than_there_are(tmp_path: Path) -> None:
    (tmp_path / "facts.tsv").write_text("a\tr\tb\nb\tr\tc\nc\tr\ta\na\tr\tc\n")
    run = whereof.train(tmp_path / "facts.tsv", out=tmp_path / "run", dim=2, epochs=2)
    found = run.evaluate(
        protocols="steadiness", removals=50, predictions="true", split="train", limit=2
    )
    assert found.steadiness is not None
    assert found.steadiness.n_removals == run.dataset.n_facts == 4
    assert sorted(row.removed[0] for row in found.retrainings) == [0, 0, 1, 1, 2, 2, 3, 3]
