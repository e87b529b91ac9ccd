"""Explanations under several seeds, compared with those of each seed alone."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from cli.helpers import whereof as command
from present.documents import made, small
from trained import train

import whereof
from whereof.errors import WhereofError
from whereof.evaluate.agreement import Overlap, overlap

QUERY = ("egypt", "embassy", "usa")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("agreement") / "run")


def by_hand(run: whereof.Run, tmp_path: Path, **options: object) -> list[dict[int, float]]:
    """The influence of each fact, by seed."""
    found = []
    for seed in range(run.config.seed, run.config.seed + 3):
        alone = train(tmp_path / f"seed-{seed}", seed=seed)
        facts = alone.explain(*QUERY, top=None, **options).facts  # type: ignore[arg-type]
        found.append({fact.fact_id: fact.influence for fact in facts})
    return found


def ranks(values: list[float]) -> np.ndarray:
    return np.argsort(np.argsort(values))


@pytest.mark.parametrize("opposing", [False, True])
def test_seeds_agree_as_far_as_their_explanations(
    run: whereof.Run, tmp_path: Path, opposing: bool
) -> None:
    seeds, found = by_hand(run, tmp_path), run.explain(*QUERY, top=3, seeds=3, opposing=opposing)
    plain = run.explain(*QUERY, top=3, opposing=opposing)
    assert [fact.fact_id for fact in found.facts] == [fact.fact_id for fact in plain.facts]
    assert found.seeds is not None
    assert found.seeds.seeds == (3, 4, 5)
    assert found.seeds.n_facts == found.n_adjacent == len(seeds[0])
    order = sorted(seeds[0])
    correlations = [
        np.corrcoef(*(ranks([each[fact] for fact in order]) for each in pair))[0, 1]
        for pair in combinations(seeds, 2)
    ]
    assert found.seeds.rank_agreement == pytest.approx(np.mean(correlations), abs=1e-3)
    sign = -1 if opposing else 1
    tops = [sorted(each, key=lambda fact: -sign * each[fact])[:3] for each in seeds[1:]]
    for fact in found.facts:
        assert fact.in_top == sum(fact.fact_id in top for top in tops)
        values = [each[fact.fact_id] for each in seeds]
        assert fact.mean_influence == pytest.approx(np.mean(values))
        assert fact.std_influence == pytest.approx(np.std(values, ddof=1))
    probabilities = [each.probability for each in found.seeds.standings]
    assert len({*probabilities}) == 3
    assert probabilities[0] == found.prediction.probability


def test_an_open_place_and_named_facts(run: whereof.Run) -> None:
    found = run.explain("egypt", "embassy", None, seeds=2, without=[0, 5])
    assert [fact.in_top is None for fact in found.facts] == [False, False]
    assert {fact.fact_id for fact in found.facts} == {0, 5}
    assert found.seeds is not None
    assert len(found.seeds.standings) == 2


def test_a_method_that_retrains_does_so_under_every_seed(run: whereof.Run) -> None:
    found = run.explain(*QUERY, method="verified", budget=4, seeds=2, threads=1)
    assert found.seeds is not None
    assert any(fact.std_influence is not None for fact in found.facts)


def test_words_and_columns_of_seeds(run: whereof.Run) -> None:
    path = str(run.path)
    words = command("explain", path, *QUERY, "--seeds", "2", COLUMNS="200").stdout
    assert "in top 10 of 1 other seed" in words
    assert "Under 2 seeds, the ranks of the facts have a mean correlation of" in words
    document = json.loads(command("explain", path, *QUERY, "--seeds", "2", "--json").stdout)
    assert document["seeds"]["seeds"] == [3, 4]
    assert document["facts"][0]["in_top"] in (0, 1)
    plain = json.loads(command("explain", path, *QUERY, "--json").stdout)
    assert plain["seeds"] is plain["facts"][0]["in_top"] is None
    assert "seed" not in command("explain", path, *QUERY).stdout


def test_seeds_of_many_predictions_are_refused(run: whereof.Run) -> None:
    with pytest.raises(WhereofError, match="seeds requires one prediction"):
        run.explain_many([QUERY], seeds=2)
    with pytest.raises(WhereofError, match="seeds is 0; it must be 1"):
        run.explain(*QUERY, seeds=0)


def test_the_facts_of_two_explanations_are_compared_by_names() -> None:
    one = made(small())
    assert overlap(one, one) == Overlap(len(one.facts), 1.0)
    flipped = replace(one, facts=tuple(replace(f, influence=-f.influence) for f in one.facts))
    assert overlap(one, flipped).rank_agreement == -1.0
    other = tuple(replace(fact, fact_id=fact.fact_id + 90) for fact in one.facts[:4])
    assert overlap(one, replace(one, facts=other)) == Overlap(4, 1.0)
    assert overlap(one, replace(one, facts=other[:2])) == Overlap(2, None)
    assert overlap(one, replace(one, facts=())) == Overlap(0, None)
