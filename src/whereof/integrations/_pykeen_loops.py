"""Training loops of PyKEEN: which are supported, and training that skips some facts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from whereof.errors import WhereofError, need
from whereof.integrations._tables import is_table

torch = need("torch", "pykeen", "whereof.pykeen")
pykeen_training = need("pykeen.training", "pykeen", "whereof.pykeen")
pykeen_callbacks = need("pykeen.training.callbacks", "pykeen", "whereof.pykeen")
Tensor = Any


def is_lcwa(loop: Any) -> bool:
    """Whether a training loop is LCWA, and not sLCWA; an error for other loops."""
    lcwa = isinstance(loop, pykeen_training.LCWATrainingLoop)
    if not lcwa and not isinstance(loop, pykeen_training.SLCWATrainingLoop):
        raise WhereofError(
            f"{type(loop).__name__} is not supported; choose training_loop sLCWA or LCWA"
        )
    if lcwa and loop.target != 2:
        raise WhereofError("LCWA is supported with target tail; leave out target")
    return lcwa


class Skip(pykeen_callbacks.TrainingCallback):  # type: ignore[name-defined, misc]
    """A training callback: some facts give no gradient, and all else stays as it is.

    Skipped facts stay in the factory, so batches, their order, negatives and the divisor of a mean
    loss are the same for all other facts. No loss has to know about it: the gradient stops at the
    rows that PyKEEN looks up for a skipped fact and for its negatives.

    facts: (n, 3) the skipped facts, as PyKEEN trains on them.
    """

    def __init__(self, facts: Tensor, n_entities: int) -> None:
        super().__init__()
        self._n_entities = n_entities
        self._skipped = self._keys(facts)

    def register_training_loop(self, training_loop: Any) -> None:
        """Watch the loop that trains with this callback."""
        super().register_training_loop(training_loop)
        lcwa, process = is_lcwa(training_loop), type(training_loop)._process_batch

        def watched(batch: Any, start: int, stop: int, **named: Any) -> Tensor:
            part = slice(start, stop)
            hidden = [self._pairs(batch, part)] if lcwa else self._triples(batch, part)
            with _no_gradients(training_loop, lcwa, hidden):
                return process(training_loop, batch=batch, start=start, stop=stop, **named)

        training_loop._process_batch = watched

    def _triples(self, batch: Any, part: slice) -> list[Tensor]:
        """SLCWA: masks (n,) of the skipped facts, and (m,) of their negatives."""
        facts = self._is_skipped(batch["positives"][part])
        negatives = facts[:, None].expand(batch["negatives"][part].shape[:-1])
        kept = batch.get("masks")
        return [facts, negatives.reshape(-1) if kept is None else negatives[kept[part]]]

    def _pairs(self, batch: Any, part: slice) -> Tensor:
        """LCWA: mask (n,) of pairs that have skipped facts only.

        The object of a skipped fact is no target of other pairs. It becomes a wrong answer, as if
        the fact were not in the data.
        """
        pairs, targets = batch["pairs"][part], batch["target"][part]
        which, objects = targets.nonzero(as_tuple=True)
        skipped = self._is_skipped(torch.column_stack([pairs[which], objects]))
        left = targets.clone()
        left[which[skipped], objects[skipped]] = 0
        empty = ~left.any(dim=1)
        targets.copy_(torch.where(empty[:, None], targets, left))
        return empty

    def _is_skipped(self, facts: Tensor) -> Tensor:
        return torch.isin(self._keys(facts), self._skipped.to(facts.device))

    def _keys(self, facts: Tensor) -> Tensor:
        """One number for each fact."""
        subjects, relations, objects = facts.long().T
        return (relations * self._n_entities + subjects) * self._n_entities + objects


@contextmanager
def _no_gradients(loop: Any, lcwa: bool, hidden: list[Tensor]) -> Iterator[None]:
    """Stop the gradients of some triples at their scores, and at the rows looked up for them.

    hidden: for each call of the scoring method, the mask of these triples or pairs.
    """
    owner, name = (loop, "score_method") if lcwa else (loop.model, "score_hrt")
    score, own = getattr(owner, name), vars(owner).get(name)
    masks = iter(hidden)
    mask = hidden[0]

    def hide(values: Tensor) -> None:
        if values.requires_grad:
            rows = mask.to(values.device).reshape(-1, *(1,) * (values.ndim - 1))
            values.register_hook(lambda gradient: gradient.masked_fill(rows, 0.0))

    def scoring(*given: Any, **named: Any) -> Tensor:
        nonlocal mask
        mask = next(masks)
        scores = score(*given, **named)
        hide(scores)  # LCWA scores all entities without a lookup
        return scores

    tables = [each for each in loop.model.modules() if is_table(each)]
    hooks = [  # first, so that a tracer sees what is left
        it.register_forward_hook(lambda *given: hide(given[-1]), prepend=True) for it in tables
    ]
    setattr(owner, name, scoring)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
