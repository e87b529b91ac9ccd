"""Facts as a graph of NetworkX."""

from collections.abc import Iterable, Mapping
from typing import Any

from whereof.errors import need


def graph_of(facts: Iterable[Mapping[str, Any]]) -> Any:
    """A `networkx.MultiDiGraph` with an edge per fact, from its subject to its object.

    facts: names by place, `labels` by place, the `key` of the edge; the rest are attributes of the
    edge, without those that are None. A node has a `name` and a `label`. Without a relation, the
    same name may stand for a subject and for another object: such nodes have a prefix.
    """
    graph = need("networkx", "networkx", "a graph of NetworkX").MultiDiGraph()
    for fact in facts:
        rest, ends = {**fact}, list[str]()
        key, labels = rest.pop("key"), rest.pop("labels")
        for place in ("subject", "object"):
            name = rest.pop(place)
            ends.append(name if fact["relation"] is not None else f"{place}:{name}")
            graph.add_node(ends[-1], name=name, label=labels[place])
        rest["label"] = labels.get("relation")
        known = {name: value for name, value in rest.items() if value is not None}
        graph.add_edge(*ends, key, **known)
    return graph
