"""`Run`: a trained run, and what it answers. Each method is a call into a room below."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from whereof import registry
from whereof.api import keywords
from whereof.data.dataset import Dataset
from whereof.data.name_index import FoundName, NameFinder
from whereof.data.vocabulary import Vocabulary
from whereof.errors import WhereofError
from whereof.events import Events, Note
from whereof.explain.options import ExplainOptions, ImpactOptions
from whereof.models import find_model
from whereof.predict import prediction
from whereof.retrain.options import (
    EngineOptions,
    SmallestOptions,
    UnlearnOptions,
    UpdateOptions,
    VerifyOptions,
)
from whereof.run import files
from whereof.run.arrays import ArrayRun
from whereof.settings import checked
from whereof.training.config import MachineOptions, TrainConfig
from whereof.training.results import UNLEARNED, Parameters

if TYPE_CHECKING:
    from whereof.evaluate.audit import Audit
    from whereof.evaluate.evaluation import Evaluation, StoredEvaluations
    from whereof.explain.entity_card import EntityCard
    from whereof.explain.explanation import Explanation
    from whereof.explain.impact import Impact
    from whereof.explain.interesting import InterestingPrediction, Shortlist
    from whereof.models.scoring import Scorer
    from whereof.predict.answers import Answers, Failed
    from whereof.predict.fold_in import History
    from whereof.predict.scored import Trained
    from whereof.present.files import Written, WrittenExplanations
    from whereof.retrain.engine import Recipe
    from whereof.retrain.journal import Journal
    from whereof.retrain.retrainer import Retrained
    from whereof.retrain.smallest import Smallest
    from whereof.retrain.sufficient import Sufficient
    from whereof.retrain.unlearn import Unlearned
    from whereof.retrain.update import Updated
    from whereof.retrain.verify import Verdict
    from whereof.run.reliability import Reliability

# Numba, and everything that it compiles, is imported in the functions that compute.

_PROBE_SECONDS = 0.1
"""How long a server trains to find out how long retraining takes."""
_REPORTS = (".html", ".htm", ".md")
"""Endings of reports."""


class Run(ArrayRun):
    """A trained run: predict, explain and verify; read its config, data, parameters and trace.

    The `events` of a method receive the progress of its work, and may stop it.
    """

    @classmethod
    @checked
    def describe(cls, path: str | Path, *, check: bool = False) -> dict[str, Any]:
        """Describe a run folder like `info`, even if its training is not finished."""
        return cls.open(path, check=check, unfinished=True).info()

    @cached_property
    def scorer(self) -> "Scorer":
        return make_scorer(self.parameters, self.dataset, self.config)

    @property
    def _trained(self) -> "Trained":
        # Reading a map of a file that was cut by now would end the process.
        if self._trained_once.trace is not None:
            self.checked_files("trace.npy")
        self.checked_files("adjacency-*")
        return self._trained_once

    @cached_property
    def _trained_once(self) -> "Trained":
        from whereof.predict.scored import Trained

        content = self.scorer, self.dataset, self.config, self.adjacency, self.trace
        store = files.Store(self.path, self.trained_content)
        return Trained(
            *content,
            self.kept_checkpoints,
            self._n_trained,
            store,
            training_seconds=self.retraining_seconds,
            unlearned=self.manifest.result.get("stopped") == UNLEARNED,
        )

    @cached_property
    def default_method(self) -> str:
        """The method of `explain`, `explain_many`, `explain_file` and `verify` unless you name one.

        unrolled if the run was trained steadily and is so small that a sweep takes half a minute at
        most; else rollback. gradient-dot if other software trained the run without a trace.
        """
        from whereof.explain.advice import default_method

        return default_method(self._trained)

    def with_method(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options with a method: the default one if none is named.

        It is rollback for options that unrolled does not know: candidates and exhaustive.
        """
        if "method" in options:
            return {**options}
        plain = options.get("candidates") is not None or options.get("exhaustive") is True
        return {"method": ExplainOptions.method if plain else self.default_method, **options}

    def _trained_on(self, device: str, method: str = "rollback") -> "Trained":
        """The trained model whose removals are scored on a device: cpu or cuda."""
        from whereof.explain.method import get_method

        if device == "cpu":
            return self._trained
        MachineOptions(device=device)  # refuses an unknown one
        if "device" not in get_method(method).can:
            names = registry.names(registry.METHODS)
            able = " or ".join(name for name in names if "device" in get_method(name).can)
            raise WhereofError(f"--device cuda requires --method {able}, not {method}")
        return self._trained_on_card

    @cached_property
    def _trained_on_card(self) -> "Trained":
        from whereof.retrain.cuda.rollback import open_backing

        return replace(self._trained, backing=open_backing("device cuda"))

    @property
    def _n_trained(self) -> int | None:
        """Number of facts that it was trained on, over all epochs, up to the epoch that was kept.

        None if other software trained it.
        """
        if "best_epoch" not in self.manifest.result:
            return None
        result = self.manifest.result
        found: int = result.get("best_facts", result["best_epoch"] * self.dataset.n_facts)
        return found

    _probed_seconds: float | None = None

    @cached_property
    def _recipe(self) -> "Recipe":
        """The recipe for retraining the run."""
        from whereof.retrain.engine import Recipe
        from whereof.training.problem import Problem

        if self.retraining is not None:
            from whereof.retrain.function import FunctionRecipe

            return FunctionRecipe.of(self.dataset, self.config, self.retraining, self.scorer)
        if self._n_trained is None:
            raise WhereofError(
                "other software trained this run, so it cannot be retrained; in Python, pass your "
                "own training function:  Run.from_arrays(..., retrain=function) or Run.open(path, "
                "retrain=function)"
            )
        return Recipe(Problem.of(self.dataset, self.config), self._n_trained)

    @cached_property
    def _journal(self) -> "Journal":
        """Finished retrainings of a run in memory; those of others are in their folders."""
        from whereof.retrain.journal import Journal

        return Journal()

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """By split and name: filtered MRR and hits, or recall and NDCG, or errors of ratings."""
        if self.path is not None:
            return super().metrics
        from whereof.evaluate.metrics import SplitEvaluator

        if self.config.rated and self.dataset.ratings is None:
            return {}
        evaluator = SplitEvaluator(self.dataset, self.config)
        return {split: evaluator.evaluate(self.scorer, split) for split in ("valid", "test")}

    @checked
    def save(self, path: str | Path) -> "Run":
        """Write a run from arrays to a new folder, and return the run in that folder.

        The folder also has the retrainings that were finished before.
        """
        from whereof.api.runs import open_cases
        from whereof.run.writer import write_run

        write_run(Path(path), self)
        kept = type(self).open(path, retrain=self.retraining)
        if len(self._journal):
            # On a full disk, the run is there, and retrainings can be done again.
            with suppress(OSError), open_cases(kept, EngineOptions(), None) as open_seeds:
                open_seeds()[0].retrainer.journal.add_all(self._journal)
        return kept

    def summary(self) -> dict[str, Any]:
        """What `whereof train --json` prints."""
        return self.about.to_dict(summary=True)

    def info(self) -> dict[str, Any]:
        """What `whereof info --json` prints: the summary, the config and the files."""
        return self.about.to_dict()

    def __reduce__(self) -> tuple[Any, ...]:
        """A run is pickled as its path: another process opens the folder itself."""
        if self.path is None:
            raise WhereofError(
                "this run is only in memory: save it before you pass it to a process"
            )
        return type(self).open, (str(self.path.absolute()),)

    def __repr__(self) -> str:
        place = "in memory" if self.path is None else repr(str(self.path))
        return f"Run({place}, {self.config.model}, {self.dataset.n_facts:,} facts)"

    def _repr_html_(self) -> str:
        from whereof.present.report import run_html

        return run_html(self.about, self.evaluations().found)

    @checked
    def show(
        self, *names: str | None, height: int = 640, **options: Unpack[keywords.ExplainOneKeywords]
    ) -> None:
        """Display a page in a notebook: about the run, or why it predicts something.

        With `names`, the page is the explanation that `explain` returns for these names and
        `options`. `height` is the height of the page in pixels. No server is needed.
        """
        from whereof.present.notebook import show
        from whereof.present.report import report_page

        if names:
            options.setdefault("graph", self._draws(options))
            return self.explain(*names, **options).show(height)
        stored = self.evaluations()
        return show(report_page(self.about, stored.found, notes=stored.notes), height)

    def add_labels(self, entities: Any = None, relations: Any = None) -> None:
        """Add labels to a finished run, and keep them in its folder; facts and hash stay the same.

        `entities` and `relations` are labels by name: a dict, a pandas series, a frame, or a file.
        A file has two columns, or two of its columns are named after its path, as in
        "movies.csv:movieId,title". A label replaces an earlier one of the same name.
        """
        from whereof.data.build import add_labels
        from whereof.data.read import find_labels

        if self.path is None:
            raise WhereofError("this run is in memory; give labels to Run.from_arrays")
        if entities is None and relations is None:
            raise WhereofError("no labels; give entities or relations, or both")
        labelled = add_labels(self.dataset, find_labels(entities), find_labels(relations))
        opened = self.path, self._write_labels(labelled), self.retraining
        vars(self).clear()  # what is cached has the old labels
        Run.__init__(self, *opened)

    def warm_up(self) -> None:
        """Read the arrays, load the kernels, and compute what is computed once.

        A server calls it before it answers: its first answer is then as fast as others, and its
        threads find everything there.
        """
        first = prediction.Prediction(*self.dataset.train[0].tolist())
        names = [name and prediction.typed(name) for name in first.names(self.dataset)]
        self.predict(*names[:-1], None, top=1)
        with suppress(WhereofError):  # a run without a trace
            self.explain(*names, method="rollback", top=1, graph=True)
        self.default_method  # noqa: B018 - computed once
        for place in ("subject", "object"):
            self.find_names("", "entity", place, limit=1)
        self.find_names("", "relation", limit=1)
        self.interesting("test", 1)
        if self.retraining is None and self._n_trained is not None:
            self._probed_seconds = self._recipe.probe(_PROBE_SECONDS)

    @property
    def retraining_seconds(self) -> float | None:
        """Seconds of one retraining on one core: as probed by `warm_up`, else as training took."""
        return self._probed_seconds or super().retraining_seconds

    @property
    def compiles_first(self) -> bool:
        """Whether methods that follow training have to compile kernels first: some minutes, once.

        A server says so, beside the time that such a method takes.
        """
        from whereof.training.sweep import is_compiled

        return not is_compiled()

    @cached_property
    def _names(self) -> NameFinder:
        return NameFinder(self.dataset, self.adjacency)

    @checked
    def find_names(
        self, text: str, kind: str = "entity", place: str | None = None, limit: int = 10
    ) -> list[FoundName]:
        """Entities or relations whose label or name contains a text, best first, for completion.

        Case and accents do not matter. Exact matches come first, then names that start with `text`,
        names with a word that starts with it, and all others. Each group is sorted by number of
        facts. An empty text returns the names with the most facts. `kind` is entity or relation.
        `place` is subject or object: in two-way data, it separates users from items. The first
        call builds an index.
        """
        return self._names.find(text, kind, place, limit)

    def find_labels(self, *names: str | None) -> dict[str, str | None]:
        """The labels of a query's subject, relation and object; a name if there is no label."""
        asked = prediction.find_prediction(self._trained, names, query=True)
        return asked.spell(self.dataset, Vocabulary.label)

    def find_rating(self, *names: str | None) -> float | None:
        """The rating that a user gave to an item, in any split; None if the data has none."""
        asked, ratings = prediction.find_prediction(self._trained, names), self.dataset.ratings
        fact = (asked.subject, asked.relation, asked.object)
        return None if ratings is None else ratings.of_fact(self.dataset, fact)

    @checked
    def predict(
        self,
        *names: str | None,
        top: int | None = 10,
        new: bool = False,
        known: str | None = None,
        history: "History | None" = None,
    ) -> "Answers":
        """Ranked answers to a query: the `top` most probable, or all with None.

        ("egypt", "embassy") asks for objects, ("_", "embassy", "usa") for subjects, and a whole
        triple for this answer alone. Two-way runs have no relation. `new` leaves out answers that
        are known from training or validation. `known` is train, valid or test, to list only answers
        of this split. `history` is what a new user chose: a file of items, a list of items, or a
        dict of ratings by item. Whereof computes a row for this user, without retraining; `names`
        is then an item, or empty, and `known` may be history.
        """
        from whereof.predict.answers import predict

        trained, names = self._for_user(history, names)
        asked = prediction.find_prediction(trained, names, query=True)
        return predict(trained, asked, top, new=new, known=known)

    def _for_user(
        self, history: "History | None", names: tuple[str | None, ...]
    ) -> tuple["Trained", tuple[str | None, ...]]:
        """The trained model, and the names of a prediction; with a history, those of its user."""
        if history is None:
            return self._trained, names
        from whereof.predict.fold_in import USER, fold_in

        if len(names) > 1:
            given = " ".join(map(str, names))
            raise WhereofError(f"with a history, name only the item; got {given}")
        trained, known = fold_in(self._trained, history), self.dataset.entities
        for name in {*map(str, names)} - {prediction.OPEN}:
            if known.matches(name) and not known.matches(name, self.dataset.objects):
                raise WhereofError(
                    f"{name!r} is a user, and a history is that of a new user; leave out the user, "
                    "and name an item or nothing"
                )
        return trained, (USER, *(names or (None,)))

    @checked
    def predict_many(
        self, queries: Iterable[Sequence[str | None]], top: int | None = 10, *, new: bool = False
    ) -> Iterator["Answers | Failed"]:
        """Answers to many queries, in order, computed on all cores as you iterate.

        Each query is what `predict` takes; a string is a query of one name. A query that cannot
        be answered becomes a `whereof.Failed` with its number (`line`, from 1) and a `message`.
        """
        from whereof.predict.answers import predict_many

        return predict_many(self._trained, queries, top, new=new)

    @checked
    def predict_file(
        self,
        queries: str | Path,
        out: str | Path,
        *,
        top: int | None = 10,
        new: bool = False,
        force: bool = False,
        events: Events | None = None,
    ) -> "Written":
        """Answer a file of queries and write the answers to a file, all at once at the end.

        `queries` has one query per line, with TABs between names, or commas in a .csv file; it may
        be gzipped. Whereof checks all queries first. The ending of `out` decides its format: .tsv,
        .txt, .csv or .jsonl, each also with .gz, or .parquet. `top` and `new` are those of
        `predict`. `force` overwrites a file that exists.
        """
        from whereof.predict.answers import in_order, predict
        from whereof.present.files import check_output, write_answers

        check_output(Path(out), force=force, inputs=[Path(queries)])
        found = prediction.read_queries(self._trained, Path(queries))
        answers = in_order(partial(predict, self._trained, top=top, new=new), found, None)
        return write_answers(Path(out), answers, len(found), force=force, events=events or Events())

    @checked
    def explain(
        self,
        *names: str | None,
        events: Events | None = None,
        history: "History | None" = None,
        **options: Unpack[keywords.ExplainOneKeywords],
    ) -> "Explanation":
        """The training facts that made the model predict a triple, ranked by influence.

        `names` are subject, relation and object; two-way runs have no relation. None or "_" means
        the top new answer. `options` are fields of `whereof.ExplainOptions`, such as method, top,
        of, opposing and without; top=None lists every fact that the method rates. Methods that
        retrain also take fields of `whereof.EngineOptions`, and so does `seeds`. `history` is that
        of a new user, as for `predict`: `names` is then an item, and the method is fold-in. It
        shows which items of the history the prediction is made of.
        """
        from whereof.explain.advice import default_reason
        from whereof.explain.explain import explain

        if history is not None:
            trained, names = self._for_user(history, names)
            if options.setdefault("method", "fold-in") != "fold-in":
                raise WhereofError("with a history, the method is always fold-in; leave out method")
            chosen = ExplainOptions.from_dict({**options})
            if chosen.seeds > 1:
                raise WhereofError(
                    "a history cannot be explained under other seeds; leave out seeds"
                )
            return explain(trained, names, chosen, events=events)

        found = self._explain(names, self.with_method(options), events)
        if "method" not in options and (reason := default_reason(self._trained)):
            return replace(found, notes=(*found.notes, reason))
        return found

    def _explain(
        self, names: tuple[str | None, ...], given: dict[str, Any], events: Events | None
    ) -> "Explanation":
        """The explanation by the method that `given` names, with advice."""
        from whereof.explain.explain import check_prediction, explain
        from whereof.explain.method import get_method

        method = str(given["method"])
        known = method in registry.names(registry.METHODS)
        retrains = known and "retraining" in get_method(method).needs
        seeds = given.get("seeds", 1)
        if retrains or not (isinstance(seeds, int) and seeds == 1):
            from whereof.api.runs import open_cases

            engine, chosen = EngineOptions.take(given), ExplainOptions.from_dict(given)
            check_prediction(self._trained, names, chosen)
            with open_cases(self, engine, events) as open_seeds:
                first, *others = open_seeds(chosen.seeds)
                if others:
                    from whereof.evaluate.agreement import explain_over_seeds

                    return self.advise(explain_over_seeds([first, *others], names, chosen, events))
                return self.advise(explain(first.trained, names, chosen, first, events))
        chosen = ExplainOptions.from_dict(given)
        check_prediction(self._trained, names, chosen)
        return self.advise(explain(self._trained, names, chosen, events=events))

    @checked
    def advise(self, explanation: "Explanation") -> "Explanation":
        """The explanation with what is known now: reliability, and cost and trust of methods."""
        from whereof.explain.advice import advise
        from whereof.explain.explanation import Explanation

        if not isinstance(explanation, Explanation):
            kind = type(explanation).__name__
            raise WhereofError(f"explanation is a {kind}; give one that Run.explain returned")
        known = self._reliability_with(explanation.method)
        return advise(explanation, self._trained, known, self.retraining_seconds)

    def _reliability_with(self, method: str) -> "Reliability":
        """How reliable estimates are, with what the method itself measured; stored in the run."""
        from whereof.explain.method import get_method

        known = self.reliability
        if known.of(method) or (measured := get_method(method).claims(self._trained)) is None:
            return known
        known = known.updated(None, [measured])
        if self.path is not None:
            with suppress(OSError, WhereofError):  # it may be read-only
                known.write(self.path)
        return known

    def is_ready(self, *names: str | None, **options: Unpack[keywords.ExplainKeywords]) -> bool:
        """Whether `explain` with these arguments takes milliseconds.

        It does if the method neither retrains nor prepares anything, such as rollback, or if the
        run has stored what it prepares for this prediction. It is False if the run lacks what the
        method needs; `check_method` says what.
        """
        from whereof.explain.explain import is_ready

        given = self.with_method(options)
        EngineOptions.take(given)
        return is_ready(self._trained, names, ExplainOptions.from_dict(given))

    @checked
    def check_method(self, method: str) -> None:
        """Raise an error if the run lacks what a method needs, such as a trace."""
        from whereof.explain.method import get_method

        get_method(method).check(self._trained)

    @checked
    def explain_many(
        self,
        predictions: Iterable[Sequence[str | None]],
        *,
        threads: int | None = None,
        device: str = "cpu",
        **options: Unpack[keywords.ExplainKeywords],
    ) -> Iterator["Explanation | Failed"]:
        """Explanations of many predictions, in order, computed as you iterate.

        Predictions and `options` are what `explain` takes. `threads` is the number of threads, by
        default one per core. With `device` cuda, rollback and unrolled run on the GPU. A
        prediction that cannot be explained becomes a `whereof.Failed` with its number (`line`,
        from 1) and a `message`.
        """
        from whereof.explain.explain import explain_many

        chosen = ExplainOptions.from_dict(self.with_method(options))
        trained = self._trained_on(device, chosen.method)
        return explain_many(trained, prediction.list_predictions(predictions), chosen, threads)

    @checked
    def explain_file(
        self,
        predictions: str | Path,
        out: str | Path,
        *,
        split: str = "test",
        limit: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        resume: bool = False,
        force: bool = False,
        events: Events | None = None,
        **options: Unpack[keywords.ExplainKeywords],
    ) -> "WrittenExplanations":
        """Explain many predictions and write the facts to a file, all at once at the end.

        `predictions` is `top`, the top new answer of every query of a `split` (test, valid or
        train); `true`, the facts of the split; or a file as for `predict_file`, with a prediction
        per line. `limit` takes only the first ones. The ending of `out` decides its format: .jsonl,
        .tsv, .txt or .csv, each also with .gz, or .parquet. `threads`, `device` and `options` are
        those of `explain_many`. After an interruption, the same call continues, and the file is the
        same to the byte. With `resume` it only continues, and fails if there is nothing to
        continue. `force` starts again, and overwrites a file that exists.
        """
        from whereof.explain.explain import explain_many
        from whereof.present.files import write_explanations

        chosen = ExplainOptions.from_dict(self.with_method(options))
        if force:
            files.check_free(Path(out), force=True, inputs=[Path(predictions)])
        trained = self._trained_on(device, chosen.method)
        found = prediction.find_predictions(trained, predictions, split, limit, chosen.asks)
        explain = partial(explain_many, trained, options=chosen, threads=threads, events=events)
        work = {"run": self.fingerprint, "device": device, "set of options": chosen.to_dict()}
        return write_explanations(
            explain, found, work, Path(out), force=force, resume=resume, events=events or Events()
        )

    @checked
    def card(self, entity: str, top: int = 5, *, place: str | None = None) -> "EntityCard":
        """The facts of an entity, and what the model predicts for it.

        The card has the facts of the entity by relation, held-out facts, and the `top` new answers
        to questions with those of its relations that have the most probable new answer. `place` is
        subject or object: in two-way data, a user and an item may have the same name.
        """
        from whereof.explain.entity_card import make_card

        return make_card(self._trained, entity, place, top)

    @cached_property
    def _shortlist(self) -> "Shortlist":
        from whereof.explain.interesting import Shortlist

        return Shortlist(self._trained)

    @checked
    def interesting(self, kind: str, limit: int = 20) -> list["InterestingPrediction"]:
        """Predictions that are worth a look, among the first 500 held-out facts.

        `kind` is one of:

        - confident-and-wrong: the top new answer is not the true one, and more probable than three
          quarters of all top answers; in a run with ratings, the largest errors
        - unstable: the top new answer is estimated to change without its strongest fact
        - top-new: top new answers, most probable first
        - test: the facts of the test set, in order

        Without a test set, the facts are those of validation, else of training. The result of a
        kind is kept in memory.
        """
        return self._shortlist.find(kind, limit)

    @checked
    def impact(
        self,
        *facts: Any,
        events: Events | None = None,
        **options: Unpack[keywords.ImpactKeywords],
    ) -> "Impact":
        """Estimate which predictions a training fact holds up.

        `facts` are the names of one fact, also as one text with commas; ids; texts; or lists or
        tables of facts, as for `unlearn`. Several facts are removed together. `options` are fields
        of `whereof.ImpactOptions`, such as predictions, split and method, and of
        `whereof.EngineOptions`. With `verify`, Whereof also retrains without the fact; the listed
        predictions then have `before`, `actual` and `claim`.
        """
        from whereof.api.runs import open_cases
        from whereof.explain.impact import find_impact
        from whereof.retrain.verify import verify_impact

        given: dict[str, Any] = {**options}
        engine, asked = EngineOptions.take(given), ImpactOptions.from_dict(given)
        claims, run = self.reliability.of(asked.method), self.about
        place = None if run.trained_elsewhere else run.run
        found = find_impact(self._trained, facts, asked, events or Events(), claims, place)
        if not (asked.verify and found.predictions):
            return found
        with open_cases(self, engine, events) as open_seeds:
            (case,) = open_seeds()
            return verify_impact(case, found)

    @checked
    def audit(
        self, *, events: Events | None = None, **options: Unpack[keywords.AuditKeywords]
    ) -> "Audit":
        """Suspicious facts, facts behind wrong answers, and the influence of groups of facts.

        `options` are fields of `whereof.AuditOptions`, such as ranking, by, groups and verify, and
        of `whereof.EngineOptions`. `groups` may also be a dict of entities and groups.
        """
        from whereof.api.runs import open_cases
        from whereof.data.read import find_labels
        from whereof.evaluate.audit import audit
        from whereof.evaluate.options import AuditOptions

        given: dict[str, Any] = {**options}
        engine, chosen = EngineOptions.take(given), AuditOptions.from_dict(given)
        groups = find_labels(chosen.groups, noun="group") or {}
        asked = chosen.method or self.default_method, chosen, groups, events or Events()
        if not chosen.verify:
            return audit(self._trained, *asked)
        with open_cases(self, engine, events) as open_seeds:
            (case,) = open_seeds()
            return audit(self._trained, *asked, case)

    @checked
    def evaluate(
        self, *, events: Events | None = None, **options: Unpack[keywords.EvaluateKeywords]
    ) -> "Evaluation":
        """Measure how well methods explain this run: remove facts and retrain.

        The run's folder stores retrainings and the result: nothing is trained twice.
        `options` are fields of `whereof.EvaluateOptions`, such as methods, k, predictions, limit,
        seeds, protocols and suite, and of `whereof.EngineOptions`, such as threads.
        """
        from whereof.api.runs import open_cases
        from whereof.evaluate.evaluation import check_possible, evaluate, usual_options
        from whereof.evaluate.options import EvaluateOptions
        from whereof.evaluate.suite import SUITES

        given: dict[str, Any] = {"predictions": EvaluateOptions.predictions, **options}
        if not isinstance(given["predictions"], str | Path):
            raise WhereofError(
                "predictions must be top, true or a file; write your list into a file"
            )
        where, given["predictions"] = EngineOptions.take(given), str(given["predictions"])
        suite, notes = SUITES.get(str(given.get("suite"))), list[str]()
        if not suite:
            given = usual_options(self._trained, self.default_method) | given
        else:
            given = suite.choose(self._trained) | given
            notes = suite.notes(self._trained) if "methods" not in options else []
        for note in notes:
            (events or Events()).emit(Note(note))
        asked = EvaluateOptions.from_dict(given)
        with open_cases(self, where, events) as open_seeds:
            check_possible(open_seeds()[0], asked, where.threads)
            names = str(self.path), self.dataset.name
            found = evaluate(open_seeds, asked, names, where.threads)
            found = replace(found, notes=(*notes, *found.notes))
            if self.path is None:
                return found
            try:
                files.save_evaluation(self.file(""), found.to_dict(), found.arrays())
                if found.steadiness is not None:
                    record = found.steadiness.linearity, found.steadiness.claims
                    self.reliability.updated(*record).write(self.file(""))
            except (OSError, WhereofError) as error:
                (events or Events()).emit(Note(f"the evaluation is not stored in the run: {error}"))
        return found

    def evaluations(self) -> "StoredEvaluations":
        """The evaluations in the run's folder (`found`), and `notes` about those left out."""
        from whereof.evaluate.evaluation import read_evaluations

        return read_evaluations([] if self.path is None else files.find_evaluations(self.path))

    @checked
    def report(
        self,
        out: str | Path = "report.html",
        *,
        evaluations: Sequence[Any] = (),
        examples: int = 3,
        force: bool = False,
        events: Events | None = None,
    ) -> Path:
        """Write one HTML page about the run: data, settings, metrics, evaluations, examples.

        The page needs no other files. `out` ends in .html or .htm. If it ends in .md, the page is
        Markdown: metrics, evaluations without charts, and commands. `evaluations` adds evaluations
        to those in the run's folder: results of `evaluate`, their `to_dict()`, or JSON files of it.
        `examples` is the number of predictions that the page explains. `force` overwrites a file
        that exists.
        """
        from whereof.evaluate.evaluation import Evaluation
        from whereof.present.report import report_markdown, report_page

        if examples < 0:
            raise WhereofError(f"examples is {examples}; give a number from 0 on")
        read = [Path(each) for each in evaluations if isinstance(each, str | Path)]
        files.check_free(Path(out), force=force, inputs=read)
        if (ending := Path(out).suffix.lower()) not in _REPORTS:
            allowed = ", ".join(_REPORTS)
            raise WhereofError(f"{out}: unknown ending {ending!r}; choose from {allowed}")
        stored = self.evaluations()
        found, notes = [*stored.found], [*stored.notes]
        for note in notes:
            (events or Events()).emit(Note(note))
        for given in evaluations:
            if isinstance(given, str | Path):
                found.append(Evaluation.read(Path(given)))
            elif isinstance(given, Evaluation):
                found.append(given)
            else:
                found.append(Evaluation.from_dict(given))
        made = datetime.now(UTC).isoformat(timespec="seconds")
        if ending == ".md":
            files.write_text(Path(out), report_markdown(self.about, found, made), force=force)
            return Path(out)
        if examples and self.trace is None and self.default_method == ExplainOptions.method:
            notes.append("no predictions are explained here: the run was trained without a trace")
            examples = 0
        page = report_page(self.about, found, [*self._examples(examples)], notes, made)
        files.write_text(Path(out), page, force=force)
        return Path(out)

    def _examples(self, n: int) -> Iterator["Explanation"]:
        """Explanations of the most probable new answers to held-out queries, with graphs."""
        for each in self.interesting("top-new", n) if n else ():
            names = (each.subject, each.relation, each.object)
            asked = (prediction.typed(name) for name in names if name is not None)
            yield self.explain(*asked, graph=self._draws({}))

    def _draws(self, options: Mapping[str, Any]) -> bool:
        """Whether the method of an explanation can estimate the facts of a graph together."""
        from whereof.explain.method import get_method

        method = str(self.with_method(options)["method"])
        return options.get("history") is not None or "groups" in get_method(method).can

    @checked
    def verify(
        self,
        *names: str | None,
        events: Events | None = None,
        **options: Unpack[keywords.VerifyKeywords],
    ) -> "Verdict":
        """Retrain without the facts of a prediction, and compare with the estimate.

        Retraining uses the same seed, negatives and order. The run stores finished retrainings:
        asking again costs nothing. `names` are those of `explain`; `options` are fields of
        `whereof.VerifyOptions`, such as top, facts, each and seeds, and of `whereof.EngineOptions`,
        such as threads.
        """
        from whereof.api.runs import open_cases
        from whereof.explain.facts import find_facts
        from whereof.retrain.verify import verify

        given = self.with_method(options)
        if given.get("facts") is not None and "top" in given:
            raise WhereofError("facts already names the facts to remove; leave out top")
        engine, chosen = EngineOptions.take(given), VerifyOptions.from_dict(given)
        prediction.find_prediction(self._trained, names, asks=chosen.asks)  # errors come first
        find_facts(self._trained, chosen.facts)
        with open_cases(self, engine, events) as open_seeds:
            return verify(open_seeds(chosen.seeds), names, chosen)

    @checked
    def smallest(
        self,
        *names: str | None,
        events: Events | None = None,
        **options: Unpack[keywords.SmallestKeywords],
    ) -> "Smallest":
        """The fewest facts whose removal changes the top answer, proven by retraining.

        `names` are those of `explain`. The run stores finished retrainings: asking again costs
        nothing. `options` are fields of `whereof.SmallestOptions`, such as budget and method, and
        of `whereof.EngineOptions`, such as threads.
        """
        from whereof.api.runs import open_cases
        from whereof.retrain.smallest import find_smallest

        given: dict[str, Any] = {**options}
        engine, chosen = EngineOptions.take(given), SmallestOptions.from_dict(given)
        with open_cases(self, engine, events) as open_seeds:
            (case,) = open_seeds()
            return find_smallest(case, names, chosen)

    @checked
    def sufficient(
        self,
        *names: str | None,
        events: Events | None = None,
        **options: Unpack[keywords.SmallestKeywords],
    ) -> "Sufficient":
        """The fewest facts that, given to other entities, make the model answer the same for them.

        For the other entities, the model gives another answer, and the data does not contain this
        one. `names` and `options` are those of `smallest`.
        """
        from whereof.api.runs import open_case, open_cases
        from whereof.retrain.sufficient import Gifts, find_sufficient

        given: dict[str, Any] = {**options}
        engine, chosen = EngineOptions.take(given), SmallestOptions.from_dict(given)
        self._recipe.check_extendable()
        with open_cases(self, engine, events) as open_seeds:
            (case,) = open_seeds()
            gifts, its = Gifts.of(case, names, chosen), case.retrainer
            recipe = its.recipe.extended(gifts.facts, gifts.origins)
            with open_case(self, its.engine, its.events, recipe) as extended:
                return find_sufficient(extended, gifts, chosen)

    @checked
    def unlearn(
        self,
        *fact: Any,
        facts: Any = None,
        out: str | Path | None = None,
        events: Events | None = None,
        **options: Unpack[keywords.UnlearnKeywords],
    ) -> "Unlearned":
        """Write a new run without some facts, and measure how far it is from retraining.

        `fact` is the names of one fact; or ids; texts such as "SUBJECT,RELATION,OBJECT"; records
        such as those of `Audit.suspicious`; tables with a column `fact_id`; lists of these; or
        files of facts, such as one that `Audit.to_file` writes. `facts` is any of these as a
        keyword. Or give `entity` or `source`.
        `out` is the new folder, by default one in `runs/`. `options` are fields of
        `whereof.UnlearnOptions`, such as method and measure.
        """
        from whereof.api.changes import unlearn

        given = fact if facts is None else (*fact, facts)
        return unlearn(self, given, out, UnlearnOptions.from_dict({**options}), events or Events())

    @checked
    def update(
        self,
        facts: Any,
        *,
        out: str | Path | None = None,
        events: Events | None = None,
        **options: Unpack[keywords.UpdateKeywords],
    ) -> "Updated":
        """Continue training with new facts, and write a new run that explains old and new facts.

        `facts` is a file, or a pandas, polars or Arrow table. The facts may contain new entities
        and relations. `out` is the new folder, by default one in `runs/`. `options` are fields of
        `whereof.UpdateOptions`, such as epochs, replay and compare.
        """
        from whereof.api.changes import update

        return update(self, facts, out, UpdateOptions(**options), events or Events())

    @checked
    def retrain(
        self,
        removed: Sequence[Any],
        predictions: Sequence[Sequence[str | None]] | None = None,
        *,
        events: Events | None = None,
        **options: Unpack[keywords.EngineKeywords],
    ) -> Iterator["Retrained"]:
        """Models retrained without given sets of facts; the control, with all facts, comes first.

        `removed` are sets of facts, by ids or names: one model per set. If you pass `predictions`,
        as for `explain`, each record has their `standings`: probability, score, rank and top
        answer. Otherwise it has all rows as `parameters`, which the run does not store. `options`
        are fields of `whereof.EngineOptions`, such as threads.
        """
        from whereof.api.runs import open_cases
        from whereof.explain.facts import find_facts
        from whereof.retrain.retrainer import retrain

        engine = EngineOptions.from_dict({**options})
        sets = [np.sort(find_facts(self._trained, facts)) for facts in removed]

        def retrained() -> Iterator["Retrained"]:
            with open_cases(self, engine, events) as open_seeds:
                yield from retrain(open_seeds()[0], sets, predictions)

        return retrained()


def make_scorer(rows: Parameters, dataset: Dataset, config: TrainConfig) -> "Scorer":
    """The scorer of a model; scores of a rating model are ratings."""
    from whereof.models.scoring import Scorer

    scorer = Scorer(find_model(config.model), rows.entity_rows, rows.relation_rows)
    if not config.rated or dataset.ratings is None:
        return scorer
    return replace(scorer, scale=dataset.ratings.deviation, offset=dataset.ratings.mean)
