"""Trace PyKEEN training, and import trained PyKEEN models."""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whereof.api.run import Run
from whereof.errors import WhereofError, need
from whereof.integrations._pykeen_loops import Skip, is_lcwa
from whereof.integrations._pykeen_models import ImportedModel
from whereof.integrations._recorder import Lookup, Recorder
from whereof.models.scoring import Scorer
from whereof.types import FactIds, Rows

torch = need("torch", "pykeen", "whereof.pykeen")
pykeen_callbacks = need("pykeen.training.callbacks", "pykeen", "whereof.pykeen")
Tensor = Any
_CHANGED = (
    "the model has neither the rows of the last epoch nor those that an early stopper restored; "
    "pass the model that was traced, and do not change it after training"
)


class _Epoch(NamedTuple):
    """The model after an epoch."""

    rows: dict[str, Tensor]
    slots: tuple[Rows, ...]
    """The trace until then."""


class Trace(pykeen_callbacks.TrainingCallback):  # type: ignore[name-defined, misc]
    """A training callback that records what each fact changes, for sLCWA and LCWA loops.

    `factory` is the training factory. Pass this object as a callback, then call `run` with the
    result of the pipeline. If the object saw no training, `run` imports a trained model without a
    trace. `credit` means the same as in `whereof.torch.Tracker`.
    """

    def __init__(self, factory: Any, *, credit: str = "limited") -> None:
        super().__init__()
        if not hasattr(factory, "mapped_triples"):
            raise WhereofError(
                f"Trace needs the training TriplesFactory, not {type(factory).__name__}; "
                "pass result.training, or dataset.training"
            )
        self.factory, self._credit = factory, credit
        self.tracker: Recorder | None = None
        self._score_gradients: list[Tensor] = []
        self._saved: dict[Any, _Epoch] = {}
        self._n_done = 0

    def pre_batch(self, **kwargs: Any) -> None:
        """Start tracking with the first batch: PyKEEN makes its optimizer just before."""
        loop = self.training_loop
        if self.tracker is None or self.tracker.optimizer is not loop.optimizer:
            self._start(loop)
        self._n_done = 0

    def _start(self, loop: Any) -> None:
        if self.tracker is not None:
            self.tracker.close()
        lcwa = is_lcwa(loop)
        imported = ImportedModel.of(loop.model)
        self._facts = _training_facts(self.factory)
        entities, relations = (imported.tables(kind) for kind in ("entity", "relation"))
        self.tracker = Recorder(
            loop.model,
            loop.optimizer,
            self._facts,
            subject=entities,
            relation=relations,
            object=entities,
            credit=self._credit,
        )
        if lcwa:
            self._watch_scores(loop)
        self._watch_saving(loop, self.tracker)

    def _watch_saving(self, loop: Any, tracker: Recorder) -> None:
        """Keep the trace whenever PyKEEN writes a model that an early stopper may restore."""
        save = getattr(loop._save_state, "__wrapped__", loop._save_state)

        @functools.wraps(save)
        def watched(path: Any, *given: Any, **named: Any) -> None:
            save(path, *given, **named)
            # A better epoch has the path of the one before.
            self._saved[path] = _Epoch(_copied(self.model), tracker.slots())

        self._saved.clear()
        loop._save_state = watched

    def _watch_scores(self, loop: Any) -> None:
        """Keep the gradients of the scores of all entities."""
        score = getattr(loop.score_method, "__wrapped__", loop.score_method)
        gradients = self._score_gradients

        @functools.wraps(score)
        def watched(*given: Any, **named: Any) -> Tensor:
            scores = score(*given, **named)
            if scores.requires_grad:
                scores.register_hook(lambda gradient: gradients.append(gradient.detach()))
            return scores

        loop.score_method = watched

    def on_batch(self, epoch: int, batch: Any, batch_loss: float, **kwargs: Any) -> None:
        """Take the gradients of a batch, or of a part of it, before the optimizer's step."""
        assert self.tracker is not None
        if "pairs" in batch:
            self._take_pairs(self.tracker, batch)
        else:
            self._take_triples(self.tracker, batch)

    def _take_triples(self, tracker: Recorder, batch: Any) -> None:
        """SLCWA: the lookups of positives come first, then those of their negatives.

        A negative has rows of its fact, such as the relation's: their gradients are the fact's own.
        """
        positives, negatives, mask = (batch.get(it) for it in ("positives", "negatives", "masks"))
        size = tracker.first_lookup_size()  # that of the positives
        part = slice(self._n_done, self._n_done + size)
        self._n_done += size
        ids = tracker.fact_ids(positives[part])
        owners = torch.arange(size)[:, None].expand(negatives[part].shape[:-1])
        owners = owners.reshape(-1) if mask is None else owners[mask[part]]

        def whose(lookup: Lookup, at: int, n_lookups: int) -> Tensor:
            return ids if at < n_lookups // 2 else ids[owners.to(ids.device)]

        tracker.collect(whose)

    def _take_pairs(self, tracker: Recorder, batch: Any) -> None:
        """LCWA: pairs of subject and relation, with several facts each.

        A fact gets the gradient of its own score. The gradient of all other scores is split
        equally among the facts of the pair, and so is that of a regulariser.
        """
        lookups, (slope,) = tracker.take_lookups(), self._score_gradients
        self._score_gradients.clear()
        if len(lookups) > len({each.name for each in lookups}):
            raise WhereofError("scores in slices cannot be traced; leave out slice_size")
        part = slice(self._n_done, self._n_done + len(slope))
        self._n_done += len(slope)
        pairs, targets = (batch[it][part].to(slope.device) for it in ("pairs", "target"))
        which, objects = targets.nonzero(as_tuple=True)
        facts = torch.column_stack([pairs[which], objects])
        ids, counts = tracker.fact_ids(facts), torch.bincount(which, minlength=len(pairs))
        own = self._own_gradients(facts, slope[which, objects])
        # The subject is a candidate too. Unless that is a fact, its row is that of all these facts.
        subjects = pairs[:, :1]
        is_fact, slopes = (each.gather(1, subjects)[:, 0] for each in (targets, slope))
        loops = torch.column_stack([pairs, subjects])
        selves = self._own_gradients(loops, slopes * (is_fact == 0))
        for lookup in lookups:
            at = 0 if lookup.name.startswith("entity") else 1
            mine = own[lookup.name][0]
            shared = lookup.gradient.reshape(len(pairs), -1).index_add(0, which, mine, alpha=-1)
            if at == 0:
                shared = shared + selves[lookup.name][1]
                tracker.add_gradient(lookup.name, 2, ids, own[lookup.name][1])
            mine = mine + (shared / counts[:, None].to(shared))[which]
            tracker.add_gradient(lookup.name, at, ids, mine)

    def _own_gradients(self, facts: Tensor, slopes: Tensor) -> dict[str, list[Tensor]]:
        """By table, the gradients of the rows of facts, by their own scores, in order of lookup."""
        tracker, device = self.tracker, slopes.device
        assert tracker is not None
        tables = [each for each in self.model.parameters() if each.requires_grad]
        self.model.eval()  # so that regularisers do not count these scores too
        with torch.enable_grad():
            scores = self.model.score_hrt(facts.to(device))[:, 0]
            torch.autograd.grad((scores * slopes).sum(), tables, allow_unused=True)
        self.model.train()
        found: dict[str, list[Tensor]] = {}
        for lookup in tracker.take_lookups():
            found.setdefault(lookup.name, []).append(lookup.gradient.reshape(len(facts), -1))
        return found

    def post_epoch(self, epoch: int, epoch_loss: float, **kwargs: Any) -> None:
        """Remember the rows, to notice if they change after training."""
        self._last = _copied(self.model)

    def run(
        self,
        result: Any,
        *,
        valid: Any = None,
        test: Any = None,
        labels: Mapping[str, str] | None = None,
        retrain: Callable[[FactIds], Any] | None = None,
        name: str = "pykeen",
        out: str | Path | None = None,
    ) -> Run:
        """The trained model as a run, in memory or in a new folder.

        Parameters
        ----------
        result
            What `pykeen.pipeline.pipeline` returned, or a trained model.
        valid, test
            Held-out facts: factories, or (n, 3) ids.
        labels, name
            As in `Run.from_arrays`.
        retrain
            Your own training function: `retrain(skip)` trains without the facts whose ids are in
            `skip`, and returns the result or the model. `without` makes a callback for it.
        out
            A folder to write the run to.
        """
        model = getattr(result, "model", result)
        imported, trace = ImportedModel.of(model), None
        if self.tracker is not None:
            trace = imported.changes(self._slots(model, self.tracker), self._facts)
        scorer = imported.scorer()
        if len(scorer.entity_rows) != self.factory.num_entities:
            raise WhereofError(
                "the model and the factory have different entities; pass the model's own factory"
            )
        run = Run.from_arrays(
            model=scorer.model.name,
            entities=_names(self.factory, "entity"),
            relations=_names(self.factory, "relation"),
            facts=self.factory.mapped_triples.cpu().numpy(),
            valid=_ids(valid),
            test=_ids(test),
            entity_rows=scorer.entity_rows,
            relation_rows=scorer.relation_rows,
            trace=trace,
            loss=_loss(model),
            labels=labels,
            retrain=None if retrain is None else _returning_rows(retrain),
            name=name,
        )
        return run if out is None else run.save(out)

    def without(self, skip: Any) -> Skip:
        """A training callback that trains without the facts whose ids are in `skip`.

        Train on the whole factory with this callback, in place of the tracer. Batches, order and
        negatives of all other facts stay the same; the skipped facts give no gradient.
        """
        facts, n = _training_facts(self.factory), self.factory.num_triples
        skipped = torch.as_tensor(np.asarray(skip, np.int64))
        both = skipped if len(facts) == n else torch.cat([skipped, n + skipped])
        return Skip(facts[both], self.factory.num_entities)

    def _slots(self, model: Any, tracker: Recorder) -> tuple[Rows, ...]:
        """The trace of the epochs that the model was trained for."""
        now = dict(model.named_parameters())

        def has(rows: Mapping[str, Tensor]) -> bool:
            return all(name in now and torch.equal(now[name], it) for name, it in rows.items())

        if has(getattr(self, "_last", {})):
            return tracker.slots()
        for epoch in self._saved.values():
            if has(epoch.rows):
                return epoch.slots
        raise WhereofError(_CHANGED)


