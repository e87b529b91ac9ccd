"""`whereof label`."""

from functools import partial

import click

import whereof
from whereof.cli import _options


@_options.command("label")
@_options.run_argument
@click.option("--entity-labels", metavar="FILE", help="Labels of entities.")
@click.option("--relation-labels", metavar="FILE", help="Labels of relations.")
def command(
    run: "whereof.Run", entity_labels: str | None, relation_labels: str | None
) -> _options.Result:
    """Add labels to a finished run.

    FILE has two columns, name and label, separated by TAB, or by comma in a .csv file. To choose
    two columns of a wider file, write them after its path, by name or position, such as
    movies.csv:movieId,title or movies.csv:1,2. A label replaces an earlier one of the same name.
    Facts, parameters and the hash of the data stay the same.
    """
    run.add_labels(entity_labels, relation_labels)
    entities, relations = run.dataset.entities, run.dataset.relations
    n_entities, n_relations = len(entities.labels), len(relations.labels)
    said = (
        f"{run.path}: {n_entities} of {len(entities)} entities and "
        f"{n_relations} of {len(relations)} relations have labels"
    )
    counts = {"n_entity_labels": n_entities, "n_relation_labels": n_relations}
    return {"run": str(run.path), **counts}, partial(click.echo, said)
