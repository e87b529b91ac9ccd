"""Evaluations: run protocols on samples for every seed; typed results, to JSON and back."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from whereof import registry
from whereof.chart import Chart
from whereof.errors import WhereofError
from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import (
    Protocol,
    count_method,
    count_retrainings,
    no_results,
    protocols,
)
from whereof.evaluate.sample import Retraining, Sample, Task, pick
from whereof.evaluate.statistics import mean_size
from whereof.evaluate.suite import SUITES, Faithfulness
from whereof.evaluate.variant import find_variant
from whereof.events import Foreseen
from whereof.predict.predictions import stand_alike
from whereof.predict.scored import Trained
from whereof.retrain.retrainer import Case, control_differs
from whereof.run.files import check_seal, parse_json
from whereof.table import Column, Table, Tabular, table_from
from whereof.units import count, show

_REMEDY = "give a file that `whereof evaluate --json` printed"
_NOT_IN_DOCUMENT = "retrainings", "results"
"""Fields of an `Evaluation` that are not fields of its document."""


@dataclass(frozen=True)
class Section:
    """A protocol's results, ready to be shown."""

    name: str
    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    headline: str = ""
    """The main result in one sentence; empty if there is none."""


@dataclass(frozen=True)
class Evaluation(Tabular):
    """What all protocols found. Each field of a protocol is an attribute: `found.removal`."""

    run: str
    dataset: str
    model: str
    config: dict[str, Any]
    """Of the first seed."""
    seeds: tuple[int, ...]
    predictions: str
    """top, true or the name of a file."""
    split: str | None
    """None for those of a file."""
    options: dict[str, Any]
    """The fields of `whereof.EvaluateOptions`."""
    n_predictions: int
    n_adjacent_mean: float
    n_adjacent_std: float
    results: dict[str, Any] = field(default_factory=dict)
    """By field of the document; those of protocols that did not run are empty."""
    explain_seconds: dict[str, float] | None = None
    """Seconds for one explanation, by method: the mean."""
    explain_seconds_seeds: dict[str, tuple[float, ...]] | None = None
    control_matches_run: bool = True
    n_retrainings: int = 0
    """Distinct retrainings behind the results."""
    n_known: int = 0
    """Of these, the number that the run's journal had already."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    retrainings: tuple[Retraining, ...] = field(default=(), repr=False)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["results"][name]
        except KeyError:
            raise AttributeError(f"an evaluation has no {name!r}") from None

    def __str__(self) -> str:
        said = (sentence for section in self.sections() for sentence in section.sentences)
        return "\n".join([*self.heading(), *said])

    def _repr_html_(self) -> str:
        return str(registry.render("evaluation-html", self))

    def to_dict(self) -> dict[str, Any]:
        """The document that `whereof evaluate --json` prints, without single retrainings."""
        own = {name: value for name, value in vars(self).items() if name not in _NOT_IN_DOCUMENT}
        return dict(plain(own | no_results() | self.results))

    def to_arrow(self, part: str | None = None) -> Any:
        """An Arrow table of one part of the document, such as removal: a row for each of its rows.

        Without `part`, it is the first part of the first protocol. `retrainings` has one row per
        prediction and retraining; an evaluation that was read from a file does not have it.
        """
        names = [name for each in self._ran for name in each.fields]
        rows = {name: self.results[name] for name in names if self.results.get(name)}
        rows |= {"retrainings": self.retrainings} if self.retrainings else {}
        if not rows:
            raise WhereofError("this evaluation has no results")
        found = rows.get(part or next(iter(rows)))
        if found is None:
            raise registry.unknown("part", str(part), rows)
        return table_from(plain(found if isinstance(found, tuple) else [found]))

    @classmethod
    def from_dict(cls, document: Any, name: str = "the evaluation") -> "Evaluation":
        """An evaluation from its document; `name` says where that comes from."""
        if not isinstance(document, dict):
            raise WhereofError(f"{name} is not an evaluation; {_REMEDY}")
        own = {key: value for key, value in document.items() if key not in _NOT_IN_DOCUMENT}
        found: Evaluation = replace(convert(own, cls, name), results=no_results())
        for each in protocols():
            for key, kind in each.fields.items():
                if key in document:
                    found.results[key] = convert(document[key], kind, f"{name}: {key}")
        return found

    @classmethod
    def read(cls, path: Path) -> "Evaluation":
        """An evaluation from a JSON file."""
        if path.is_char_device():  # /dev/zero has no end
            raise WhereofError(f"{path} is a device; name a file")
        try:
            document = parse_json(path.read_text(encoding="utf-8"))
            check_seal(path, document)
            return cls.from_dict(document, str(path))
        except OSError as error:
            raise WhereofError(f"{path}: {error.strerror or error}") from None
        except ValueError as error:
            raise WhereofError(f"{path} is not JSON: {error}; {_REMEDY}") from None

    def to_file(self, path: str | Path, *, force: bool = False) -> None:
        """Write every single retraining as a row of a file.

        The ending says how: .parquet, or .jsonl, .tsv, .txt or .csv, each also with .gz.
        """
        registry.render("retrainings-file", Path(path), map(vars, self.retrainings), force)

    @property
    def rated(self) -> bool:
        """Whether this is a rating model: ratings take the place of probabilities."""
        return self.config.get("loss") == "squared"

    @property
    def quantity(self) -> str:
        """The quantity that facts influence: probability or rating."""
        return "rating" if self.rated else "probability"

    @property
    def quantities(self) -> str:
        return "ratings" if self.rated else "probabilities"

    def heading(self) -> list[str]:
        """What was evaluated."""
        wanted = {"top": "top new answers", "true": "true facts"}.get(self.predictions)
        source = f"{wanted} of {self.split}" if wanted else self.predictions
        one = len(self.seeds) == 1
        seeds = f"seed {self.seeds[0]}" if one else f"seeds {self.seeds[0]} to {self.seeds[-1]}"
        adjacent = show((self.n_adjacent_mean, self.n_adjacent_std), "mean", "deviation")
        return [
            f"{self.model} on {self.dataset}, {seeds}",
            f"{count(self.n_predictions, 'prediction')}{'' if one else ' each'} ({source}), "
            f"{adjacent} adjacent facts",
        ]

    def ending(self) -> list[str]:
        """The number of retrainings, the time, and warnings."""
        known = f", {self.n_known:,} of them stored already" if self.n_known else ""
        took = show(self.seconds, "seconds")
        lines = [f"{count(self.n_retrainings, 'retraining')}{known}; {took} in total"]
        if not self.control_matches_run:
            figures = "All figures compare retrainings with the control."
            lines.append(f"The control differs from the stored run. {figures}")
        return [*lines, *self.notes]

    @property
    def _suite(self) -> Faithfulness | None:
        return SUITES.get(str(self.options.get("suite")))

    def sections(self) -> Iterator[Section]:
        """The results of every protocol, in the requested order; a suite shows them together."""
        if suite := self._suite:
            yield _section(suite, self)
            return
        for each in self._ran:
            yield _section(each, self)
        if self.explain_seconds:
            columns = Column("method", "method"), Column("seconds", "time", "seconds")
            times = Table("seconds", "", columns, [*self.explain_seconds.items()])
            yield Section("seconds", "Time per explanation", tables=(times,))

    def arrays(self) -> dict[str, Any]:
        """Arrays to keep beside the document, by the end of their name."""
        return {name: array for each in self._ran for name, array in each.arrays(self).items()}

    @property
    def _ran(self) -> list[Protocol]:
        """The protocols with results, in the requested order."""
        order = {name: number for number, name in enumerate(self.options.get("protocols", ()))}
        ran = [each for each in protocols() if any(map(self.results.get, each.fields))]
        return sorted(ran, key=lambda each: order.get(each.name, len(order)))


@dataclass(frozen=True)
class StoredEvaluations:
    """The evaluations of a run's folder."""

    found: tuple[Evaluation, ...]
    notes: tuple[str, ...]
    """About files that cannot be read."""


