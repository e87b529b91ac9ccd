"""A run from arrays in memory, trained by other software."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whereof.data.dataset import Dataset
from whereof.data.indexes import Adjacency
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.models import Model, Widths, find_model
from whereof.training.config import TrainConfig
from whereof.training.results import Checkpoint
from whereof.types import Facts, Rows

_KNOWN = ("model", "dim", "inverse", "precision", "loss", "trace")
"""The settings that are known from the arrays."""


class ArrayRun:
    """The content of a run folder, in memory. How it was trained is not known."""

    path: Path | None = None

    def __init__(
        self, dataset: Dataset, config: TrainConfig, rows: tuple[Rows, Rows], trace: Any
    ) -> None:
        self.dataset, self.config = dataset, config
        self.entity_rows, self.relation_rows = rows
        self.trace: NDArray[Any] | None = trace
        self.metrics: dict[str, Any] = {}
        self.result: dict[str, Any] = {}
        self.history: list[dict[str, float]] = []
        self.checkpoints: list[Checkpoint] = []
        self.adjacency = Adjacency.of(dataset.train, dataset.n_entities, dataset.n_relations)

    @property
    def model(self) -> Model:
        return find_model(self.config.model)

    @property
    def known_settings(self) -> dict[str, Any]:
        """The settings that are known from the arrays."""
        config = self.config.to_dict()
        return {name: config[name] for name in _KNOWN}

    @property
    def fingerprint(self) -> str:
        """A hash of its facts, rows and trace."""
        digest = hashlib.sha256(f"{self.dataset.hash} {self.config}".encode())
        for array in (self.entity_rows, self.relation_rows, self.trace):
            if array is not None:
                digest.update(np.ascontiguousarray(array).ravel().view(np.uint8).data)
        return digest.hexdigest()

    @property
    def about(self) -> dict[str, Any]:
        """Name and sizes of the dataset."""
        data = self.dataset
        sizes = {name: getattr(data, name) for name in ("n_facts", "n_entities", "n_relations")}
        return {"name": data.name, **sizes}


def gather_arrays(
    *,
    model: str,
    entities: Sequence[Any],
    relations: Sequence[Any] | None,
    facts: ArrayLike,
    entity_rows: ArrayLike,
    relation_rows: ArrayLike | None,
    trace: Any,
    loss: str,
    labels: Mapping[str, str] | None,
    n_subjects: int | None,
) -> ArrayRun:
    """Check the arrays of a trained model and make a run of them; see `Run.from_arrays`."""
    rows = _floats(entity_rows, "entity_rows")
    n_entities, width = rows.shape
    if n_entities != len(entities):
        raise WhereofError(f"entity_rows has {n_entities} rows for {len(entities)} entities")
    scoring = find_model(model)
    related = [] if relations is None else [*map(str, relations)]
    scoring.check_columns(two_way=not related)
    dims = (dim for dim in range(1, width + 1) if scoring.widths(dim).entity == width)
    dim = next(dims, None)
    if dim is None:
        raise WhereofError(
            f"entity_rows has width {width}, which is impossible for {model}; check the model"
        )
    widths = scoring.widths(dim)
    its_relation_rows = _relation_rows(relation_rows, len(related), widths, rows.dtype)
    data = _dataset([*map(str, entities)], related, facts, labels or {}, n_subjects)
    config = TrainConfig(
        model=model,
        dim=dim,
        inverse=len(its_relation_rows) == 2 * max(len(related), 1),
        precision=rows.dtype.name,
        loss=loss,
        trace=trace is not None,
    )
    slots = _slots(trace, data.n_facts, widths, 1 + config.inverse)
    return ArrayRun(data, config, (rows, its_relation_rows), slots)


def _floats(values: ArrayLike, name: str) -> Rows:
    """(n, width) numbers; single and double precision are kept."""
    array = _native(values)
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
    if values is None and widths.relation:
        raise WhereofError(f"relation_rows is None; this model needs rows of {widths.relation}")
    if values is None:
        values = np.zeros((max(n_relations, 1), widths.relation), dtype)
    rows = _floats(values, "relation_rows").astype(dtype, copy=False)
    if rows.shape[1] != widths.relation:
        raise WhereofError(
            f"relation_rows has width {rows.shape[1]}; this model needs {widths.relation}"
        )
    if len(rows) not in (max(n_relations, 1), 2 * max(n_relations, 1)):
        raise WhereofError(
            f"relation_rows has {len(rows)} rows for {n_relations} relations; give one row per "
            "relation, or two with inverses: first all relations, then all inverses"
        )
    return rows


def _dataset(
    names: list[str],
    relations: list[str],
    facts: ArrayLike,
    labels: Mapping[str, str],
    n_subjects: int | None,
) -> Dataset:
    ids = _fact_ids(facts, len(names), len(relations))
    subjects = objects = range(len(names))
    if n_subjects is not None:
        if not 0 < n_subjects < len(names):
            raise WhereofError(f"n_subjects is {n_subjects}; choose 1 to {len(names) - 1}")
        subjects, objects = range(n_subjects), range(n_subjects, len(names))
    # A subject and an object may have the same name if no entity is both.
    parts = [names] if objects == subjects else [names[:n_subjects], names[n_subjects:]]
    for kind, some in (*(("entities", part) for part in parts), ("relations", relations)):
        if len(set(some)) != len(some):
            raise WhereofError(f"{kind} has a name twice; give every row its own name")
    nothing = np.empty((0, 3), np.int32)
    return Dataset(
        name="arrays",
        entities=Vocabulary(tuple(names), labels),
        relations=Vocabulary(tuple(relations), labels, kind="relation"),
        train=ids,
        valid=nothing,
        test=nothing,
        subjects=subjects,
        objects=objects,
    )


def _fact_ids(facts: ArrayLike, n_entities: int, n_relations: int) -> Facts:
    ids = np.asarray(facts)
    columns = 3 if n_relations else 2
    if (
        ids.ndim != 2
        or ids.shape[1] not in (columns, 3)
        or not np.issubdtype(ids.dtype, np.integer)
    ):
        raise WhereofError(
            f"facts are {ids.dtype} of shape {ids.shape}; give (n, {columns}) whole numbers, the "
            "positions of their names"
        )
    if len(ids) and not 0 <= ids.min() <= ids.max() < max(n_entities, n_relations):
        raise WhereofError(
            f"facts have ids from {ids.min()} to {ids.max()}, and there are {n_entities} entities "
            f"and {n_relations} relations; ids count from 0"
        )
    if ids.shape[1] == 2:
        ids = np.column_stack([ids[:, 0], np.zeros(len(ids), ids.dtype), ids[:, 1]])
    return np.ascontiguousarray(ids, np.int32)


def _slots(trace: Any, n_facts: int, widths: Widths, n_directions: int) -> NDArray[Any] | None:
    """(n_facts, trace width) from (n_facts, slots, width), from a tuple of slots, or unchanged."""
    if trace is None:
        return None
    wanted = [part.stop - part.start for part in widths.slots(n_directions)]
    wanted = [width for width in wanted if width]  # two-way data has no relation rows
    if isinstance(trace, tuple):
        parts = [_native(part) for part in trace]
        parts = [part.reshape(len(part), -1) if part.size else part for part in parts]
        parts = [part for part in parts if part.shape != (n_facts, 0)]
        shapes = [part.shape for part in parts]
        if shapes == [(n_facts, width) for width in wanted]:
            return np.concatenate(parts, axis=1)
        found = f"{len(shapes)} slots of {shapes[:4]}"
    else:
        array = _native(trace)
        as_slots = (n_facts, len(wanted), wanted[0]) if len(set(wanted)) == 1 else None
        if array.shape in (as_slots, (n_facts, sum(wanted))):
            return array.reshape(n_facts, sum(wanted))
        found = f"of shape {array.shape}"
    slots = ", ".join(str((n_facts, width)) for width in wanted)
    raise WhereofError(
        f"the trace is {found}; these facts need slots of {slots}: the trace belongs to other "
        "data or another model"
    )


def _native(values: Any) -> NDArray[Any]:
    """An array in a precision and byte order that kernels accept."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise WhereofError("the rows of an array must have one length") from None
    if array.dtype.kind not in "fiu":
        raise WhereofError(f"the array must have numbers, not {array.dtype}")
    if array.dtype.kind != "f" or array.dtype.itemsize > np.dtype(np.float64).itemsize:
        return array.astype(np.float64)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
