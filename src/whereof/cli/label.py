"""`whereof label`."""

from pathlib import Path

import click

from whereof.cli._options import RUN, common_options, print_json


@click.command("label")
@click.argument("run", metavar="RUN", type=RUN)
@click.option("--entity-labels", metavar="FILE", help="Labels of entities.")
@click.option("--relation-labels", metavar="FILE", help="Labels of relations.")
@common_options
def command(
    run: Path, entity_labels: str | None, relation_labels: str | None, as_json: bool
) -> None:
    """Add labels to a finished run.

    FILE has two columns, name and label, separated by TAB, or by comma in a .csv file. To choose
    two columns of a wider file, write them after its path, by name or position, such as
    movies.csv:movieId,title or movies.csv:1,2. A label replaces an earlier one of the same name.
    Facts, parameters and the hash of the data stay the same.
    """
    from whereof.api import Run

    opened = Run.open(run)
    opened.add_labels(entity_labels, relation_labels)
    entities, relations = opened.dataset.entities, opened.dataset.relations
    if as_json:
        counts = {
            "n_entity_labels": len(entities.labels),
            "n_relation_labels": len(relations.labels),
        }
        print_json({"run": str(run), **counts})
    else:
        click.echo(
            f"{run}: {len(entities.labels)} of {len(entities)} entities and "
            f"{len(relations.labels)} of {len(relations)} relations have labels"
        )