def read_evaluations(paths: Sequence[Path]) -> StoredEvaluations:
    """Read evaluations; those that cannot be read are left out."""
    found, notes = list[Evaluation](), list[str]()
    for path in paths:
        try:
            found.append(Evaluation.read(path))
        except WhereofError as error:
            wrong = str(error).partition(";")[0]
            notes.append(f"an evaluation is left out: {wrong}; evaluate again, or remove it")
    return StoredEvaluations(tuple(found), tuple(notes))


def _section(part: Protocol | Faithfulness, found: Evaluation) -> Section:
    return Section(
        part.name,
        part.title,
        tuple(part.sentences(found)),
        tuple(part.tables(found)),
        tuple(part.charts(found)),
        part.headline(found),
    )


def usual_options(trained: Trained, default_method: str) -> dict[str, Any]:
    """Methods and sizes unless they are named; without a trace, only those that need none."""
    methods = [*dict.fromkeys([default_method, *str(EvaluateOptions.methods).split(",")])]
    untraced = [text for text in methods if "trace" not in find_variant(text).method.needs]
    if trained.trace is not None or default_method not in untraced:
        return {"methods": methods}
    return {"methods": untraced, "k": [1, 10]}


def check_possible(case: Case, options: EvaluateOptions, threads: int | None = None) -> None:
    """Find out early if the run lacks something: explain one prediction with every quick method."""
    asked = protocols(options.protocols)
    chosen = options.methods if any(each.by_method for each in asked) else ()
    needed = dict.fromkeys([*chosen, *(name for each in asked for name in each.uses)])
    if case.trained.trace is None:
        traced = [name for name in needed if "trace" in find_variant(name).method.needs]
        lacking = [each.name for each in asked if set(each.uses) & set(traced)]
        lacking += [name for name in traced if name in chosen]
        if lacking:
            raise WhereofError(
                f"this run has no trace, which {', '.join(lacking)} requires; train it without "
                "--no-trace, or choose methods gradient-dot,random and k 1,10"
            )
    own = [name for name in needed if not find_variant(name).trained]
    ready = list[str]()
    for name in own:
        method = find_variant(name).method
        method.check(case.trained)
        if not (method.retrains or method.prepares == "predictions"):
            ready.append(name)
    sample = pick(case, replace(options, limit=1), threads)
    for name in ready:
        sample.rank(name, 1)
    if any(each.by_size for each in asked):
        for name in set(ready).intersection(chosen):
            sample.choose(name, options.sizes)


