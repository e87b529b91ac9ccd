"""What a trained run holds, opened from its folder or gathered from arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike, NDArray

from whereof.data import Dataset
from whereof.errors import WhereofError
from whereof.models import Model
from whereof.registry import METHODS, names
from whereof.run import ArrayRun, Arrays, RunFolder, gather_arrays
from whereof.training import TrainConfig
from whereof.training.results import Parameters
from whereof.types import Rows

if TYPE_CHECKING:
    from whereof.models.scoring import Scorer
    from whereof.predict.scored import Trained

# Numba, and all that is compiled by it, is imported in the functions that compute.


class Opened:
    """A trained run: its config, data, parameters, trace and metrics."""

    def __init__(self, folder: RunFolder | ArrayRun) -> None:
        self._folder = folder
        self.path, self.config, self.model = folder.path, folder.config, folder.model

    @classmethod
    def open(cls, path: str | Path, *, check: bool = False) -> Self:
        """Open a run folder; what is wrong with it is said in one line.

        Files that have not changed since they were last checked are not read again, unless
        `check` asks for it.
        """
        return cls(RunFolder.open(path, check=check))

    @classmethod
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
    ) -> Self:
        """A run in memory, out of somebody's own training; single and double precision stay.

        Parameters
        ----------
        model
            The scoring function that the rows are of.
        entities, relations
            Names by row; two-way data has no relations.
        facts
            (n, 3) whole numbers: rows of subject, relation and object; (n, 2) in two-way data.
        entity_rows, relation_rows
            (n_entities, width) and (n_relations, width); as many relations again for inverses.
        trace
            (n, 3, width) what each fact changed in the rows of its subject, relation and object; or
            a tuple of those slots, where widths differ or there are inverse relations; or None.
        loss
            What it was trained with: softmax, sigmoid or squared.
        labels
            Labels by name, for reading.
        n_subjects
            How many of the entities are subjects, such as users: they come first, and only the
            others, such as items, compete as objects. Unless given, every entity may be either.
        """
        arrays = Arrays(
            model=model,
            entities=entities,
            relations=relations,
            facts=facts,
            entity_rows=entity_rows,
            relation_rows=relation_rows,
            trace=trace,
            loss=loss,
            labels=labels,
            n_subjects=n_subjects,
        )
        return cls(gather_arrays(arrays))

    @classmethod
    def describe(cls, path: str | Path, *, check: bool = False) -> dict[str, Any]:
        """What `info` says, also of a run that is not finished: then, how far it has come."""
        return cls(RunFolder.open(path, check=check, unfinished=True)).info()

    @property
    def dataset(self) -> Dataset:
        return self._folder.dataset

    @property
    def entity_rows(self) -> Rows:
        """(n_entities, width)."""
        return self._folder.entity_rows

    @property
    def relation_rows(self) -> Rows:
        """(n_relations, width), then as many inverse relations where there are any."""
        return self._folder.relation_rows

    @property
    def trace(self) -> NDArray[Any] | None:
        """(n_facts, trace width), memory-mapped; None for a run trained without one."""
        return self._folder.trace

    @property
    def metrics(self) -> dict[str, Any]:
        """By split and name: filtered MRR and hits, or recall, NDCG and errors of ratings."""
        return self._folder.metrics

    @property
    def history(self) -> list[dict[str, float]]:
        """Of every epoch its loss and, where validated, the metric that picks the best one."""
        return self._folder.history

    @cached_property
    def scorer(self) -> "Scorer":
        rows = Parameters(self.entity_rows, self.relation_rows)
        return make_scorer(self.model, rows, self.dataset, self.config)

    @cached_property
    def _trained(self) -> "Trained":
        from whereof.predict.scored import Trained

        folder = self._folder
        return Trained(
            self.scorer,
            self.dataset,
            self.config,
            folder.adjacency,
            folder.trace,
            lambda: folder.checkpoints,
        )

    def _trained_on(self, device: str, method: str = "rollback") -> "Trained":
        """The same, with removals scored on a device, cpu or cuda, for a method that can."""
        from whereof.explain.method import get_method
        from whereof.training import MachineOptions

        if MachineOptions(device=device).device == "cpu":
            return self._trained
        if "device" not in get_method(method).can:
            able = [name for name in names(METHODS) if "device" in get_method(name).can]
            raise WhereofError(
                f"device cuda is for {' and '.join(able)}, not {method}; leave it out"
            )
        return self._trained_on_card

    @cached_property
    def _trained_on_card(self) -> "Trained":
        from whereof.retrain.cuda import open_backing

        return replace(self._trained, backing=open_backing("device cuda"))

    def summary(self) -> dict[str, Any]:
        """What `whereof train --json` prints."""
        dataset = self._folder.about
        sizes = {name: dataset[name] for name in ("n_facts", "n_entities", "n_relations")}
        return {
            "run": None if self.path is None else str(self.path),
            "dataset": dataset["name"],
            "model": self.config.model,
            **sizes,
            **self._folder.result,
            "metrics": self.metrics,
        }

    def info(self) -> dict[str, Any]:
        """What `whereof info --json` prints: the summary, the config and the files."""
        if isinstance(self._folder, ArrayRun):
            return {**self.summary(), "config": self._folder.known_settings}
        manifest = self._folder.manifest
        return {
            "format": manifest.format,
            "whereof": manifest.whereof,
            "created": manifest.created,
            "finished": manifest.finished,
            **self.summary(),
            "n_valid": manifest.dataset["n_valid"],
            "n_test": manifest.dataset["n_test"],
            "dataset_hash": manifest.dataset["hash"],
            "notes": manifest.dataset["notes"],
            "read": manifest.dataset.get("read", {}),
            "config": manifest.config,
            "history": self.history,
            "files": manifest.files,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """A run is pickled as its path: another process opens the folder itself."""
        if self.path is None:
            raise WhereofError("a run from arrays is only in memory: it cannot go to a process")
        return type(self).open, (str(self.path.absolute()),)

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else repr(str(self.path))
        return f"Run({place}, {self.config.model}, {self.dataset.n_facts:,} facts)"


def make_scorer(model: Model, rows: Parameters, dataset: Dataset, config: TrainConfig) -> "Scorer":
    from whereof.models.scoring import Scorer

    scorer = Scorer(model, rows.entity_rows, rows.relation_rows)
    if config.loss != "squared" or dataset.ratings is None:
        return scorer
    return replace(scorer, scale=dataset.ratings.deviation, offset=dataset.ratings.mean)
