"""Track a PyTorch training loop: what every fact changes in the rows of its embeddings."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whereof.api.run import Run
from whereof.errors import WhereofError, need
from whereof.integrations._recorder import Recorder
from whereof.integrations._scorer import make_scorer
from whereof.integrations._tables import Tables
from whereof.models import register
from whereof.models.scoring import Scorer
from whereof.types import FactIds

if TYPE_CHECKING:
    from whereof.retrain.verify import Verdict

torch = need("torch", "torch", "whereof.torch")


class Tracker(Recorder):
    """Records what each fact changes in embedding rows while your own loop trains a model.

    Parameters
    ----------
    model, optimizer
        Your `torch.nn.Module`, which looks up rows in `torch.nn.Embedding` tables, and the
        optimizer that trains it: SGD, Adagrad, Adam, AdamW or SparseAdam.
    facts
        (n, 3) rows of subject, relation and object, or (n, 2) without a relation. The position of a
        fact is its id. If you leave them out, facts get ids in the order in which training first
        uses them; `tracker.facts` lists them.
    subject, relation, object
        The tables, as modules or names, or lists of them: the row of a user may be a vector and a
        bias. You can leave them out if the model has one table for entities and one for relations,
        or one for users and one for items.
    credit
        `source` credits a fact with everything that its gradients move, also in later steps.
        `limited`, the default, does the same, but moves no number farther than the gradient could
        alone. `step` credits a fact with its share of each update, and splits momentum among the
        facts of the batch.
    ledgers
        Whether to record what else moved the rows, for `bookkeeping`. This makes training slower.
    """

    _run: Run | None = None

    def run(
        self,
        score: str | Callable[..., Any],
        *,
        entities: Sequence[Any] | None = None,
        relations: Sequence[Any] | None = None,
        valid: Any = None,
        test: Any = None,
        labels: Mapping[str, str] | None = None,
        loss: str = "softmax",
        retrain: Callable[[FactIds], Any] | None = None,
        name: str = "torch",
        out: str | Path | None = None,
    ) -> Run:
        """The tracked training as a run, in memory or in a new folder.

        Parameters
        ----------
        score
            The name of a Whereof model with the same formula as yours, such as distmult. Or a
            function `score(model, subject, relation, object)` of single rows, without `relation` in
            two-way data. `torch.func.vmap` runs it for many rows at a time.
        entities, relations
            Names of the rows; by default, the positions of the rows in their tables. If subjects
            and objects have tables of their own, such as users and items, the names of subjects
            come first.
        valid, test
            Held-out facts, in the form of `facts`.
        labels, loss, name
            As in `Run.from_arrays`.
        retrain
            Your own training function: `retrain(skip)` trains without the facts whose ids are in
            `skip`, and returns the model.
        out
            A folder to write the run to.
        """
        if self._tables is None or not self._n_facts:
            raise WhereofError("no step was tracked; call tracker.step(batch) in your loop")
        tables, module = self._tables, self.model
        self.check_seen()
        scorer = make_scorer(module, tables, score)
        if not isinstance(score, str):
            register(scorer.model)
        held_out = {
            split: None if it is None else tables.shifted(module, it)
            for split, it in (("valid", valid), ("test", test))
        }
        n_entities, n_relations = len(scorer.entity_rows), len(scorer.relation_rows)
        n_subjects = tables.n_subjects(module)
        run = Run.from_arrays(
            model=scorer.model.name,
            entities=_numbers(n_entities, n_subjects) if entities is None else entities,
            relations=(range(n_relations) if relations is None else relations)
            if tables.relation
            else None,
            facts=tables.shifted(module, self.facts),
            entity_rows=scorer.entity_rows,
            relation_rows=scorer.relation_rows,
            trace=self.slots(scorer.entity_rows.shape[1]),
            loss=loss,
            labels=labels,
            n_subjects=n_subjects,
            **held_out,
            retrain=None if retrain is None else _returning_rows(retrain, tables, score),
            name=name,
        )
        run.scorer  # noqa: B018 - another tracker may register a function of the same name
        if self._ledgers:
            result = {"bookkeeping": asdict(self.bookkeeping())}
            run.manifest = replace(run.manifest, result=result)
        self._run, self._score = run if out is None else run.save(out), score
        return self._run

    def verify(self, train: Callable[[FactIds], Any], *names: Any, **options: Any) -> "Verdict":
        """Train again without the facts of a prediction, and compare with the estimate.

        `train(skip)` is your own training function: it trains without the facts whose ids are in
        `skip` and returns the model. `names` and `options` are those of `Run.verify`.
        """
        if self._run is None or self._tables is None:
            raise WhereofError("there is no run to verify; call tracker.run(...) first")
        self._run.retraining = _returning_rows(train, self._tables, self._score)
        vars(self._run).pop("_recipe", None)
        return self._run.verify(*names, **options)


def open_run(
    path: str | Path,
    model: Any,
    score: str | Callable[..., Any],
    *,
    subject: Any = None,
    relation: Any = None,
    object: Any = None,
    retrain: Callable[[FactIds], Any] | None = None,
) -> Run:
    """Open a saved run that has a scoring function of its own.

    `model` is the trained model, which you have stored yourself; the other arguments are those of
    `Tracker` and `Tracker.run`.
    """
    from whereof.run.folder import Manifest

    about = Manifest.read(Path(path)).dataset
    n_columns = 3 if about["n_relations"] else 2
    tables = Tables.find(model, (subject, relation, object), n_columns)
    scorer = make_scorer(model, tables, score)
    if not isinstance(score, str):
        register(scorer.model)
    again = None if retrain is None else _returning_rows(retrain, tables, score)
    run = Run.open(path, retrain=again)
    if not np.array_equal(run.entity_rows, scorer.entity_rows):
        raise WhereofError(
            f"the parameters in {path} differ from those of `model`; "
            "pass the model that was trained for this run"
        )
    run.scorer  # noqa: B018 - another run may register a function of the same name
    return run


def _numbers(n_entities: int, n_subjects: int | None) -> list[int]:
    """The position of each row in its table."""
    n = n_entities if n_subjects is None else n_subjects
    return [*range(n), *range(n_entities - n)]


def _returning_rows(
    train: Callable[[FactIds], Any], tables: Tables, score: Any
) -> Callable[[FactIds], Scorer]:
    """The user's training function, with its model as rows and a scoring function."""

    @functools.wraps(train, updated=())
    def again(skip: FactIds) -> Scorer:
        model = train(skip)
        if not isinstance(model, torch.nn.Module):
            raise WhereofError(
                f"the training function returned {type(model).__name__}; return the trained model"
            )
        return make_scorer(model, tables, score)

    return again
