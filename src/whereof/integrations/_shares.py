"""How far a PyTorch optimizer moves a row for each unit of a gradient.

An update of a row is `factor * gradient + rest`. The rest is what no gradient of this batch did:
momentum from earlier batches, and weight decay.
"""

from dataclasses import dataclass
from typing import Any

from whereof.errors import WhereofError, need

torch = need("torch", "torch", "whereof.torch")
Tensor = Any
KNOWN = ("SGD", "Adagrad", "Adam", "AdamW", "SparseAdam")
CREDITS = ("step", "source", "limited")


@dataclass(eq=False)
class Share:
    """The share of gradients in the updates of one table."""

    optimizer: Any
    table: Any
    credit: str
    _is_first: bool = True

    def __post_init__(self) -> None:
        if type(self.optimizer).__name__ not in KNOWN:
            raise WhereofError(
                f"the tracker does not know the optimizer {type(self.optimizer).__name__}; "
                f"choose from {', '.join(KNOWN)}"
            )
        groups = self.optimizer.param_groups
        found = (it for it in groups if any(p is self.table for p in it["params"]))
        group = next(found, None)
        if group is None:
            raise WhereofError(
                "the optimizer does not train one of the tables; pass it the parameters of the "
                "model that you track"
            )
        self.group = group

    @property
    def has_rest(self) -> bool:
        """Whether something else than this batch's gradients moves rows."""
        group = self.group
        momentum = "betas" in group or group.get("momentum", 0) != 0
        return momentum or group.get("weight_decay", 0) != 0

    def before_step(self) -> None:
        """Note what the factor needs to know of the state before the update."""
        self._is_first = self._state.get("momentum_buffer") is None

    def factor(self, rows: Tensor | None = None) -> Any:
        """What a gradient of these rows, or of all, is multiplied by; a number or (n, width).

        With credit step, it is what the gradient moves in this update; otherwise over time.
        """
        sign = 1.0 if self.group.get("maximize") else -1.0
        if "betas" in self.group:
            return sign * self._adam(rows)
        if "lr_decay" in self.group:
            return sign * self._adagrad(rows)
        return sign * self._sgd()

    def limit(self, change: Tensor) -> Tensor:
        """With credit limited, shorten each share to what its gradient could move alone.

        The gradients of a batch may cancel each other, so that the optimizer divides by almost 0.
        Divided by the same, a single gradient would move a row much farther than any step does.
        """
        if self.credit != "limited" or not {"betas", "lr_decay"} & self.group.keys():
            return change
        most = float(self.group["lr"])
        if "betas" in self.group:
            beta2 = self.group["betas"][1]
            most *= ((1.0 - beta2 ** float(self._state["step"])) / (1.0 - beta2)) ** 0.5
        return change.clamp_(-most, most)

    @property
    def _state(self) -> Any:
        return self.optimizer.state.get(self.table, {})

    def _sgd(self) -> float:
        group = self.group
        rate, momentum = float(group["lr"]), float(group["momentum"])
        kept = 1.0 if self._is_first else 1.0 - float(group["dampening"])
        if self.credit != "step":
            return rate * kept / (1.0 - momentum)
        return rate * (1.0 + momentum * kept if group["nesterov"] else kept)

    def _adagrad(self, rows: Tensor | None) -> Tensor:
        group, step = self.group, float(self._state["step"])
        rate = float(group["lr"]) / (1.0 + (step - 1.0) * group["lr_decay"])
        return rate / (_take(self._state["sum"], rows).sqrt() + group["eps"])

    def _adam(self, rows: Tensor | None) -> Tensor:
        group, state = self.group, self._state
        (beta1, beta2), step = group["betas"], float(state["step"])
        squares = state["max_exp_avg_sq" if group.get("amsgrad") else "exp_avg_sq"]
        unbiased = (1.0 - beta2**step) ** 0.5
        roots, rate = _take(squares, rows).sqrt(), float(group["lr"])
        if self.credit != "step":
            return rate / (roots / unbiased + group["eps"])
        rate *= (1.0 - beta1) / (1.0 - beta1**step)
        if isinstance(self.optimizer, torch.optim.SparseAdam):  # epsilon comes before the bias
            return rate * unbiased / (roots + group["eps"])
        return rate / (roots / unbiased + group["eps"])


def _take(values: Tensor, rows: Tensor | None) -> Tensor:
    return (
        values if rows is None else values.index_select(0, rows)
    )  # indexing takes ten times as long


def gradient_rows(table: Any, rows: Tensor | None = None) -> Tensor:
    """(n, width) the gradient of some rows of a table, or of all, dense or sparse."""
    gradient = table.grad
    if gradient is None:
        size = len(table) if rows is None else len(rows)
        return table.new_zeros(size, table.shape[1])
    if not gradient.is_sparse:
        return _take(gradient, rows)
    if rows is None:
        return gradient.to_dense()
    gradient = gradient.coalesce()
    found, values = gradient.indices()[0], gradient.values()
    places = torch.searchsorted(found, rows).clamp(max=max(len(found) - 1, 0))
    if not len(found):
        return table.new_zeros(len(rows), table.shape[1])
    return values[places] * (found[places] == rows)[:, None]


def some_gradient_rows(gradient: Tensor, rows: Tensor) -> Tensor:
    """(n, width) a few rows of a gradient, dense or sparse; a sparse one is not sorted first."""
    if not gradient.is_sparse:
        return gradient.index_select(0, rows)
    return sum_where(gradient._indices()[0][:, None] == rows, gradient._values())


def on_gpu(values: Tensor) -> bool:
    """Whether other work goes on while values are computed, unless it reads them."""
    return bool(values.is_cuda)


def sum_where(mine: Tensor, values: Tensor) -> Tensor:
    """(m, width) sums of values (n, width), each of those that a column of mine (n, m) marks."""
    if on_gpu(mine):  # finding the few that are marked would wait for the GPU
        return mine.T.to(values.dtype) @ values
    found, which = mine.nonzero(as_tuple=True)
    total = values.new_zeros(mine.shape[1], values.shape[1])
    return total.index_add_(0, which, values.index_select(0, found))