def evaluate(
    open_seeds: Callable[..., Sequence[Case]],
    options: EvaluateOptions,
    names: tuple[str, str],
    threads: int | None = None,
) -> Evaluation:
    """Run the protocols on the cases of all seeds and on their variants.

    open_seeds: opens a number of seeds, with settings changed. names: of the run and its dataset.
    """
    start = time.perf_counter()
    picked: dict[Case, Sample] = {}
    trained = [each for each in map(find_variant, options.methods) if each.trained]

    def sample_seeds(**changes: Any) -> list[Sample]:
        cases = open_seeds(options.seeds, **changes)
        others = {
            each.text: open_seeds(options.seeds, **{**changes, **each.trained}) for each in trained
        }
        for at, case in enumerate(cases):
            if case not in picked:
                mine = {text: theirs[at] for text, theirs in others.items()}
                picked[case] = pick(case, options, threads, mine)
        return [picked[case] for case in cases]

    seeds, asked, tasks = sample_seeds(), protocols(options.protocols), []
    options = seeds[0].options  # with the split
    for each in asked:
        variants = each.variants(options).items()
        others = {name: sample_seeds(**changes) for name, changes in variants}
        tasks.append(Task(each.name, options, seeds, others))
    samples = [*picked.values()]
    _retrain(tasks, samples, options)
    results = no_results()
    for each, task in zip(asked, tasks, strict=True):
        results |= each.run(task)
    config, n_adjacent = seeds[0].case.trained.config, np.concatenate([s.n_adjacent for s in seeds])
    same = [stand_alike(s.case.stand(s.arrays), s.ask([]).control) for s in samples]
    pairs = zip(samples, same, strict=True)
    differing = (control_differs(it.case.trained) for it, is_same in pairs if not is_same)
    cases = {case for sample in samples for case in (sample.case, *sample.others.values())}
    n_retrainings = sum(len(case.retrainer.asked) for case in cases)
    methods = dict.fromkeys(name for sample in samples for name in sample.seconds)
    seconds = {m: tuple(s.seconds[m] for s in samples if m in s.seconds) for m in methods}
    return Evaluation(
        *names,
        model=config.model,
        config=config.to_dict(),
        seeds=tuple(sample.case.seed for sample in seeds),
        predictions=Path(options.predictions).name,
        split=options.split,
        options=options.to_dict(),
        n_predictions=mean_size(seeds),
        n_adjacent_mean=float(n_adjacent.mean()),
        n_adjacent_std=float(n_adjacent.std()),
        results=results,
        explain_seconds={name: float(np.mean(each)) for name, each in seconds.items()} or None,
        explain_seconds_seeds=seconds or None,
        control_matches_run=all(same),
        n_retrainings=n_retrainings,
        n_known=n_retrainings - sum(len(case.retrainer.trained) for case in cases),
        seconds=time.perf_counter() - start,
        notes=tuple(dict.fromkeys([*(note for it in samples for note in it.notes), *differing])),
        retrainings=tuple(row for task in tasks for row in task.retrainings),
    )


