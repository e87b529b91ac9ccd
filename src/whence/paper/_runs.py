"""The runs of the paper's experiments, trained once and opened later."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.api import Run, resume, train
from whence.api._cases import machine_of, sibling
from whence.data import read_dataset
from whence.engines import EngineOptions
from whence.errors import WhenceError
from whence.paper import _published as published
from whence.paper._options import PaperOptions
from whence.paper._plan import FIRST_SEED, Part
from whence.paper._watch import PaperWatch, TrainingWatch
from whence.run import RunFolder
from whence.training import MachineOptions, asks_for_objects, choose_config

if TYPE_CHECKING:
    from whence.training._problem import Problem

_PRESET = "paper"


@dataclass(frozen=True)
class Runs:
    """One run for every setting that parts ask for; other seeds are kept inside it."""

    options: PaperOptions
    watch: PaperWatch
    engine: EngineOptions = field(default_factory=EngineOptions)
    """Where runs are retrained, and trained: what the options ask for, settled."""

    def problem(self, part: Part) -> "Problem":
        """What is trained for a part, before it is."""
        from whence.training._problem import Problem

        settings, where = _settings(part), self.options.data_dir
        dataset = read_dataset(
            published.DATASETS[self.options.dataset],
            progress=self.watch.downloading,
            objects_if_rated=asks_for_objects(_PRESET, settings),
            **({} if where is None else {"data_dir": where}),
        )
        return Problem.of(dataset, choose_config(dataset, _PRESET, settings))

    def open(self, part: Part) -> Run:
        """The run of a part under the first seed, trained where it is not there yet."""
        path = self.options.folder / "runs" / part.run
        watching = TrainingWatch(self.watch)
        if not path.exists():
            self.watch.preparing(part.run)
            return self._train(part, path, watching)
        folder = RunFolder.open(path, unfinished=True)
        _check(folder, part, published.DATASETS[self.options.dataset])
        if folder.manifest.finished:
            return Run.open(path)
        self.watch.preparing(part.run)
        return resume(path, watch=watching, **self._machine.to_dict())

    @property
    def _machine(self) -> MachineOptions:
        return machine_of(self.engine)

    def _train(self, part: Part, path: Path, watching: TrainingWatch) -> Run:
        settings = _settings(part)
        if self.options.data_dir is not None:
            settings["data_dir"] = self.options.data_dir
        return train(
            published.DATASETS[self.options.dataset],
            out=path,
            preset=_PRESET,
            watch=watching,
            **self._machine.to_dict(),
            **settings,
        )

    def seeds(self, run: Run, part: Part) -> list[Run]:
        """The run under every seed of a part."""
        return [self.sibling(run, seed=seed) for seed in part.seeds]

    def sibling(self, run: Run, **changes: Any) -> Run:
        """The run with some settings changed."""
        return sibling(run, TrainingWatch(self.watch), self._machine, **changes)


def _settings(part: Part) -> dict[str, Any]:
    """Over the preset."""
    return {"model": part.model, "seed": FIRST_SEED, **part.settings}


def _check(folder: RunFolder, part: Part, dataset: str) -> None:
    """A folder may hold a run that somebody put there: all its settings are to be the part's."""
    from whence.training._problem import Problem

    if folder.dataset.name == dataset:
        wanted = choose_config(folder.dataset, _PRESET, _settings(part))
        if folder.config == Problem.of(folder.dataset, wanted).config:
            return
    raise WhenceError(f"{folder.path} was trained with other settings; remove it")
