"""Runs made from other runs, with new facts or without some: in words and tables."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich.console import Console

from whereof.present.metrics import metrics_table
from whereof.present.terminal import heading, show
from whereof.retrain.unlearn import Unlearned
from whereof.retrain.update import Updated
from whereof.table import Column, Table
from whereof.units import count, percent, seconds


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
    name, after = _quality(updated.metrics)
    _, before = _quality(updated.metrics_before)
    if after is None or before is None:
        return
    if updated.scratch is None:
        yield f"The {name} on test facts goes from {percent(before)} to {percent(after)}."
        return
    scratch = updated.scratch
    _, wanted = _quality(scratch.metrics)
    took = f"{seconds(scratch.training_seconds)} ({seconds(scratch.seconds)} with metrics)"
    yield (
        f"Training from scratch on all facts took {took}. The {name} on test facts is "
        f"{percent(after)} after the update, and {percent(wanted or 0.0)} from scratch."
    )


def _quality(metrics: dict[str, Any]) -> tuple[str, float | None]:
    """The main metric of the test split, else of validation; None if there is none."""
    found = metrics.get("test") or metrics.get("valid") or {}
    name = "ndcg@10" if "ndcg@10" in found else "mrr"
    return name.upper(), found.get(name)


def unlearned_words(unlearned: Unlearned) -> str:
    """What was removed, in which time, and how far the result is from retraining."""
    return " ".join(_unlearned(unlearned))


def show_unlearned(out: Console, unlearned: Unlearned) -> None:
    """Print what was unlearned."""
    show(out, unlearned_words(unlearned))
    if unlearned.distance is not None:
        table = _distance_table(unlearned)
        show(out, heading(table.title), replace(table, title=""))
    show(out, "", *unlearned.notes, f"run: {unlearned.run}")


def _unlearned(unlearned: Unlearned) -> Iterator[str]:
    gone = [(unlearned.n_entities_gone, "entity"), (unlearned.n_relations_gone, "relation")]
    also = " and ".join(count(n, noun) for n, noun in gone if n)
    facts = count(unlearned.n_removed, "fact")
    yield f"Removed {facts}{f', and {also} without other facts' if also else ''}."
    took, distance = seconds(unlearned.seconds), unlearned.distance
    if distance is None or unlearned.retraining_seconds is None:
        yield f"Unlearning by {unlearned.method} took {took}."
        return
    other = seconds(unlearned.retraining_seconds)
    yield f"Unlearning by {unlearned.method} took {took}; retraining from scratch takes {other}."
    left, wanted = distance.unlearned.removed_probability, distance.retrained.removed_probability
    if left is not None and wanted is not None:
        yield (
            f"The new run gives the removed facts a mean probability of {percent(left)}; the "
            f"retrained model gives {percent(wanted)}."
        )
    if distance.probability is None or distance.probability_before is None:
        return
    after, before = (100 * each for each in (distance.probability, distance.probability_before))
    yield (
        f"On held-out facts, the probabilities of the new run differ from the retrained ones by "
        f"{after:.2g} points on average. Those of the run before differ by {before:.2g} points."
    )
    if after > before:
        yield "So on held-out facts, unlearning did not bring the model closer to retraining."


def _distance_table(unlearned: Unlearned) -> Table:
    distance = unlearned.distance
    assert distance is not None
    unit = "percent" if distance.probability is not None else "number"
    columns = [
        Column("model", "model"),
        Column("mrr", "MRR, held-out facts, paper's filter", "percent"),
        Column("removed", "the removed facts, mean", unit),
        Column("rows", "distance of rows", "percent"),
    ]
    found = (distance.before, 1.0), (distance.unlearned, distance.rows), (distance.retrained, 0.0)
    models = zip(("before", "unlearned", "from scratch"), found, strict=True)
    rows = [(name, its.mrr, its.removed_probability, apart) for name, (its, apart) in models]
    note = (
        "Distance of rows: to those that are trained from scratch without the facts, in percent of "
        "the distance before unlearning. Above 100%, unlearning moved the rows further away."
    )
    return Table("distance", "Compared with retraining from scratch", columns, rows, note)