def _retrain(tasks: Sequence[Task], samples: Sequence[Sample], options: EvaluateOptions) -> None:
    """Announce all retrainings, then do those known beforehand: large batches are faster."""
    mine = {task.name: [*chain(*task.variants.values())] or task.seeds for task in tasks}
    asked = {s: [name for name, theirs in mine.items() if s in theirs] for s in samples}
    n_all = 0
    for sample, names in asked.items():
        n_all += count_retrainings(names, options, sample.size)
        others = map(find_variant, sample.others)
        n_all += sum(count_method(each, names, options, sample.size) for each in others)
    samples[0].case.retrainer.events.emit(Foreseen(n_all))
    # Methods that retrain choose facts for other protocols, and then find their own retrained.
    retrains = any(find_variant(text).method.retrains for text in options.methods)
    for sample, names in asked.items():
        for first in (True, False) if retrains else (None,):
            chosen = [each for each in protocols(names) if first in (None, each.repeated)]
            sample.ask([job for each in chosen for job in each.jobs(sample, options)])


def plain(value: Any) -> Any:
    """A value as JSON: dicts, lists, and None for numbers that are not finite."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=np.generic.item))


def convert(value: Any, kind: Any, name: str) -> Any:
    """A part of a document as its type."""
    try:
        return msgspec.convert(_with_nan(value, kind), kind)
    except msgspec.ValidationError as error:
        raise WhereofError(f"{name}: {error}; {_REMEDY}") from None


def _with_nan(value: Any, kind: Any) -> Any:
    """NaN in place of null where the type is a number: JSON has no NaN."""
    kinds = [each for each in get_args(kind) if each not in (NoneType, ...)]
    if value is None:
        return math.nan if kind is float else None
    if NoneType in get_args(kind) and len(kinds) == 1:
        return _with_nan(value, kinds[0])
    if isinstance(value, list) and get_origin(kind) is tuple:
        return [*map(_with_nan, value, chain(kinds, repeat(kinds[-1])))]
    if isinstance(value, dict) and (kinds or is_dataclass(kind)):
        hints = get_type_hints(kind) if is_dataclass(kind) else dict.fromkeys(value, kinds[-1])
        return {name: _with_nan(each, hints.get(name)) for name, each in value.items()}
    return value
