"""Every method is cited, documented and runs."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import whereof
from whereof import registry
from whereof.explain.method import ABILITIES, NEEDS, get_method

METHODS = registry.names(registry.METHODS)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "methods.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[whereof.Run]:
    """A small world: methods that retrain have few facts to remove."""
    rng = np.random.default_rng(0)
    facts = [f"e{s}\tr{r}\te{o}\n" for s, r, o in rng.integers(0, (9, 2, 9), (90, 3))]
    folder = tmp_path_factory.mktemp("methods")
    (folder / "facts.tsv").write_text("".join(dict.fromkeys(["e0\tr0\te1\n", *facts])))
    return whereof.train(
        folder / "facts.tsv",
        out=folder / "run",
        model="distmult",
        dim=4,
        epochs=3,
        rate=0.05,
        optimizer="adam-lazy",
        keep_checkpoints=2,
        inverse=True,
    )


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_cited_and_documented(name: str) -> None:
    method = get_method(name)
    assert method.needs <= NEEDS
    assert method.can <= ABILITIES
    assert method.name == name
    assert any(str(year) in method.citation for year in range(1900, 2100)), "a citation has a year"
    page = " ".join(PAGE.read_text("utf-8").split())
    assert f"## {method.title}" in page
    assert f"| `{name}` |" in page
    assert method.citation in page


@pytest.mark.parametrize("asks", ["object", "subject"])
@pytest.mark.parametrize("name", [n for n in METHODS if "history" not in get_method(n).needs])
def test_every_method_has_a_number_for_every_fact(run: whereof.Run, name: str, asks: str) -> None:
    found = run.explain("e0", "r0", "e1", method=name, asks=asks, top=None, budget=1000)
    assert found.method == name
    ids = [fact.fact_id for fact in found.facts]
    assert len(set(ids)) == len(ids)
    if get_method(name).same_answer:
        place = "subject" if asks == "subject" else "object"
        answer = {"subject": "e0", "object": "e1"}[place]
        assert {getattr(fact, place) for fact in found.facts} == {answer}
    else:
        ranks_all = get_method(name).ranks_all
        assert len(ids) == (run.dataset.n_facts if ranks_all else found.n_adjacent)
    assert all(math.isfinite(fact.influence) for fact in found.facts)
    assert any(fact.influence > 0 for fact in found.facts)
    influences = [fact.influence for fact in found.facts]
    assert influences == sorted(influences, reverse=True)
    tells = "standings" in get_method(name).can
    for fact in found.facts:
        assert (fact.probability_without is not None) == tells
        assert (fact.top_answer_changes is not None) == tells
