"""The public face: train a model, open a run, ask it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike, NDArray

from whence.data import Dataset, ReadOptions, ratings_as_objects, read_dataset
from whence.errors import WhenceError
from whence.models import Model, find_model
from whence.run import ArrayRun, Arrays, RunFolder, RunWriter, check_memory, gather_arrays
from whence.settings import Settings
from whence.training import MachineOptions, TrainConfig, asks_for_objects, choose_config
from whence.training.results import Interrupted, Parameters, Validation, Watch
from whence.types import Rows

if TYPE_CHECKING:
    from whence.explain import Explanation, Failed, Trained
    from whence.files import Advanced, Written, WrittenExplanations
    from whence.models.scoring import Scorer
    from whence.predict import Answers
    from whence.training._problem import Problem

# Numba, and all that is compiled by it, is imported in the functions that compute.


def train(
    data: Any,
    *,
    out: str | Path | None = None,
    preset: str | None = None,
    watch: Watch | None = None,
    **settings: Any,
) -> "Run":
    """Train a model and keep all of it in a run folder.

    Parameters
    ----------
    data
        A file, a folder with train, valid and test files, a name of the catalogue, a table of
        pandas, polars or Arrow, or a Dataset.
    out
        The folder to make; by default one under `runs/` named after dataset and model.
    preset
        `paper` for the setting of the paper; explicit settings override it.
    watch
        Told of progress, and asked whether to stop.
    **settings
        Fields of `whence.ReadOptions`, such as columns and valid_fraction, of
        `whence.TrainConfig`, such as model, dim, epochs and seed, and of
        `whence.MachineOptions`, such as threads.
    """
    watch = watch or Watch()
    machine = MachineOptions(**_taken(MachineOptions, settings))
    options = _taken(ReadOptions, settings)
    dataset = _dataset(data, options, watch, objects_if_rated=asks_for_objects(preset, settings))
    config = choose_config(dataset, preset, settings)
    problem = _problem(dataset, config)  # says what is wrong before anything is written
    check_memory(problem.row_bytes)
    path = Path(out) if out is not None else free_path(f"{dataset.name}-{config.model}")
    share = machine.memory_share
    writer = RunWriter.create(path, dataset, problem.config, problem.n_bytes, share)
    return _train(writer, dataset, problem, machine, watch)


def resume(path: str | Path, *, watch: Watch | None = None, **options: Any) -> "Run":
    """Go on with a run that was interrupted; a finished one is opened.

    Parameters
    ----------
    path
        The folder of the run.
    watch
        Told of progress, and asked whether to stop.
    **options
        Fields of `whence.MachineOptions`.
    """
    machine = MachineOptions.from_dict(options)
    writer = RunWriter.resume(Path(path), machine.memory_share)
    if writer.manifest.finished:
        writer.sweep()
        return Run.open(path)
    dataset = writer.dataset
    problem = _problem(dataset, TrainConfig.from_dict(writer.manifest.config))
    return _train(writer, dataset, problem, machine, watch or Watch())


def _taken(table: type[Settings], settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of one table, taken out of all."""
    return {name: settings.pop(name) for name in table.names() if name in settings}


def free_path(name: str) -> Path:
    """A folder under `runs/` that does not exist yet."""
    first = Path("runs") / name
    later = (first.with_name(f"{name}-{number}") for number in count(2))
    return first if not first.exists() else next(path for path in later if not path.exists())


