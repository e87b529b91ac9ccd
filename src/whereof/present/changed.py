"""Runs made from other runs, with new facts or without some: in words and tables."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.console import Console

from whereof.present.metrics import metrics_table
from whereof.present.names import ended, fact_text, noun_of
from whereof.present.terminal import heading, show
from whereof.retrain.unlearn import Distance, Unlearned
from whereof.retrain.update import Updated
from whereof.table import Column, Table
from whereof.units import count, percent, points, seconds
from whereof.units import show as show_value


def updated_words(updated: Updated) -> str:
    """What was added, how long it took, and what it did to the metrics."""
    return " ".join(_updated(updated))


def show_updated(out: Console, updated: Updated) -> None:
    """Print an update."""
    show(out, updated_words(updated), *updated.notes)
    every = {"before": updated.metrics_before, "updated": updated.metrics}
    if updated.scratch is not None:
        every["from scratch"] = updated.scratch.metrics
    for title, metrics in every.items():
        if any(metrics.values()):
            # Only two-way data has NDCG.
            two_way = any("ndcg@10" in (values or {}) for values in metrics.values())
            table: Table = metrics_table(metrics, two_way=two_way)
            show(out, heading(f"Metrics, {title}"), replace(table, title=""))
    show(out, "", f"run: {updated.run}")


def _updated(updated: Updated) -> Iterator[str]:
    added = count(updated.n_added, "new fact")
    names = [(updated.n_new_entities, "new entity"), (updated.n_new_relations, "new relation")]
    also = " and ".join(count(n, noun) for n, noun in names if n)
    known = f"; the run already had {updated.n_known:,} of the given facts" * bool(updated.n_known)
    yield f"Added {added}{f' with {also}' if also else ''}{known}."
    took = f"{seconds(updated.training_seconds)} ({seconds(updated.seconds)} with metrics)"
    yield f"The additional training took {took}."
    where, name, after = _quality(updated.metrics)
    _, _, before = _quality(updated.metrics_before)
    if after is None or before is None:
        return
    measured = f"The {name} on {where} facts"
    if updated.scratch is None:
        yield f"{measured} goes from {percent(before)} to {percent(after)}."
        return
    scratch = updated.scratch
    _, _, wanted = _quality(scratch.metrics)
    took = f"{seconds(scratch.training_seconds)} ({seconds(scratch.seconds)} with metrics)"
    yield (
        f"Training from scratch on all facts took {took}. The {name} on {where} facts is "
        f"{percent(after)} after the update, and {percent(wanted or 0.0)} from scratch."
    )


def _quality(metrics: dict[str, Any]) -> tuple[str, str, float | None]:
    """Split, name and value of the main metric: on test facts, else on validation facts."""
    where, found = "test", metrics.get("test")
    if not found:
        where, found = "validation", metrics.get("valid") or {}
    name = "ndcg@10" if "ndcg@10" in found else "mrr"
    return where, name.upper(), found.get(name)


def unlearned_words(unlearned: Unlearned) -> str:
    """What was removed, in which time, and how far the result is from retraining."""
    return " ".join(_unlearned(unlearned))


def show_unlearned(out: Console, unlearned: Unlearned) -> None:
    """Print what was unlearned."""
    show(out, unlearned_words(unlearned))
    if unlearned.distance is not None:
        table = _distance_table(unlearned.distance)
        show(out, heading(table.title), replace(table, title=""))
    show(out, "", *unlearned.notes, f"run: {unlearned.run}")


def _unlearned(unlearned: Unlearned) -> Iterator[str]:
    gone = [(unlearned.n_entities_gone, "entity"), (unlearned.n_relations_gone, "relation")]
    also = " and ".join(count(n, noun) for n, noun in gone if n)
    named = [fact_text(fact) for fact in unlearned.first_removed]
    n_more = unlearned.n_removed - len(named)
    facts = "; ".join([*named, *([f"and {n_more:,} more"] if n_more else [])])
    noun = noun_of(unlearned.first_removed)
    yield ended(f"Removed {count(unlearned.n_removed, noun)}: {facts}")
    if also:
        yield f"Removed {also} without other facts."
    took, distance = seconds(unlearned.seconds), unlearned.distance
    if distance is None or unlearned.retraining_seconds is None:
        yield f"Unlearning by {unlearned.method} took {took}."
        return
    other = seconds(unlearned.retraining_seconds)
    yield f"Unlearning by {unlearned.method} took {took}; retraining from scratch takes {other}."
    yield from _removed_words(unlearned, distance)
    yield from _held_out_words(distance, all_left=not also)


def _removed_words(unlearned: Unlearned, distance: Distance) -> Iterator[str]:
    """What the new run and the retrained model predict of the removed facts."""
    after, wanted = distance.unlearned, distance.retrained
    noun = noun_of(unlearned.first_removed)
    removed = f"removed {noun}s"
    if distance.n_removed < unlearned.n_removed:
        removed = f"{count(distance.n_removed, f'removed {noun}')} that it can score"
    if after.removed_rating is not None and wanted.removed_rating is not None:
        mine, other = (show_value(it.removed_rating, "rating") for it in (after, wanted))
        yield (
            f"The mean rating of the {removed} is {mine} in the new run, and {other} in the "
            "retrained model."
        )
    if after.removed_probability is not None and wanted.removed_probability is not None:
        mine, other = (
            percent(it) for it in (after.removed_probability, wanted.removed_probability)
        )
        yield (
            f"The mean probability of the {removed} is {mine} in the new run, and {other} in the "
            "retrained model."
        )


def _held_out_words(distance: Distance, *, all_left: bool) -> Iterator[str]:
    """How far the predictions of held-out facts are from the retrained ones."""
    where = "On held-out facts" if all_left else "On the held-out facts that are left"
    if distance.rating is not None and distance.rating_before is not None:
        values, noun = (distance.rating, distance.rating_before), "ratings"
        after, before = (show_value(value, "number") for value in values)
    elif distance.probability is not None and distance.probability_before is not None:
        values, noun = (distance.probability, distance.probability_before), "probabilities"
        after, before = map(points, values)
    else:
        return
    yield (
        f"{where}, the {noun} of the new run differ from those of the retrained model by {after} "
        f"on average. Before unlearning, they differed by {before}."
    )
    if values[0] > values[1]:
        yield "So there, unlearning did not bring the model closer to the retrained one."


def _distance_table(distance: Distance) -> Table:
    measures = [
        ("mrr", Column("mrr", "MRR, held-out facts, paper's filter", "percent")),
        ("rmse", Column("rmse", "RMSE, held-out ratings", "number")),
        ("removed_probability", Column("removed", "the removed facts, mean", "chance")),
        ("removed_rating", Column("removed", "the removed ratings, mean", "rating")),
    ]
    known = [
        (name, column) for name, column in measures if getattr(distance.before, name) is not None
    ]
    columns = [Column("model", "model"), *(column for _, column in known)]
    columns.append(Column("rows", "distance of rows", "percent"))
    found = (distance.before, 1.0), (distance.unlearned, distance.rows), (distance.retrained, 0.0)
    models = zip(("before", "unlearned", "from scratch"), found, strict=True)
    rows = [
        (title, *(getattr(its, name) for name, _ in known), apart) for title, (its, apart) in models
    ]
    note = (
        "Distance of rows: how far the rows are from those of the retrained model. 100% is the "
        "distance before unlearning; above it, unlearning moved the rows further away."
    )
    return Table("distance", "Compared with retraining from scratch", columns, rows, note)