def _copied(model: Any) -> dict[str, Tensor]:
    return {name: it.detach().clone() for name, it in model.named_parameters()}


def _training_facts(factory: Any) -> Tensor:
    """(n, 3) facts as PyKEEN trains on them; inverse triples (t, 2r + 1, h) follow (h, 2r, t)."""
    facts = factory.mapped_triples.cpu()
    if not factory.create_inverse_triples:
        return facts
    forward = torch.column_stack([facts[:, 0], 2 * facts[:, 1], facts[:, 2]])
    backward = torch.column_stack([facts[:, 2], 2 * facts[:, 1] + 1, facts[:, 0]])
    return torch.cat([forward, backward])


def _names(factory: Any, kind: str) -> list[str]:
    """Names by id; a factory without names has numbers."""
    names = getattr(factory, f"{kind}_id_to_label", None)
    if names:
        return [names[at] for at in range(len(names))]
    n = factory.num_entities if kind == "entity" else factory.real_num_relations
    return [str(at) for at in range(n)]


def _ids(facts: Any) -> Any:
    """(n, 3) ids of a factory, a tensor or an array."""
    facts = getattr(facts, "mapped_triples", facts)
    return facts if facts is None else np.asarray(facts)


def _loss(model: Any) -> str:
    """The nearest loss of Whereof, which `of=loss` and gradients use."""
    name = type(model.loss).__name__
    return "softmax" if "CrossEntropy" in name and not name.startswith("Binary") else "sigmoid"


def _returning_rows(train: Callable[[FactIds], Any]) -> Callable[[FactIds], Scorer]:
    """The user's training function, with its model as rows of Whereof."""

    @functools.wraps(train, updated=())
    def again(skip: FactIds) -> Scorer:
        found = train(skip)
        return ImportedModel.of(getattr(found, "model", found)).scorer()

    return again
