"""Facts from graphs of NetworkX and rdflib, from GraphML, and back."""

from pathlib import Path
from typing import Any

import pytest

import whereof
from whereof.errors import WhereofError

networkx = pytest.importorskip("networkx", reason="networkx is not installed")

RATED = {"user": ["1", "1", "2"], "item": ["1", "3", "3"], "rating": [2.5, 4.0, 1.0]}


def facts(dataset: whereof.Dataset) -> list[tuple[str, ...]]:
    return [dataset.fact_names(fact) for fact in dataset.train]


def letters() -> Any:
    graph = networkx.MultiDiGraph()
    graph.add_node("a", label="Anna")
    graph.add_edge("a", "b", relation="likes", label="is fond of", weight=2.0)
    graph.add_edge("b", "c", relation="knows", weight=0.5)
    graph.add_edge("a", "b", relation="knows", weight=1.0)
    return graph


def test_an_edge_is_a_fact_and_its_attributes_are_columns() -> None:
    dataset = whereof.read(letters())
    wanted = {("a", "likes", "b"): 2.0, ("b", "knows", "c"): 0.5, ("a", "knows", "b"): 1.0}
    assert dataset.weights is not None
    assert dict(zip(facts(dataset), dataset.weights.tolist(), strict=True)) == wanted
    assert dataset.entities.label(0) == "Anna"
    assert {dataset.relations.label(i) for i in range(2)} == {"is fond of", "knows"}


def test_relations_may_be_keys_or_a_named_attribute() -> None:
    keyed = networkx.MultiDiGraph([("a", "b", "likes"), ("b", "c", "knows")])
    assert facts(whereof.read(keyed)) == [("a", "likes", "b"), ("b", "knows", "c")]
    typed = networkx.DiGraph()
    typed.add_edge("a", "b", type="likes")
    typed.add_edge("b", "c", type="knows")
    found = whereof.read(typed, columns=["subject", "type", "object"])
    assert facts(found) == [("a", "likes", "b"), ("b", "knows", "c")]
    assert whereof.read(typed).two_way


def test_a_dataset_survives_a_graph_and_a_file(tmp_path: Path) -> None:
    nations = whereof.read("nations")
    graph = nations.to_networkx()
    assert graph.number_of_edges() == nations.n_facts
    back = whereof.read(graph)
    assert (back.train == nations.train).all()
    networkx.write_graphml(graph, tmp_path / "nations.graphml")
    read = whereof.read(tmp_path / "nations.graphml")
    assert read.hash == back.hash
    assert nations.to_networkx("test").number_of_edges() == len(nations.test)
    with pytest.raises(WhereofError, match="split is 'all'; choose from train, valid, test"):
        nations.to_networkx("all")


def test_users_and_items_of_one_name_stay_apart() -> None:
    dataset = whereof.read(RATED, entity_labels={"1": "Vertigo"})
    graph = dataset.to_networkx()
    assert sorted(graph) == ["object:1", "object:3", "subject:1", "subject:2"]
    assert graph.nodes["subject:1"]["label"] == "1"
    back = whereof.read(graph)
    assert back.hash == dataset.hash
    assert [back.entities.label(i) for i in range(4)] == ["1", "2", "Vertigo", "3"]


def test_a_prefix_that_only_some_nodes_have_is_part_of_their_names() -> None:
    links = [("subject:art", "object:vase", "of"), ("object:vase", "subject:art", "in")]
    found = whereof.read(networkx.MultiDiGraph(links))
    assert found.entities.names == ("object:vase", "subject:art")


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (networkx.Graph([("a", "b")]), "graph: undirected edges have no subject and no object"),
        (networkx.DiGraph(), "graph: no edges; give a graph with facts"),
        (networkx.DiGraph([((1, 2), "b")]), r"graph: edge 1: .* neither text nor a whole number"),
    ],
)
def test_graphs_without_facts_are_refused(graph: Any, message: str) -> None:
    with pytest.raises(WhereofError, match=message):
        whereof.read(graph)


def test_a_missing_attribute_names_the_edge() -> None:
    graph = letters()
    graph.add_edge("c", "a", relation="knows")
    with pytest.raises(WhereofError, match="graph: edge 4: weight None is not a finite number"):
        whereof.read(graph)


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "facts.graphml").write_text("<graphml>")
    with pytest.raises(WhereofError, match=r"facts\.graphml: cannot be read as GraphML: .+"):
        whereof.read(tmp_path / "facts.graphml")


def test_a_graph_of_rdflib_is_read_as_its_file(tmp_path: Path) -> None:
    rdflib = pytest.importorskip("rdflib", reason="rdflib is not installed")
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed")
    text = (
        "@prefix : <http://x/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':a :r :b . :b :r [ :q :a ] . :a rdfs:label "Anna" ; :age 3 .\n'
    )
    (tmp_path / "facts.ttl").write_text(text)
    graph = rdflib.Graph().parse(data=text, format="turtle")
    found, wanted = whereof.read(graph), whereof.read(tmp_path / "facts.ttl")
    assert sorted(facts(found)) == sorted(facts(wanted))
    assert found.entities.labels == {"http://x/a": "Anna"}
    assert found.notes == ("train: 1 triple left out: the object is a literal",)
    with pytest.raises(WhereofError, match="graph: RDF has no columns to choose from"):
        whereof.read(graph, columns="1,2,3")


def test_a_graph_of_rdflib_gives_the_same_facts_in_every_process() -> None:
    """Rdflib keeps triples in an order that depends on PYTHONHASHSEED."""
    rdflib = pytest.importorskip("rdflib", reason="rdflib is not installed")
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed")
    names = [rdflib.URIRef(f"http://x/{letter}") for letter in "hgfedcba"]
    graph = rdflib.Graph()
    for name in names:
        graph.add((name, rdflib.URIRef("http://x/r"), names[0]))
    found = facts(whereof.read(graph))
    assert [subject for subject, *_ in found] == sorted(map(str, names))


def test_a_name_that_rdflib_cannot_write_is_one_line() -> None:
    rdflib = pytest.importorskip("rdflib", reason="rdflib is not installed")
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed")
    graph, r = rdflib.Graph(), rdflib.URIRef("http://x/r")
    graph.add((rdflib.URIRef("http://x/a b"), r, r))
    with pytest.raises(WhereofError, match=r"graph: .*valid URI.*; correct the triple"):
        whereof.read(graph)


def test_all_facts_are_one_table() -> None:
    dataset = whereof.read("nations")
    table = dataset.to_arrow()
    assert table.column_names == ["split", "subject", "relation", "object"]
    assert table["split"].to_pylist().count("test") == len(dataset.test)
    assert tuple(table.slice(5, 1).to_pylist()[0].values()) == ("train", *facts(dataset)[5])
    rated = whereof.read({**RATED, "source": ["x", "y", "x"]}, entity_labels={"3": "Vertigo"})
    row = {"split": "train", "subject": "1", "object": "3", "subject_label": "1"}
    row |= {"object_label": "Vertigo", "rating": 4.0, "source": "y"}
    assert rated.to_arrow().to_pylist()[1] == row
    assert rated.to_polars().to_dicts()[1] == row
    assert rated.to_pandas().to_dict("records")[1] == row
