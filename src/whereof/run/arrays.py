"""A run from arrays in memory, trained by other software."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whereof.data.dataset import Dataset
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.models import Widths, find_model
from whereof.run.folder import Manifest, RunFolder
from whereof.settings import check_text, checked, shown
from whereof.training.results import Parameters
from whereof.types import FactIds, Facts, Rows
from whereof.units import count


class ArrayRun(RunFolder):
    """The content of a run, which may come from a folder or from arrays."""

    @classmethod
    @checked
    def from_arrays(
        cls,
        *,
        model: str,
        entities: Sequence[Any],
        relations: Sequence[Any] | None = None,
        facts: ArrayLike,
        entity_rows: ArrayLike,
        relation_rows: ArrayLike | None = None,
        trace: Any = None,
        loss: str = "softmax",
        labels: Mapping[str, str] | None = None,
        n_subjects: int | None = None,
        valid: ArrayLike | None = None,
        test: ArrayLike | None = None,
        retrain: Callable[[FactIds], Any] | None = None,
        name: str = "arrays",
    ) -> Self:
        """A run in memory, from a model that other software trained. The precision is kept.

        `save` writes it to a folder, which opens again like any run.

        Parameters
        ----------
        model
            The scoring function of the rows.
        entities, relations
            The name of each row; two-way data has no relations.
        facts
            (n, 3) whole numbers: rows of subject, relation and object; (n, 2) in two-way data.
        entity_rows, relation_rows
            (n_entities, width) and (n_relations, width); inverse relations follow the others.
        trace
            (n, 3, width): what each fact changed in the rows of its subject, relation and object.
            A tuple of these slots if widths differ or there are inverse relations; or None.
        loss
            The loss of the training: softmax, sigmoid or squared.
        labels
            Labels by name.
        n_subjects
            The number of entities that are subjects only, such as users. They come first; the
            others, such as items, are objects only. By default, every entity may be either.
        valid, test
            Held-out facts, in the form of `facts`. They are measured, and known answers of `valid`
            are skipped in ranks.
        retrain
            Your own training function, for everything that retrains: `retrain(skip)` trains
            without the facts whose ids are in the array `skip` and returns the rows of entities
            and relations. With an empty array, it returns the rows of this run.
        name
            A name for the data.
        """
        from whereof.data.read import as_labels  # slow to import

        if not (retrain is None or callable(retrain)):
            raise WhereofError(f"retrain is {shown(retrain)}; give your training function")
        rows = _floats(entity_rows, "entity_rows")
        n_entities, width = rows.shape
        if n_entities != len(entities):
            raise WhereofError(f"entity_rows has {n_entities} rows for {len(entities)} entities")
        scoring = find_model(model)
        named = _names(entities, "entities")
        related = [] if relations is None else _names(relations, "relations")
        scoring.check_columns(two_way=not related)
        dims = (dim for dim in range(1, width + 1) if scoring.widths(dim).entity == width)
        dim = next(dims, None)
        if dim is None:
            raise WhereofError(
                f"entity_rows has width {width}, which is impossible for {model}; check the model"
            )
        widths = scoring.widths(dim)
        related_rows = _relation_rows(relation_rows, len(related), widths, rows.dtype)
        splits = {"facts": facts, "valid": valid, "test": test}
        labels = as_labels({} if labels is None else labels)
        data = _dataset(name, named, related, splits, labels, n_subjects)
        config = {  # other settings are not known
            "model": model,
            "dim": dim,
            "inverse": len(related_rows) == 2 * data.inverse_offset,
            "precision": rows.dtype.name,
            "loss": loss,
            "trace": trace is not None,
        }
        sizes = ("name", "n_facts", "n_entities", "n_relations")
        about = {name: getattr(data, name) for name in sizes}
        about |= {"n_valid": len(data.valid), "n_test": len(data.test), "notes": [*data.notes]}
        run = cls(None, Manifest(about, config, created="", finished=True), retrain)
        run.dataset, run.parameters = data, Parameters(rows, related_rows)
        run.trace = _slots(trace, data.n_facts, widths, 1 + run.config.inverse)
        run.history = []
        return run


def _names(values: Sequence[Any], kind: str) -> list[str]:
    """The name of each row."""
    from whereof.data.columns import is_missing  # slow to import
    from whereof.data.frames import cells_of

    if isinstance(values, Set | Mapping):  # whose order may be any
        raise WhereofError(
            f"{kind} is a {type(values).__name__}; give a list: the name of each row"
        )
    cells = cells_of(values)
    for at, cell in enumerate(cells):
        if is_missing(cell):
            raise WhereofError(f"{kind} has {shown(cell)} at position {at}; give every row a name")
        check_text(f"a name in {kind}", str(cell))
    return [*map(str, cells)]


def _floats(values: ArrayLike, name: str) -> Rows:
    """(n, width) numbers; single and double precision are kept."""
    array = _native(values, name)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    if array.ndim != 2:
        raise WhereofError(f"{name} has shape {array.shape}; give (n, width)")
    if not np.isfinite(array).all():
        raise WhereofError(f"{name} has numbers that are not finite")
    return np.ascontiguousarray(array)


def _relation_rows(
    values: ArrayLike | None, n_relations: int, widths: Widths, dtype: np.dtype[Any]
) -> Rows:
    """(n_relations, width), or twice as many with inverses; two-way data has one row."""
    n_rows, width = max(n_relations, 1), widths.relation
    if values is None:
        values = np.zeros((0 if width else n_rows, width), dtype)
    rows = _floats(values, "relation_rows").astype(dtype, copy=False)
    if rows.shape not in ((n_rows, width), (2 * n_rows, width)):
        raise WhereofError(
            f"relation_rows has {len(rows)} rows of width {rows.shape[1]} for {n_relations} "
            f"relations; give one row of width {width} per relation, or two with inverses: first "
            "all relations, then all inverses"
        )
    return rows


def _dataset(
    name: str,
    names: list[str],
    relations: list[str],
    splits: Mapping[str, ArrayLike | None],
    labels: Mapping[str, str],
    n_subjects: int | None,
) -> Dataset:
    subjects = objects = range(len(names))
    if n_subjects is not None:
        if not 0 < n_subjects < len(names):
            raise WhereofError(f"n_subjects is {n_subjects}; choose 1 to {len(names) - 1}")
        subjects, objects = objects[:n_subjects], objects[n_subjects:]
    # A subject and an object may have the same name if no entity is both.
    parts = [("entities", names[ids.start : ids.stop]) for ids in {subjects, objects}]
    for kind, some in (*parts, ("relations", relations)):
        if len(set(some)) != len(some):
            raise WhereofError(f"{kind} has a name twice; give every row its own name")
    entities = Vocabulary(tuple(names), labels)
    related = Vocabulary(tuple(relations), labels, kind="relation")
    columns = 3 if relations else 2
    train, valid, test = (_fact_ids(it, columns, split) for split, it in splits.items())
    notes = tuple(_notes(train, valid, test))
    return Dataset(name, entities, related, train, valid, test, subjects, objects, notes=notes)


def _notes(train: Facts, valid: Facts, test: Facts) -> Iterator[str]:
    """Sentences on facts that occur twice."""
    from whereof.data.extend import is_in  # slow to import

    if n_repeated := len(train) - len(np.unique(train, axis=0)):
        yield f"facts: {count(n_repeated, 'duplicate')}; every fact keeps its own id"
    for split, facts in (("valid", valid), ("test", test)):
        if n_known := int(is_in(facts, train).sum()):
            yield (
                f"{split}: {n_known:,} of {count(len(facts), 'fact')} can also be found in "
                "training, so the metrics look too good"
            )


def _fact_ids(facts: ArrayLike | None, columns: int, split: str) -> Facts:
    """(n, 3) ids; the dataset checks that they exist."""
    ids = as_array([] if facts is None else facts, split)
    if not ids.size and ids.shape in ((0,), (0, columns), (0, 3)):
        return np.empty((0, 3), np.int32)
    whole = np.issubdtype(ids.dtype, np.integer)
    if ids.ndim != 2 or ids.shape[1] not in (columns, 3) or not whole:
        raise WhereofError(
            f"{split} is {ids.dtype} of shape {ids.shape}; give (n, {columns}) whole numbers, the "
            "positions of their names"
        )
    if not 0 <= ids.min() <= ids.max() <= np.iinfo(np.int32).max:
        raise WhereofError(
            f"{split} has ids from {ids.min()} to {ids.max()}; ids are positions, counted from 0"
        )
    if ids.shape[1] == 2:
        ids = np.insert(ids, 1, 0, axis=1)
    return np.ascontiguousarray(ids, np.int32)


def _slots(trace: Any, n_facts: int, widths: Widths, n_directions: int) -> NDArray[Any] | None:
    """(n_facts, trace width) from (n_facts, slots, width), from a tuple of slots, or unchanged."""
    if trace is None:
        return None
    slots = (part.stop - part.start for part in widths.slots(n_directions))
    wanted = [width for width in slots if width]  # two-way data has no relation rows
    if isinstance(trace, tuple):
        arrays = (_native(part, "trace") for part in trace)
        parts = [part.reshape(*part.shape[:1], prod(part.shape[1:])) for part in arrays]
        parts = [part for part in parts if part.shape != (n_facts, 0)]
        shapes = [part.shape for part in parts]
        if shapes == [(n_facts, width) for width in wanted]:
            return np.concatenate(parts, axis=1)
        found = f"{len(shapes)} slots of {shapes[:4]}"
    else:
        array = _native(trace, "trace")
        as_slots = (n_facts, len(wanted), wanted[0]) if len(set(wanted)) == 1 else None
        if array.shape in (as_slots, (n_facts, sum(wanted))):
            return array.reshape(n_facts, sum(wanted))
        found = f"of shape {array.shape}"
    needed = ", ".join(str((n_facts, width)) for width in wanted)
    raise WhereofError(
        f"the trace is {found}; these facts need slots of {needed}: the trace belongs to other "
        "data or another model"
    )


def _native(values: Any, name: str) -> NDArray[Any]:
    """An array in a precision and byte order that kernels accept."""
    array = as_array(values, name)
    if np.ma.is_masked(values):
        raise WhereofError(f"{name} has masked numbers; fill them first")
    if array.dtype.kind not in "fiu":
        raise WhereofError(f"{name} must have numbers, not {array.dtype}")
    if array.dtype.kind != "f" or array.dtype.itemsize > np.dtype(np.float64).itemsize:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def as_array(values: Any, name: str) -> NDArray[Any]:
    """An array, or an error that names it."""
    try:
        return np.asarray(values)
    except ValueError:
        raise WhereofError(f"{name} has rows of several lengths; give them one length") from None
    except (RuntimeError, TypeError) as error:  # of a tensor that is trained, or on a GPU
        raise WhereofError(f"{name} is not an array: {error}") from None
