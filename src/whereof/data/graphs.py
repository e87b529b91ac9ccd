"""Read facts from NetworkX graphs and GraphML files. `rdf.py` reads rdflib graphs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from whereof.data.columns import FactTable, role_of
from whereof.data.frames import read_frame
from whereof.data.options import ReadOptions
from whereof.data.text import open_bytes
from whereof.errors import WhereofError, need

_Edge = tuple[Any, Any, dict[str, Any]]
_LABELS: Final = ("label", "title", "name", "text")
"""Attributes of nodes that are labels, in order of precedence."""


def read_object(source: Any, options: ReadOptions) -> FactTable:
    """The facts of a graph of NetworkX or rdflib, or of a table."""
    homes = {base.__module__.partition(".")[0] for base in type(source).__mro__}
    if "networkx" in homes:
        return read_networkx(source, options)
    if "rdflib" in homes and hasattr(source, "serialize"):
        from whereof.data.rdf import read_rdflib

        return read_rdflib(source, options)
    return read_frame(source, options)


def read_graphml(path: Path, options: ReadOptions) -> FactTable:
    """The facts of a GraphML file."""
    networkx = need("networkx", "networkx", "reading GraphML")
    with open_bytes(path) as file:
        try:
            graph = networkx.read_graphml(file)
        except Exception as error:  # of the XML parser, or of NetworkX about the content
            raise WhereofError(f"{path}: cannot be read as GraphML: {error}") from None
    # In a file, the keys of edges are ids without a meaning.
    return read_networkx(graph, options.replace(format=None), str(path), keys=False)


def read_networkx(
    graph: Any, options: ReadOptions, where: str = "graph", *, keys: bool = True
) -> FactTable:
    """The facts of a graph: edges go from subject to object, and their attributes are columns.

    If no attribute names the relation, the `keys` of a multigraph are the relations, provided they
    are text. Labels of nodes become labels of entities.
    """
    if not graph.is_directed():
        raise WhereofError(
            f"{where}: undirected edges have no subject and no object; give a directed graph: "
            "networkx.DiGraph(graph) has every edge in both directions"
        )
    edges = _edges(graph)
    ends = _ends(edges)
    columns: dict[str, list[Any]] = {
        place: [names[edge[at]] for edge in edges] for at, (place, names) in enumerate(ends.items())
    }
    attributes = dict.fromkeys(name for *_, data in edges for name in data)
    columns |= {
        str(name): [data.get(name) for *_, data in edges]
        for name in attributes
        if name not in columns
    }
    if "relation" in columns and options.columns is None:
        columns.pop("label", None)  # of the relation
    if keys and graph.is_multigraph() and not any(role_of(it) == "relation" for it in columns):
        found = [key for *_, key in graph.edges(keys=True)]
        columns |= {"relation": found} if all(isinstance(key, str) for key in found) else {}
    table = read_frame(columns, options, where, "edge")
    if not len(table):
        raise WhereofError(f"{where}: no edges; give a graph with facts")
    return replace(table, labels=_labels(graph, edges, ends))


def _edges(graph: Any) -> list[_Edge]:
    """All edges with their attributes, in the order of their keys if these number all edges."""
    edges = [*graph.edges(data=True)]
    if graph.is_multigraph():
        keys = [key for *_, key in graph.edges(keys=True)]
        if all(isinstance(key, int) for key in keys) and len({*keys}) == len(keys):
            edges = [edges[at] for at in sorted(range(len(keys)), key=keys.__getitem__)]
    return edges


def _ends(edges: Iterable[_Edge]) -> dict[str, dict[Any, Any]]:
    """The names of all subjects and of all objects, by node.

    In two-way data, `to_networkx` separates subjects from objects by a prefix of every node.
    """
    places = enumerate(("subject", "object"))
    nodes: dict[str, list[Any]] = {place: [edge[at] for edge in edges] for at, place in places}
    prefixed = all(
        isinstance(node, str) and node.startswith(f"{place}:")
        for place, found in nodes.items()
        for node in found
    )
    return {
        place: {node: node.removeprefix(f"{place}:") if prefixed else node for node in found}
        for place, found in nodes.items()
    }


def _labels(
    graph: Any, edges: Iterable[_Edge], ends: Mapping[str, Mapping[Any, Any]]
) -> dict[str, str]:
    """Labels of nodes and of relations, by name; if two have the same name, of the object."""
    labels: dict[str, str] = {}
    for names in ends.values():
        for node, name in names.items():
            data = graph.nodes[node]
            found = next((data[it] for it in _LABELS if isinstance(data.get(it), str)), str(name))
            labels |= {str(name): found} if found != str(name) else {}
    for *_, data in edges:
        relation, label = data.get("relation"), data.get("label")
        if isinstance(label, str) and relation not in (None, label):
            labels[str(relation)] = label
    return labels
