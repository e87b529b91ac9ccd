"""Record what a training step of PyTorch changes: lookups, gradients, shares, trace."""

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from whereof.errors import WhereofError, need
from whereof.integrations._shares import (
    CREDITS,
    Share,
    gradient_rows,
    on_gpu,
    some_gradient_rows,
    sum_where,
)
from whereof.integrations._tables import Tables, is_table, widened
from whereof.training.results import Bookkeeping
from whereof.types import PLACES, Rows

torch = need("torch", "torch", "whereof.torch")
Tensor = Any
_NUMBERS = itertools.count()
_LEDGERS = ("lookups", "negatives", "other", "drift")
"""What is added up for the book-keeping: gradients of all lookups until the next step; and what
moved rows besides facts."""
_N_PROBED = 4
"""Facts of a batch whose rows are compared with the gradients that the optimizer gets."""
_CHANGED = 1e-3
"""Gradients that differ by less, relative to their size, differ by rounding."""
_FIRST_ROOM = 1024
"""Facts that a trace has room for at first, if the facts are not known before training."""


class Lookup(NamedTuple):
    """Rows that the model looked up, and their gradient."""

    number: int
    """Counts up in the order of the forward pass."""
    name: str
    """The table."""
    rows: Tensor
    gradient: Tensor
    """(n, ...) and (n, ..., width)."""


class _Piece(NamedTuple):
    """Gradients of rows that facts own."""

    name: str
    at: int
    """The table and the column of the facts."""
    ids: Tensor
    rows: Tensor
    gradient: Tensor
    """(n,) facts, (n,) their rows, (n, width)."""


class _Probe(NamedTuple):
    """The gradient of some rows, from all lookups, to compare with what the optimizer gets."""

    rows: Tensor
    gradient: Tensor
    """(n,), with repetitions, and (n, width)."""


