"""Explanations as RDF: quoted triples, the same graph in Turtle and in N-Triples."""

from pathlib import Path
from typing import Any

import pytest
from trained import train, train_ratings

import whereof

rdf = pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed")
OURS = "urn:whereof:"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run")


def graph(path: Path) -> set[Any]:
    """The statements of a file, whatever its blank nodes are called."""
    form = rdf.RdfFormat.TURTLE if path.suffix == ".ttl" else rdf.RdfFormat.N_TRIPLES
    found = rdf.parse(path=str(path), format=form)
    dataset = rdf.Dataset([rdf.Quad(each.subject, each.predicate, each.object) for each in found])
    dataset.canonicalize(rdf.CanonicalizationAlgorithm.UNSTABLE)
    return {*dataset}


def values(statements: set[Any], name: str) -> list[str]:
    return [each.object.value for each in statements if each.predicate.value == OURS + name]


def test_turtle_and_ntriples_are_the_same_graph(run: whereof.Run, tmp_path: Path) -> None:
    found = run.explain("egypt", "embassy", "usa", top=4)
    for name in ("a.ttl", "a.nt"):
        found.to_file(tmp_path / name)
    statements = graph(tmp_path / "a.ttl")
    assert statements == graph(tmp_path / "a.nt")
    influences = [float(value) for value in values(statements, "influence")]
    assert sorted(influences) == sorted(fact.influence for fact in found.facts)
    assert float(values(statements, "probability")[0]) == found.prediction.probability
    quoted = [each.object for each in statements if isinstance(each.object, rdf.Triple)]
    names = {(t.subject.value, t.predicate.value, t.object.value) for t in quoted}
    wanted = {("egypt", "embassy", "usa")}
    wanted |= {(fact.subject, str(fact.relation), fact.object) for fact in found.facts}
    kinds = ("entity", "relation", "entity")
    assert names == {
        tuple(f"{OURS}{kind}:{name}" for kind, name in zip(kinds, names, strict=True))
        for names in wanted
    }


def test_iris_stay_and_odd_names_are_escaped(tmp_path: Path) -> None:
    iris = [f"http://x/{name}" for name in "abc"]
    data = {
        "subject": [iris[0], iris[1], "_:1", 'say "no"\n'],
        "relation": ["http://x/r"] * 4,
        "object": [iris[1], iris[2], iris[2], iris[2]],
    }
    labels = {iris[2]: "Cäsar \\"}
    odd = whereof.train(
        data, out=tmp_path / "run", model="distmult", dim=2, epochs=1, entity_labels=labels
    )
    odd.explain(iris[0], "http://x/r", iris[2], top=None).to_file(tmp_path / "a.nt")
    statements = graph(tmp_path / "a.nt")
    quoted = [each.object for each in statements if isinstance(each.object, rdf.Triple)]
    subjects = {each.subject for each in quoted}
    assert rdf.NamedNode(iris[0]) in subjects
    assert rdf.NamedNode(f"{OURS}entity:say%20%22no%22%0A") in subjects
    assert any(isinstance(each, rdf.BlankNode) for each in subjects)
    shown = {each.object.value for each in statements if each.predicate.value.endswith("label")}
    assert {"Cäsar \\", 'say "no"\n'} <= shown


def test_users_and_items_are_told_apart(tmp_path: Path) -> None:
    rated = train_ratings(tmp_path, epochs=2)
    rated.explain("u0", "m1").to_file(tmp_path / "a.ttl")
    quoted = {
        each.object for each in graph(tmp_path / "a.ttl") if isinstance(each.object, rdf.Triple)
    }
    first = rdf.Triple(*(rdf.NamedNode(OURS + end) for end in ("subject:u0", "chose", "object:m1")))
    assert first in quoted


def test_many_explanations_are_one_file(run: whereof.Run, tmp_path: Path) -> None:
    run.explain_file("top", tmp_path / "a.ttl", limit=3, top=2)
    statements = graph(tmp_path / "a.ttl")
    assert len(values(statements, "method")) == 3
    assert len(values(statements, "factId")) == 6
