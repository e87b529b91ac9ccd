"""A PyTorch model as a scorer: its rows, and the formula or function that scores them."""

import copy
from typing import Any

import numpy as np

from whereof.errors import need
from whereof.integrations._tables import Tables
from whereof.models import Model, find_model, own_model
from whereof.models.scoring import Scorer
from whereof.types import Numbers

torch = need("torch", "torch", "whereof.torch")


def make_scorer(module: Any, tables: Tables, score: Any) -> Scorer:
    """A PyTorch model as rows with a scoring function: the name of a model, or a function."""
    entities, relations = tables.rows(module)
    model = find_model(score) if isinstance(score, str) else _own(module, tables, score)
    return Scorer(model, entities, relations)


def _own(module: Any, tables: Tables, score: Any) -> Model:
    """A model that scores with `score(module, subject, relation, object)` of single rows."""
    subject, relation, answer = tables.widths(module)
    frozen = _frozen(module)

    def one(s: Any, r: Any, o: Any) -> Any:
        rows = (s[:subject], r, o[:answer]) if relation else (s[:subject], o[:answer])
        return score(frozen, *rows).reshape(())

    each = torch.func.vmap(one, (None, None, 0))
    shared, apart = torch.func.vmap(each, (0, 0, None)), torch.func.vmap(each, (0, 0, 0))

    def scores(given: Numbers, relations: Numbers, candidates: Numbers) -> Numbers:
        device = next(frozen.parameters()).device
        rows = [torch.from_numpy(np.ascontiguousarray(it)) for it in (given, relations, candidates)]
        batched = shared if candidates.ndim == 2 else apart
        with torch.no_grad():
            return np.array(batched(*(it.to(device) for it in rows)).cpu().numpy(), np.float64)

    width = max(subject, answer)
    return own_model(getattr(score, "__name__", "score"), width, relation, scores)


def _frozen(module: Any) -> Any:
    """A copy in double precision that is not trained: without dropout, with fixed statistics."""
    return copy.deepcopy(module).double().eval().requires_grad_(False)