class Run:
    """A trained run: its config, data, parameters, trace and metrics, and what it answers."""

    def __init__(self, folder: RunFolder | ArrayRun) -> None:
        self._folder = folder
        self.path, self.config, self.model = folder.path, folder.config, folder.model

    @classmethod
    def open(cls, path: str | Path, *, check: bool = False) -> "Run":
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
    ) -> "Run":
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
        return _scorer(self.model, rows, self.dataset, self.config)

    def predict(self, *names: str | None, top: int | None = 10, new: bool = False) -> "Answers":
        """Ranked answers to a query, the `top` most probable or, with None, every candidate.

        ("egypt", "embassy") asks for objects, ("_", "embassy", "usa") for subjects, and a whole
        triple for that one answer; two-way runs leave the relation out. `new` leaves out answers
        known from training or validation.
        """
        from whence.predict import check_top, find_query, predict

        check_top(top)
        query = find_query(self.dataset, names, inverse=self.config.inverse)
        return predict(self.scorer, self.dataset, query, top, new=new)

    def predict_many(
        self, queries: Iterable[Sequence[str | None]], top: int | None = 10, *, new: bool = False
    ) -> Iterator["Answers"]:
        """Answers to many queries, in their order, computed while they are taken.

        Each query is what `predict` takes; the answers are the same, on all cores.
        """
        from whence.predict import check_top, find_query, predict_many

        check_top(top)
        data, inverse = self.dataset, self.config.inverse
        found = (find_query(data, names, inverse=inverse) for names in queries)
        return predict_many(self.scorer, data, found, top, new=new)

    def predict_file(
        self,
        queries: str | Path,
        out: str | Path,
        *,
        top: int | None = 10,
        new: bool = False,
        force: bool = False,
        advanced: "Advanced | None" = None,
    ) -> "Written":
        """Answer a file of queries into a file; it is there when it is complete, or not at all.

        Parameters
        ----------
        queries
            One query a line, TAB-separated, or by commas in a .csv file; either may be gzipped. All
            are checked before any is answered.
        out
            The file to make, by its ending: .tsv, .txt, .csv or .jsonl, each also with .gz, or
            .parquet.
        top
            How many answers to a query; None for all.
        new
            Leave out answers known from training or validation.
        force
            Overwrite a file that exists.
        advanced
            Told how many queries are answered, and of how many.
        """
        from whence.files import read_queries, write_answers
        from whence.predict import check_top, predict_many

        check_top(top)
        found = read_queries(Path(queries), self.dataset, inverse=self.config.inverse)
        answers = predict_many(self.scorer, self.dataset, found, top, new=new)
        return write_answers(Path(out), answers, len(found), force=force, advanced=advanced)

    @cached_property
    def _trained(self) -> "Trained":
        from whence.explain import Trained

        folder = self._folder
        return Trained(
            self.scorer,
            self.dataset,
            self.config,
            folder.adjacency,
            folder.trace,
            lambda: folder.checkpoints,
        )

    def explain(self, *names: str | None, **options: Any) -> "Explanation":
        """Which training facts made the model predict a triple, ranked by influence.

        Parameters
        ----------
        *names
            Subject, relation and object; two-way runs leave the relation out. An open place, None
            or "_", stands for its top answer that is new.
        **options
            Fields of `whence.ExplainOptions`, such as method, top, of, opposing and without. With
            top=None every adjacent fact is listed.
        """
        from whence.explain import ExplainOptions, explain

        return explain(self._trained, names, ExplainOptions.from_dict(options))

    def explain_many(
        self,
        predictions: Iterable[Sequence[str | None]],
        *,
        threads: int | None = None,
        **options: Any,
    ) -> Iterator["Explanation | Failed"]:
        """Explanations of many predictions, in their order, computed while they are taken.

        Each prediction is what `explain` takes, and `options` are the same; all cores share them,
        or so many `threads`. One that cannot be explained becomes a `whence.Failed` with `line`,
        its number from 1 on, and `message`, and the others go on.
        """
        from whence.explain import ExplainOptions, as_questions, explain_many

        chosen = ExplainOptions.from_dict(options)
        return explain_many(self._trained, as_questions(predictions), chosen, threads)

    def explain_file(
        self,
        predictions: str | Path,
        out: str | Path,
        *,
        split: str = "test",
        limit: int | None = None,
        threads: int | None = None,
        resume: bool = False,
        force: bool = False,
        advanced: "Advanced | None" = None,
        **options: Any,
    ) -> "WrittenExplanations":
        """Explain many predictions into a file, which is there when it is complete.

        What is finished is kept beside it meanwhile: after an interruption the same call goes on
        where it stopped, and the file is the same to the byte.

        Parameters
        ----------
        predictions
            `top` for the top new answer of every query of a split, `true` for the facts of the
            split themselves, or a file: one prediction a line, TAB-separated, or by commas in a
            .csv file; either may be gzipped.
        out
            The file to make, by its ending: .jsonl, .tsv, .txt or .csv, each also with .gz, or
            .parquet.
        split
            For `top` and `true`: test, valid or train.
        limit
            Only the first so many.
        threads
            How many explain at a time; by default, one a core.
        resume
            Go on with work that was interrupted, and never begin it.
        force
            Begin anew, and overwrite a file that exists.
        advanced
            Told how many predictions are explained, and of how many.
        **options
            As `explain` takes them.
        """
        from whence.explain import ExplainOptions, explain_many
        from whence.files import Task, find_questions, write_explanations

        chosen = ExplainOptions.from_dict(options)
        questions = find_questions(self._trained, predictions, split, limit, chosen.asks)
        task = Task(Path(out), force=force, resume=resume)
        explain = partial(explain_many, self._trained, options=chosen, threads=threads)
        run = self._folder.fingerprint
        return write_explanations(explain, questions, chosen, task, run=run, advanced=advanced)

    def summary(self) -> dict[str, Any]:
        """What `whence train --json` prints."""
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
        """What `whence info --json` prints: the summary, the config and the files."""
        if isinstance(self._folder, ArrayRun):
            return {**self.summary(), "config": self._folder.known_settings}
        manifest = self._folder.manifest
        return {
            "format": manifest.format,
            "whence": manifest.whence,
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

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else repr(str(self.path))
        return f"Run({place}, {self.config.model}, {self.dataset.n_facts:,} facts)"


def _problem(dataset: Dataset, config: TrainConfig) -> "Problem":
    from whence.training._problem import Problem

    return Problem(
        model=find_model(config.model),
        config=config,
        facts=dataset.train,
        n_entities=dataset.n_entities,
        n_relations=dataset.n_relations,
        subjects=dataset.subjects,
        objects=dataset.objects,
        targets=dataset.ratings.standardised() if dataset.ratings else None,
    )


def _train(
    writer: RunWriter,
    dataset: Dataset,
    problem: "Problem",
    machine: MachineOptions,
    watch: Watch,
) -> Run:
    """Train into a run folder, take the metrics of the best epoch, and finish the folder."""
    from whence.evaluate.splits import SplitEvaluator
    from whence.training.fit import fit

    config = problem.config
    evaluator = SplitEvaluator(dataset, config, machine.threads)

    def validate(rows: Parameters) -> Validation:
        return evaluator.validate(_scorer(problem.model, rows, dataset, config))

    validates = config.validate_every and len(dataset.valid)
    watch.started(writer.start(problem.trace_width))
    try:
        seconds = machine.checkpoint_seconds
        progress = fit(problem, writer, validate if validates else None, watch, seconds)
    except Interrupted:
        writer.close()
        raise Interrupted(f"interrupted; go on with: whence train --resume {writer.path}") from None
    except BaseException:
        writer.discard()
        raise
    best = writer.best(progress.best_epoch)
    scorer = _scorer(problem.model, best.parameters, dataset, config)
    metrics = {split: evaluator.evaluate(scorer, split) for split in ("valid", "test")}
    writer.finish(progress, best, metrics)
    return Run.open(writer.path)


def _scorer(model: Model, rows: Parameters, dataset: Dataset, config: TrainConfig) -> "Scorer":
    from whence.models.scoring import Scorer

    scorer = Scorer(model, rows.entity_rows, rows.relation_rows)
    if config.loss != "squared" or dataset.ratings is None:
        return scorer
    return replace(scorer, scale=dataset.ratings.deviation, offset=dataset.ratings.mean)


def _dataset(
    data: Any, options: dict[str, Any], watch: Watch, *, objects_if_rated: bool
) -> Dataset:
    if not isinstance(data, Dataset):
        return read_dataset(
            data, progress=watch.downloading, objects_if_rated=objects_if_rated, **options
        )
    if options:
        raise WhenceError(f"a Dataset is read already; leave out {', '.join(options)}")
    return ratings_as_objects(data) if objects_if_rated and data.ratings else data
