"""Runs of facts with weights: trained, stored, explained and retrained."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.helpers import whereof as command
from trained import FAST, outcome, train

import whereof
from whereof.data.read import read_dataset

NATIONS = read_dataset("nations")
QUERY = ("egypt", "embassy", "usa")
WEIGHTS = np.where(np.arange(NATIONS.n_facts) % 7, 1.0, 0.25)


def table(weights: Any) -> dict[str, Any]:
    subjects, relations, objects = zip(*map(NATIONS.fact_names, NATIONS.train), strict=True)
    columns = {"subject": subjects, "relation": relations, "object": objects, "weight": weights}
    return {name: list(cells) for name, cells in columns.items()}


def train_weighted(path: Path, weights: Any) -> whereof.Run:
    return whereof.train(table(weights), out=path, **FAST)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train_weighted(tmp_path_factory.mktemp("weighted") / "run", WEIGHTS)


def test_weights_are_stored_and_change_the_model(run: whereof.Run, tmp_path: Path) -> None:
    assert run.path is not None
    opened = whereof.Run.open(run.path)
    assert opened.dataset.weights is not None
    assert opened.dataset.weights.tolist() == WEIGHTS.tolist()
    assert opened.dataset.hash == opened.manifest.dataset["hash"]
    ones = train_weighted(tmp_path / "ones", [1.0] * NATIONS.n_facts)
    plain = whereof.train(
        {**table(WEIGHTS), "weight": ["x"] * NATIONS.n_facts},
        out=tmp_path / "p",
        columns="subject,relation,object",
        **FAST,
    )
    assert outcome(tmp_path / "ones") == outcome(tmp_path / "p") != outcome(run.path)
    assert (ones.dataset.weights is None, plain.dataset.weights) == (False, None)


def test_a_fact_of_weight_zero_is_a_removed_fact(tmp_path: Path) -> None:
    weights = np.ones(NATIONS.n_facts)
    weights[5] = 0
    whole, without = train(tmp_path / "a"), train_weighted(tmp_path / "b", weights)
    _, removed = whole.retrain([[5]])
    assert removed.parameters is not None
    np.testing.assert_array_equal(removed.parameters.entity_rows, without.entity_rows)


def test_explanations_and_verdicts_have_weights(run: whereof.Run) -> None:
    found = run.explain(*QUERY, top=None)
    assert {fact.weight for fact in found.facts} == {0.25, 1}
    assert all(fact.weight == WEIGHTS[fact.fact_id] for fact in found.facts)
    verdict = run.verify(*QUERY, top=1)
    assert verdict.control_matches_run
    assert verdict.facts[0].weight == WEIGHTS[verdict.facts[0].fact_id]


def test_commands_show_weights_where_there_are_some(run: whereof.Run, tmp_path: Path) -> None:
    plain = train(tmp_path / "plain")
    for each, shown in ((run, True), (plain, False)):
        described = command("info", str(each.path)).stdout
        assert ("weights of facts yes" in " ".join(described.split())) is shown
        words = command("explain", str(each.path), *QUERY).stdout
        assert ("weight" in words.split()) is shown
    document = json.loads(command("explain", str(plain.path), *QUERY, "--json").stdout)
    assert document["facts"][0]["weight"] is None
