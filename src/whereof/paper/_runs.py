"""The runs of the paper's experiments, trained once and opened later."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whereof.api import Run, resume, train
from whereof.api._cases import machine_of, sibling, sibling_path
from whereof.data import Dataset, read_dataset
from whereof.errors import WhereofError
from whereof.events import Events, Note, TrainingStarted, Validated, Without
from whereof.paper import _published as published
from whereof.paper._options import PaperOptions
from whereof.paper._plan import FIRST_SEED, Part
from whereof.retrain import EngineOptions
from whereof.run import RunFolder
from whereof.training import MachineOptions, asks_for_objects, choose_config

if TYPE_CHECKING:
    from whereof.training.problem import Problem

_PRESET = "paper"


@dataclass(frozen=True)
class Runs:
    """One run for every setting that parts ask for; other seeds are kept inside it."""

    options: PaperOptions
    events: Events
    engine: EngineOptions = field(default_factory=EngineOptions)
    """Where runs are retrained, and trained: what the options ask for, settled."""

    _datasets: dict[bool, Dataset] = field(default_factory=dict, repr=False)
    """Read once, by whether ratings are objects."""

    def dataset(self, part: Part) -> Dataset:
        """What a part is trained on and asked about."""
        objects = asks_for_objects(_PRESET, _settings(part))
        if objects not in self._datasets:
            where = self.options.data_dir
            self._datasets[objects] = read_dataset(
                published.DATASETS[self.options.dataset],
                events=self.events,
                objects_if_rated=objects,
                **({} if where is None else {"data_dir": where}),
            )
        return self._datasets[objects]

    def problem(self, part: Part) -> "Problem":
        """What is trained for a part, before it is."""
        from whereof.training.problem import Problem

        dataset = self.dataset(part)
        return Problem.of(dataset, choose_config(dataset, _PRESET, _settings(part)))

    def lacking(self, part: Part) -> list[Path]:
        """Folders of a part's runs that are still to be trained, or gone on with."""
        path = self._path(part)
        siblings = [sibling_path(path, changes) for changes in part.siblings]
        missing = [sibling for sibling in siblings if not _is_finished(sibling)]
        return missing if self.begun(part) else [path, *missing]

    def begun(self, part: Part) -> bool:
        """Whether the run of a part is there."""
        folder = self._folder(part)
        return folder is not None and folder.manifest.finished

    def open(self, part: Part) -> Run:
        """The run of a part under the first seed, trained where it is not there yet."""
        folder, path = self._folder(part), self._path(part)
        if folder is not None and folder.manifest.finished:
            return Run.open(path)
        quiet, machine = Without(self.events, TrainingStarted, Validated), self._machine.to_dict()
        self.events.emit(Note(f"training {part.run}"))
        if folder is not None:
            return resume(path, events=quiet, **machine)
        settings = _settings(part) | machine
        return train(self.dataset(part), out=path, preset=_PRESET, events=quiet, **settings)

    def _path(self, part: Part) -> Path:
        return self.options.folder / "runs" / part.run

    def _folder(self, part: Part) -> RunFolder | None:
        """Of a part's run, finished or not; None where there is none."""
        path = self._path(part)
        if not path.exists():
            return None
        folder = RunFolder.open(path, unfinished=True)
        _check(folder, part, published.DATASETS[self.options.dataset])
        return folder

    @property
    def _machine(self) -> MachineOptions:
        return machine_of(self.engine)

    def seeds(self, run: Run, part: Part) -> list[Run]:
        """The run under every seed of a part."""
        return [self.sibling(run, seed=seed) for seed in part.seeds]

    def sibling(self, run: Run, **changes: Any) -> Run:
        """The run with some settings changed."""
        return sibling(run, self.events, self._machine, **changes)


def _settings(part: Part) -> dict[str, Any]:
    """Over the preset."""
    return {"model": part.model, "seed": FIRST_SEED, **part.settings}


def _is_finished(path: Path) -> bool:
    """Whether a run is there; one that cannot be opened says so when it is needed."""
    try:
        return RunFolder.open(path, unfinished=True).manifest.finished
    except WhereofError:
        return False


def _check(folder: RunFolder, part: Part, dataset: str) -> None:
    """A folder may hold a run that somebody put there: all its settings are to be the part's."""
    from whereof.training.problem import Problem

    if folder.dataset.name == dataset:
        wanted = choose_config(folder.dataset, _PRESET, _settings(part))
        if folder.config == Problem.of(folder.dataset, wanted).config:
            return
    raise WhereofError(
        f"{folder.path} was trained with other settings; remove it, or choose another -o"
    )
