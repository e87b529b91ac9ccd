"""The runs of the paper's experiments, trained once and opened later."""

from dataclasses import dataclass
from pathlib import Path

from whence.api import Run, resume, train
from whence.errors import WhenceError
from whence.paper import _published as published
from whence.paper._plan import FIRST_SEED, PaperOptions, Part
from whence.paper._watch import PaperWatch, TrainingWatch
from whence.run import RunFolder


@dataclass(frozen=True)
class Runs:
    """One run for every setting that parts ask for; other seeds are kept inside it."""

    options: PaperOptions
    watch: PaperWatch

    def open(self, part: Part) -> Run:
        """The run of a part under the first seed, trained where it is not there yet."""
        path = self.options.folder / "runs" / part.run
        watching = TrainingWatch(self.watch)
        if not path.exists():
            self.watch.preparing(part.run)
            return self._train(part, path, watching)
        if not RunFolder.open(path, unfinished=True).manifest.finished:
            self.watch.preparing(part.run)
            return resume(path, watch=watching)
        run = Run.open(path)
        _check(run, part, published.DATASETS[self.options.dataset])
        return run

    def _train(self, part: Part, path: Path, watching: TrainingWatch) -> Run:
        settings = dict(part.settings)
        if self.options.data_dir is not None:
            settings["data_dir"] = self.options.data_dir
        return train(
            published.DATASETS[self.options.dataset],
            out=path,
            preset="paper",
            watch=watching,
            model=part.model,
            seed=FIRST_SEED,
            **settings,
        )

    def seeds(self, run: Run, constraint: str | None = None) -> list[Run]:
        """The run under every seed, with another constraint if one is named."""
        from whence.api._cases import sibling

        own, found = run.config, []
        for seed in range(FIRST_SEED, FIRST_SEED + self.options.n_seeds):
            wanted = {"constraint": constraint or own.constraint, "seed": seed}
            changes = {name: value for name, value in wanted.items() if getattr(own, name) != value}
            found.append(sibling(run, TrainingWatch(self.watch), **changes))
        return found


def _check(run: Run, part: Part, dataset: str) -> None:
    """A folder may hold a run that somebody put there."""
    config = run.config.to_dict()
    wanted = {"model": part.model, "seed": FIRST_SEED, **part.settings}
    if run.dataset.name != dataset or any(config[name] != wanted[name] for name in wanted):
        raise WhenceError(f"{run.path} was trained with other settings; remove it")
