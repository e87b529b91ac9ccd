"""What a run answers: each a call into a room below."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from whereof import registry
from whereof.api._opened import Opened
from whereof.api.keywords import (
    EngineKeywords,
    EvaluateKeywords,
    ExplainKeywords,
    ExplainOneKeywords,
    VerifyKeywords,
)
from whereof.events import Events

if TYPE_CHECKING:
    from whereof.api._retraining import Retrained
    from whereof.evaluate.evaluation import Evaluation
    from whereof.explain.explanation import Explanation
    from whereof.predict.answers import Answers, Failed
    from whereof.present.bulk import WrittenExplanations
    from whereof.present.files import Written
    from whereof.retrain import Verdict

# Numba, and all that is compiled by it, is imported in the functions that compute.


class Run(Opened):
    """A trained run: its config, data, parameters, trace and metrics, and what it answers."""

    def predict(self, *names: str | None, top: int | None = 10, new: bool = False) -> "Answers":
        """Ranked answers to a query, the `top` most probable or, with None, every candidate.

        ("egypt", "embassy") asks for objects, ("_", "embassy", "usa") for subjects, and a whole
        triple for that one answer; two-way runs leave the relation out. `new` leaves out answers
        known from training or validation.
        """
        from whereof.predict.answers import check_top, predict
        from whereof.predict.prediction import find_prediction

        check_top(top)
        inverse = self.config.inverse
        asked = find_prediction(self.dataset, names, inverse=inverse, query=True)
        return predict(self._trained, asked, top, new=new)

    def predict_many(
        self, queries: Iterable[Sequence[str | None]], top: int | None = 10, *, new: bool = False
    ) -> Iterator["Answers | Failed"]:
        """Answers to many queries, in their order, computed while they are taken.

        Each query is what `predict` takes; a text is a query of one name. The answers are the
        same, on all cores. A query that cannot be answered becomes a `whereof.Failed` with `line`,
        its number from 1 on, and `message`, and the others go on.
        """
        from whereof.predict.answers import check_top, predict_many
        from whereof.predict.prediction import find_prediction

        check_top(top)
        find = partial(find_prediction, self.dataset, inverse=self.config.inverse, query=True)
        return predict_many(self._trained, queries, find, top, new=new)

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
        events
            Receives how many queries are answered, and may stop the work.
        """
        from whereof.predict.answers import check_top, in_order, predict
        from whereof.predict.lists import read_queries
        from whereof.present.files import write_answers

        check_top(top)
        found = read_queries(Path(queries), self.dataset, inverse=self.config.inverse)
        trained, threads = self._trained, os.cpu_count() or 1
        answers = in_order(lambda _, asked: predict(trained, asked, top, new=new), found, threads)
        return write_answers(Path(out), answers, len(found), force=force, events=events)

    def explain(
        self,
        *names: str | None,
        events: Events | None = None,
        **options: Unpack[ExplainOneKeywords],
    ) -> "Explanation":
        """Which training facts made the model predict a triple, ranked by influence.

        Parameters
        ----------
        *names
            Subject, relation and object; two-way runs leave the relation out. An open place, None
            or "_", stands for its top answer that is new.
        events
            For the method retrain: receives the plan and progress, and may stop the work.
        **options
            Fields of `whereof.ExplainOptions`, such as method, top, of, opposing and without. With
            top=None every adjacent fact is listed. The method retrain also takes those of
            `whereof.EngineOptions`.
        """
        from whereof.explain.explain import explain
        from whereof.explain.method import get_method
        from whereof.explain.options import ExplainOptions

        given: dict[str, Any] = {**options}
        method = str(given.get("method", ExplainOptions.method))
        if method in registry.names(registry.METHODS) and "retraining" in get_method(method).needs:
            from whereof.api._retraining import explain_exactly

            return explain_exactly(self, names, events, given)
        return explain(self._trained, names, ExplainOptions.from_dict(given))

    def explain_many(
        self,
        predictions: Iterable[Sequence[str | None]],
        *,
        threads: int | None = None,
        device: str = "cpu",
        **options: Unpack[ExplainKeywords],
    ) -> Iterator["Explanation | Failed"]:
        """Explanations of many predictions, in their order, computed while they are taken.

        Each prediction is what `explain` takes, and `options` are the same; all cores share them,
        or so many `threads`. With `device` cuda, rollback scores candidates on the card. One that
        cannot be explained becomes a `whereof.Failed` with `line`, its number from 1 on, and
        `message`, and the others go on.
        """
        from whereof.explain.explain import explain_many
        from whereof.explain.options import ExplainOptions
        from whereof.predict.prediction import list_predictions

        chosen = ExplainOptions.from_dict(options)
        trained = self._trained_on(device, chosen.method)
        return explain_many(trained, list_predictions(predictions), chosen, threads)

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
        **options: Unpack[ExplainKeywords],
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
        device
            Where rollback scores candidates: cpu or cuda.
        resume
            Go on with work that was interrupted, and never begin it.
        force
            Begin anew, and overwrite a file that exists.
        events
            Receives how many predictions are explained, and may stop the work.
        **options
            As `explain` takes them.
        """
        from whereof.explain.explain import explain_many
        from whereof.explain.options import ExplainOptions
        from whereof.predict.lists import find_predictions
        from whereof.present.bulk import Task, write_explanations

        chosen = ExplainOptions.from_dict(options)
        trained = self._trained_on(device, chosen.method)
        found = find_predictions(trained, predictions, split, limit, chosen.asks)
        task = Task(Path(out), force=force, resume=resume)
        explain = partial(explain_many, trained, options=chosen, threads=threads)
        about = {"run": self._folder.fingerprint, "device": device}
        return write_explanations(explain, found, chosen, task, **about, events=events)

    def evaluate(
        self, *, events: Events | None = None, **options: Unpack[EvaluateKeywords]
    ) -> "Evaluation":
        """Remove facts and retrain, over many predictions: how well methods explain this run.

        Retrainings are kept in the run's folder, so that none is done twice, and the result beside
        them.

        Parameters
        ----------
        events
            Receives the plan and progress of retraining, and may stop it.
        **options
            Fields of `whereof.EvaluateOptions`, such as methods, k, predictions, limit, seeds and
            protocols, and of `whereof.EngineOptions`, such as threads.
        """
        from whereof.api._evaluating import evaluate_run

        return evaluate_run(self, {**options}, events)

    def report(
        self,
        out: str | Path = "report.html",
        *,
        evaluations: Sequence[Any] = (),
        examples: int = 3,
        force: bool = False,
        events: Events | None = None,
    ) -> Path:
        """Write one page that says what the run is and what its explanations are worth.

        Parameters
        ----------
        out
            The HTML file to make; it needs nothing else to be read.
        evaluations
            Besides those kept in the run's folder: what `evaluate` gives, its `to_dict()`, or JSON
            files of that.
        examples
            How many predictions are explained in it.
        force
            Overwrite a file that exists.
        events
            Receives a note for every evaluation in the run's folder that cannot be read.
        """
        from whereof.api._reporting import write_report

        return write_report(
            self, Path(out), evaluations, examples, force=force, events=events or Events()
        )

    def verify(
        self, *names: str | None, events: Events | None = None, **options: Unpack[VerifyKeywords]
    ) -> "Verdict":
        """What retraining without a prediction's facts really does, beside what was predicted.

        Retraining has the same seed, negatives and order. What is finished is kept in the run's
        folder: a question that was asked before is answered at once.

        Parameters
        ----------
        *names
            As `explain` takes them.
        events
            Receives the plan and progress of retraining, and may stop it.
        **options
            Fields of `whereof.VerifyOptions`, such as top, facts, each and seeds, and of
            `whereof.EngineOptions`, such as threads.
        """
        from whereof.api._retraining import verify

        return verify(self, names, events, {**options})

    def retrain(
        self,
        removed: Sequence[Any],
        predictions: Sequence[Sequence[str | None]] | None = None,
        *,
        events: Events | None = None,
        **options: Unpack[EngineKeywords],
    ) -> Iterator["Retrained"]:
        """Models trained again without each of some sets of facts, the control first.

        Parameters
        ----------
        removed
            Sets of facts, by ids or names; one model each.
        predictions
            What is looked at under each model, as `explain` takes it: records have `standings`.
            Without any they have `parameters`, all rows, which are not kept for another time.
        events
            Receives the plan and progress of retraining, and may stop it.
        **options
            Fields of `whereof.EngineOptions`, such as threads.
        """
        from whereof.api._retraining import retrain

        return retrain(self, removed, predictions, events, {**options})