class Recorder:
    """The trace of a training, step by step; `whereof.torch.Tracker` says what the arguments are.

    Hooks of the embedding tables keep lookups and their gradients. Hooks of the optimizer turn the
    gradients of the rows that a fact owns into changes, right after an update. A GPU works on while
    Python goes on, so a step reads no result of the GPU, except with credit step.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        facts: Any = None,
        *,
        subject: Any = None,
        relation: Any = None,
        object: Any = None,
        credit: str = "limited",
        ledgers: bool = False,
    ) -> None:
        if credit not in CREDITS:
            raise WhereofError(f"credit is {credit!r}; choose from {', '.join(CREDITS)}")
        self.model, self.optimizer, self.credit = model, optimizer, credit
        self._given, self._ledgers = (subject, relation, object), ledgers
        self._known = facts is not None
        self._index: dict[tuple[int, ...], int] = {}
        self._seen: list[Lookup] = []
        self._dense: list[tuple[str, Tensor, Tensor]] = []  # queries scored against whole tables
        self._pieces: list[_Piece] = []
        self._probes: dict[str, _Probe] = {}
        self._is_taken = False  # whether gradients were taken since the last step
        self._n_steps = 0
        self._tables: Tables | None = None
        self._hooks = [
            optimizer.register_step_pre_hook(lambda *_: self._before_step()),
            optimizer.register_step_post_hook(lambda *_: self._after_step()),
        ]
        for name, module in model.named_modules():
            if is_table(module):
                self._hooks.append(module.register_forward_hook(_recorder(name, self._seen)))
        if facts is not None:
            ids = torch.as_tensor(np.asarray(facts), dtype=torch.int64)
            self._start(ids.shape[1], len(ids))
            self._add_facts(ids)

    @property
    def facts(self) -> Any:
        """(n_facts, 3) or (n_facts, 2) the rows of every fact, by id."""
        return self._facts[:, : self._n_facts].T.cpu().numpy()

    def step(self, batch: Any, *owners: Any) -> None:
        """Update the model with `optimizer.step()`, and credit the facts of the batch.

        Call it after `loss.backward()`, in place of `optimizer.step()`. `batch` contains the ids of
        its facts, (n,), or the facts themselves, (n, 3) or (n, 2). If a lookup has n rows, or shape
        (n, k), the tracker assigns them to these facts in order. If you look up another number of
        rows, pass an array of that length as one of `owners`: for each row, the position of its
        fact in the batch.
        """
        self.add(batch, *owners)
        self.optimizer.step()

    def add(self, batch: Any, *owners: Any) -> None:
        """Take the gradients of a batch without an update, for accumulated gradients."""
        ids = self.fact_ids(batch)
        if not (self._seen or self._dense):
            raise WhereofError(
                "no lookup of a table got a gradient since the last step; call loss.backward() "
                f"before tracker.step, and look rows up by calling the table, as in "
                f"{next(iter(self._columns))}(ids), or score with tracker.score_all"
            )
        fact_of = {len(ids): ids}
        fact_of |= {len(it): ids[torch.as_tensor(it, device=ids.device)] for it in owners}

        def whose(lookup: Lookup, at: int, n_lookups: int) -> Tensor:
            if len(lookup.rows) not in fact_of:
                raise WhereofError(
                    f"{lookup.name} was looked up for {len(lookup.rows)} rows in a batch of "
                    f"{len(ids)} facts; pass the position in the batch of each: "
                    "tracker.step(batch, positions)"
                )
            return fact_of[len(lookup.rows)]

        for name in self._columns:
            self._probe(name, ids)
        self.collect(whose)
        for name, query, gradient in self._dense:
            self._take_scores(name, ids, query, gradient)
        self._dense.clear()

    def _probe(self, name: str, ids: Tensor) -> None:
        """Add up the gradient of a few rows of a table, over all lookups since the last step."""
        if name not in self._probes:
            rows = self._rows(ids[:_N_PROBED], self._columns[name][0])
            width = self._initial[name].shape[1]
            self._probes[name] = _Probe(rows, self._initial[name].new_zeros(len(rows), width))
        rows, total = self._probes[name]
        padding = self.model.get_submodule(name).padding_idx
        for lookup in self._seen:
            if lookup.name == name:
                mine = lookup.rows.reshape(-1, 1) == rows
                if padding is not None:  # has no gradient
                    mine &= rows != padding
                total += sum_where(mine, lookup.gradient.reshape(-1, total.shape[1]))
        for table, query, gradient in self._dense:
            if table == name:
                total += gradient[:, rows].T @ query

    def _scale(self, name: str) -> Any:
        """What the gradients of a table were multiplied by after the backward pass.

        Clipping by norm and the scaling of mixed precision multiply all of them by one number.
        """
        probe, table = self._probes.get(name), self._weights[name]
        if probe is None or table.grad is None:
            return 1.0
        recorded, given = probe.gradient, some_gradient_rows(table.grad, probe.rows)
        square = (recorded * recorded).sum()
        scale = (given * recorded).sum() / square
        left, size = (given - scale * recorded).norm(), torch.maximum(given.norm(), square.sqrt())
        otherwise = left > _CHANGED * size
        self._changed[name] |= otherwise
        scaled = (square > 0) & ~otherwise & ((scale - 1.0).abs() > _CHANGED)
        return torch.where(scaled, scale, 1.0)

    def _check_gradients(self) -> None:
        """Warn about tables with gradients that were changed otherwise."""
        for name, changed in self._changed.items():
            if bool(changed):
                warnings.warn(
                    f"the gradient of table {name} is not that of its lookups; the tracker credits "
                    "facts with the gradients of their lookups only. To score all rows, write "
                    "tracker.score_all(query, table), not query @ table.weight.T. Other causes are "
                    "clipping by value and a penalty on the whole table",
                    stacklevel=3,
                )
                changed.zero_()

    def collect(self, whose: Callable[[Lookup, int, int], Tensor]) -> None:
        """Take the gradients of all lookups so far.

        whose: (n,) the fact of each row of a lookup, from its place among the lookups of the same
        table, in order, and from their number.
        """
        self._is_taken = True
        by_table: dict[str, list[Lookup]] = {name: [] for name in self._columns}
        for lookup in self.take_lookups():
            by_table.get(lookup.name, []).append(lookup)
        for lookups in by_table.values():
            for at, lookup in enumerate(lookups):
                self._take_lookup(lookup, whose(lookup, at, len(lookups)))

    def score_all(self, query: Tensor, table: Any) -> Tensor:
        """(n, n_rows) dot products of the batch's query vectors with all rows of a table.

        Use it in place of `query @ table.weight.T`, which is not a lookup, so the tracker does not
        see it.
        """
        name = next(name for name, module in self.model.named_modules() if module is table)
        scores = query @ table.weight.T
        if torch.is_grad_enabled() and scores.requires_grad:
            kept, dense = query.detach(), self._dense
            scores.register_hook(lambda gradient: dense.append((name, kept, gradient.detach())))
        return scores

    def close(self) -> None:
        """Stop tracking: remove the hooks from model and optimizer."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _start(self, n_columns: int, room: int) -> None:
        """Make the trace, once the number of columns is known."""
        self._tables = tables = Tables.find(self.model, self._given, n_columns)
        if len(tables.by_column) != n_columns:
            raise WhereofError(
                f"facts have {n_columns} columns, and there are tables for "
                f"{len(tables.by_column)}; name the tables: subject=, relation=, object="
            )
        self._columns = {
            name: [at for at, names in enumerate(tables.by_column) if name in names]
            for name in dict.fromkeys(sum(tables.by_column, ()))
        }
        self._weights = {name: self.model.get_submodule(name).weight for name in self._columns}
        self._shares = {
            name: Share(self.optimizer, weight, self.credit)
            for name, weight in self._weights.items()
        }
        self._initial = {name: it.detach().clone() for name, it in self._weights.items()}
        self._changed = {
            name: torch.zeros((), dtype=torch.bool, device=it.device)
            for name, it in self._initial.items()
        }
        self._ledger = {
            (kind, name): torch.zeros_like(it)
            for name, it in self._initial.items()
            for kind in _LEDGERS
            if self._ledgers
        }
        for name in self._columns:
            if self.model.get_submodule(name).max_norm is not None:
                warnings.warn(
                    f"table {name} has max_norm, which shortens rows outside of steps; the tracker "
                    "credits no fact with that, so estimates may be far off",
                    stacklevel=4,
                )
        device = next(iter(self._weights.values())).device
        self._facts = torch.empty(n_columns, room, dtype=torch.int64, device=device)
        self._n_facts = 0
        self._trace = {
            (name, at): weight.new_zeros(room, weight.shape[1])
            for name, weight in self._initial.items()
            for at in self._columns[name]
        }
        self._before: dict[str, tuple[Tensor, Tensor]] = {}

    def _add_facts(self, facts: Tensor) -> None:
        stop = self._n_facts + len(facts)
        if stop > (room := self._facts.shape[1]):
            size = max(stop, 2 * room, _FIRST_ROOM)
            self._facts = _longer(self._facts.T, size).T.contiguous()
            self._trace = {key: _longer(it, size) for key, it in self._trace.items()}
        self._facts[:, self._n_facts : stop] = facts.T.to(self._facts.device)
        for at, fact in enumerate(map(tuple, facts.tolist()), self._n_facts):
            self._index.setdefault(fact, at)
        self._n_facts = stop

    def fact_ids(self, batch: Any) -> Tensor:
        """(n,) the ids of the facts of a batch; facts that are not known get one."""
        batch = torch.as_tensor(batch)
        if batch.ndim == 1:
            if not self._known:
                raise WhereofError(
                    "the tracker does not know the facts of these ids; pass the facts to Tracker, "
                    "or pass (n, 3) rows to step"
                )
            return batch.to(self._facts.device, torch.int64)
        if self._tables is None:
            self._start(batch.shape[1], 0)
        facts = list(map(tuple, batch.tolist()))
        missing = [fact for fact in dict.fromkeys(facts) if fact not in self._index]
        if missing and self._known:
            raise WhereofError(
                f"{missing[0]} is in a batch, and not among the facts of the tracker"
            )
        if missing:
            self._add_facts(torch.tensor(missing))
        return torch.tensor([self._index[fact] for fact in facts], device=self._facts.device)

    def take_lookups(self) -> list[Lookup]:
        """The lookups since the last call, in the order of the forward pass."""
        found = sorted(self._seen, key=lambda each: each.number)
        self._seen.clear()
        self._is_taken = True
        return found

    def first_lookup_size(self) -> int:
        """The number of rows of the first lookup since the last call of `take_lookups`."""
        return len(min(self._seen, key=lambda each: each.number).rows)

    def add_gradient(self, name: str, at: int, ids: Tensor, gradient: Tensor) -> None:
        """Credit facts with gradients (n, width) of their rows in a column of a table."""
        rows, first = self._rows(ids, at), self._columns[name][0]
        if at == first:
            self._pieces.append(_Piece(name, at, ids, rows, gradient))
            return
        loops = rows == self._rows(ids, first)  # whose changes stand in the subject slot
        for column, mine in ((first, loops), (at, ~loops)):
            self._keep(name, column, ids, rows, gradient[:, None], mine[:, None])

    def _rows(self, ids: Tensor, at: int) -> Tensor:
        """(n,) the row of each fact in a column."""
        return self._facts[at].index_select(0, ids)

    def _take_lookup(self, lookup: Lookup, ids: Tensor) -> None:
        """Keep the gradients of the rows that a fact owns, of one lookup (n, ...) of rows."""
        name, rows, earlier = lookup.name, lookup.rows.reshape(len(ids), -1), None
        width = rows.shape[1]
        gradient = lookup.gradient.reshape(len(ids) * width, -1)
        if self._ledgers:
            self._ledger["lookups", name].index_add_(0, rows.reshape(-1), gradient)
        for at in self._columns[name]:
            wanted = self._rows(ids, at)
            own = rows == wanted[:, None]
            if earlier is not None:  # the change of a self-loop stands in the subject slot
                own &= (wanted != earlier)[:, None]
            earlier = wanted
            self._keep(name, at, ids, wanted, gradient.reshape(*own.shape, -1), own)

    def _keep(
        self, name: str, at: int, ids: Tensor, rows: Tensor, gradient: Tensor, own: Tensor
    ) -> None:
        """Keep the gradients (n, k, width) that are those of the facts' own rows (n,)."""
        if on_gpu(own):  # finding them would wait for the GPU
            gradient = torch.bmm(own[:, None].to(gradient.dtype), gradient)[:, 0]
            self._pieces.append(_Piece(name, at, ids, rows, gradient))
            return
        n_each, found = own.shape[1], own.reshape(-1).nonzero()[:, 0]
        gradient = gradient.reshape(own.numel(), -1)
        if n_each == 1 and len(found) == len(ids):
            self._pieces.append(_Piece(name, at, ids, rows, gradient))
        elif len(found):
            whose, mine = found // n_each, gradient.index_select(0, found)
            owners, owned = ids.index_select(0, whose), rows.index_select(0, whose)
            self._pieces.append(_Piece(name, at, owners, owned, mine))

    def _take_scores(self, name: str, ids: Tensor, query: Tensor, gradient: Tensor) -> None:
        """The same for scores (n, n_rows) of queries against a whole table."""
        if self._ledgers and name in self._columns:
            self._ledger["lookups", name].add_(gradient.T @ query)
        earlier = None
        for at in self._columns.get(name, ()):
            rows = self._rows(ids, at)
            own = gradient.gather(1, rows[:, None]) * query
            if earlier is not None:
                own = own * (rows != earlier)[:, None]
            earlier = rows
            self._pieces.append(_Piece(name, at, ids, rows, own))

    def _before_step(self) -> None:
        if not self._is_taken:
            self._refuse_gradients()
        if not self._pieces:
            return
        self._before.clear()
        self._scales = {name: self._scale(name) for name in self._shares}
        for name, share in self._shares.items():
            share.before_step()
            if self._ledgers:
                self._before[name] = (None, self._weights[name].detach().clone())
            elif self.credit == "step" and share.has_rest:
                owned = [piece.rows for piece in self._pieces if piece.name == name]
                if owned:
                    rows = torch.cat(owned).unique()
                    self._before[name] = (rows, self._weights[name].detach().index_select(0, rows))

    def _refuse_gradients(self) -> None:
        """An error if the optimizer would move tables by gradients that were not taken."""
        tables = (module for module in self.model.modules() if is_table(module))
        if any(table.weight.grad is not None for table in tables):
            raise WhereofError(
                "the optimizer steps with gradients that the tracker did not take; tracker.step "
                "calls optimizer.step() itself, so leave out your own, or call tracker.add(batch) "
                "before it"
            )

    def _after_step(self) -> None:
        """Turn gradients into changes, and add them to the trace."""
        if not self._is_taken:
            return
        for name, share in self._shares.items() if self._pieces else ():
            mine = [piece for piece in self._pieces if piece.name == name]
            scale = self._scales[name]
            moved = torch.zeros_like(self._initial[name]) if self._ledgers else None
            for piece in mine:
                change = share.limit(scale * share.factor(piece.rows) * piece.gradient)
                self._trace[name, piece.at].index_add_(0, piece.ids, change)
                if moved is not None:
                    moved.index_add_(0, piece.rows, change)
            if name in self._before and self._weights[name].grad is not None:
                self._split_rest(name, share, mine, moved)
        self._is_taken = False
        self._pieces.clear()
        self._probes.clear()
        self._n_steps += 1
        if self._n_steps & (self._n_steps - 1) == 0:  # seldom: it waits for a GPU
            self._check_gradients()

    def _split_rest(
        self, name: str, share: Share, mine: Sequence[_Piece], moved: Tensor | None
    ) -> None:
        """Split what no gradient of this batch did, among the facts that own the row."""
        rows, before = self._before[name]
        table, columns = self._weights[name].detach(), self._columns[name]
        by_gradients = share.factor(rows) * gradient_rows(self._weights[name], rows)
        rest = (table if rows is None else table.index_select(0, rows)) - before - by_gradients
        earlier, places = columns[0], []
        for at in columns:
            ids = torch.cat([self._facts[0, :0], *(it.ids for it in mine if it.at == at)]).unique()
            own = self._rows(ids, at)
            if at != earlier:  # a self-loop owns its row once
                single = own != self._rows(ids, earlier)
                ids, own = ids[single], own[single]
            places.append((at, ids, own if rows is None else torch.searchsorted(rows, own)))
        counts = torch.bincount(torch.cat([it for *_, it in places]), minlength=len(rest))
        if self.credit == "step":
            for at, ids, place in places:
                each = (rest / counts.clamp(min=1)[:, None]).index_select(0, place)
                self._trace[name, at].index_add_(0, ids, each)
        if moved is not None:
            looked_up = self._ledger["lookups", name]
            if (padding := self.model.get_submodule(name).padding_idx) is not None:
                looked_up[padding] = 0
            by_lookups = self._scales[name] * share.factor(rows) * looked_up
            self._ledger["negatives", name] += by_lookups - moved
            self._ledger["other", name] += by_gradients - by_lookups
            looked_up.zero_()
            self._ledger["drift", name] += torch.where(counts[:, None] > 0, 0.0, rest)

    def bookkeeping(self) -> Bookkeeping:
        """What moved the rows, as shares of final minus initial rows.

        Requires `ledgers=True`. `negatives` is what the gradients of lookups moved but no fact is
        credited with. `remainder` is what other gradients moved, for example those of a penalty on
        a whole table; with another credit than step, it contains all that does not add up.
        `projection` is what changed outside of steps, for example by a constraint on norms.
        """
        if not self._ledgers:
            raise WhereofError("bookkeeping requires Tracker(..., ledgers=True)")
        kinds = ("negatives", "drift", "other")
        parts: dict[str, list[Tensor]] = {kind: [] for kind in ("trace", *kinds, "whole")}
        for name, initial in self._initial.items():
            traced = torch.zeros_like(initial)
            for at in self._columns[name]:
                rows = self._facts[at, : self._n_facts]
                traced.index_add_(0, rows, self._trace[name, at][: self._n_facts])
            parts["trace"].append(traced)
            parts["whole"].append(self._weights[name].detach() - initial)
            for kind in kinds:
                parts[kind].append(self._ledger[kind, name])
        vectors = {
            kind: torch.cat([it.double().flatten() for it in each]) for kind, each in parts.items()
        }
        whole = vectors.pop("whole")
        size = max(float(whole @ whole), 1e-300)
        shares = {kind: float(it @ whole) / size for kind, it in vectors.items()}
        left, remainder = 1.0 - sum(shares.values()), shares.pop("other")
        outside = left if self.credit == "step" else 0.0
        remainder += left - outside
        return Bookkeeping(**shares, projection=outside, remainder=remainder)

    def check_seen(self) -> None:
        """Refuse a training in which a place was never looked up, so that its trace is empty."""
        assert self._tables is not None
        self._check_gradients()
        for at, names in enumerate(self._tables.by_column):
            if not any(self._trace[name, at].any() for name in names):
                place = PLACES[len(self._tables.by_column)][at]
                raise WhereofError(
                    f"no step changed the {place} rows of its facts; look rows up by calling the "
                    f"table, as in {names[0]}(ids), or score with tracker.score_all"
                )

    def slots(self, width: int = 0) -> tuple[Rows, ...]:
        """The trace by slot: subject, relation, object; those of entities have at least a width."""
        assert self._tables is not None
        found = []
        for at, names in enumerate(self._tables.by_column):
            parts = [self._trace[name, at][: self._n_facts] for name in names]
            slot = torch.cat(parts, dim=1).cpu().numpy()
            is_entity = at != 1 or not self._tables.relation
            found.append(widened(slot, max(width, slot.shape[1])) if is_entity else slot)
        return tuple(found)


def _recorder(name: str, seen: list[Lookup]) -> Any:
    """A forward hook that keeps rows and gradient of each lookup, once it is differentiated."""

    def record(module: Any, given: tuple[Any, ...], output: Any) -> None:
        if torch.is_grad_enabled() and output.requires_grad:
            number, rows = next(_NUMBERS), given[0].detach()
            output.register_hook(
                lambda gradient: seen.append(Lookup(number, name, rows, gradient.detach()))
            )

    return record


def _longer(values: Tensor, size: int) -> Tensor:
    longer = values.new_zeros(size, *values.shape[1:])
    longer[: len(values)] = values
    return longer
