"""The steps of a native training, taken again by PyTorch."""

from pathlib import Path
from typing import Any

import numpy as np

import whereof
from whereof.training.problem import Problem

RATES = {"sgd": 0.2, "adagrad": 0.05, "adam": 0.0005, "adam-lazy": 0.05}
EPOCHS = 1


def train_natively(path: Path, optimizer: str, credit: str, batch_size: int) -> whereof.Run:
    """DistMult on Nations, with all entities as candidates and the facts in the file's order."""
    # PyTorch's Adam adds epsilon after the bias correction: too small to matter.
    settings: dict[str, Any] = {"epsilon": 1e-12 if optimizer == "adam" else 1e-7}
    if optimizer == "adagrad":
        settings["accumulator"] = 0.1
    return whereof.train(
        "nations",
        out=path,
        model="distmult",
        dim=6,
        negatives="all",
        order="file",
        batch_size=batch_size,
        optimizer=optimizer,
        rate=RATES[optimizer],
        credit=credit,
        epochs=EPOCHS,
        search=False,
        validate_every=0,
        precision="float64",
        loss="softmax",
        inverse=False,
        l2=0.0,
        n3=0.0,
        **settings,
    )


def make_model(torch: Any, run: whereof.Run) -> Any:
    """Tables with the initial rows of a run."""
    rows, sparse = (
        Problem.of(run.dataset, run.config).initial_rows(),
        "lazy" in run.config.optimizer,
    )
    tables = (
        torch.nn.Embedding.from_pretrained(torch.tensor(each.copy()), freeze=False, sparse=sparse)
        for each in rows
    )
    return torch.nn.ModuleDict(dict(zip(("entity", "relation"), tables, strict=True)))


def make_optimizer(torch: Any, run: whereof.Run, model: Any) -> Any:
    config, parameters = run.config, list(model.parameters())
    names = {"sgd": "SGD", "adagrad": "Adagrad", "adam": "Adam", "adam-lazy": "SparseAdam"}
    settings: dict[str, Any] = {"lr": config.rate}
    if config.optimizer != "sgd":
        settings["eps"] = config.epsilon
    if config.optimizer == "adagrad":
        settings["initial_accumulator_value"] = config.accumulator
    return getattr(torch.optim, names[config.optimizer])(parameters, **settings)


def train_by_torch(torch: Any, run: whereof.Run, tracker: Any, *, lookups: bool) -> None:
    """The loop; lookups: candidates are looked up, else scored against the whole table."""
    model, optimizer, batch_size = tracker.model, tracker.optimizer, run.config.batch_size
    facts = torch.tensor(run.dataset.train.astype(np.int64))
    every = torch.arange(run.dataset.n_entities)
    for _ in range(EPOCHS):
        for ids in torch.arange(len(facts)).split(batch_size):
            subjects, relations, objects = facts[ids].T
            optimizer.zero_grad()
            query = model["entity"](subjects) * model["relation"](relations)
            if lookups:
                rows = model["entity"](every.expand(len(ids), -1))
                scores = torch.einsum("nd,nmd->nm", query, rows)
            else:
                scores = tracker.score_all(query, model["entity"])
            torch.nn.functional.cross_entropy(scores, objects, reduction="sum").backward()
            tracker.step(ids)
