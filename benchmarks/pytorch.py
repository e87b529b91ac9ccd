"""The same training step in PyTorch: sparse embeddings and SparseAdam."""

from typing import Any

import numpy as np
import torch
from contenders import Outcome
from problems import Steps
from rounds import Contender
from torch import nn

from whereof.training.problem import Problem

torch.set_num_threads(1)


class TorchStep:
    """DistMult with a softmax over the true object and the given negatives; one fact per batch."""

    def __init__(self, problem: Problem, steps: Steps) -> None:
        entity_rows, relation_rows = (np.array(rows) for rows in problem.initial_rows())
        self.entities = nn.Embedding.from_pretrained(
            torch.from_numpy(entity_rows), freeze=False, sparse=True
        )
        self.relations = nn.Embedding.from_pretrained(
            torch.from_numpy(relation_rows), freeze=False, sparse=True
        )
        config = problem.config
        self.optimizer = torch.optim.SparseAdam(
            [self.entities.weight, self.relations.weight],
            lr=config.rate,
            betas=(config.beta1, config.beta2),
            eps=config.epsilon,
        )
        # Subject and candidates are looked up together, which gives one sparse gradient.
        ids = np.concatenate([steps.subjects[:, None], steps.candidates], axis=1, dtype=np.int64)
        self.entity_ids = torch.from_numpy(ids)  # (n, 2 + negatives)
        self.relation_ids = torch.from_numpy(steps.relations[:, None].astype(np.int64))
        self.target = torch.zeros((), dtype=torch.int64)
        self.losses: list[Any] = []

    def advance(self, n: int) -> None:
        """Take n steps."""
        for i in range(len(self.losses), len(self.losses) + n):
            rows = self.entities(self.entity_ids[i])
            query = rows[0] * self.relations(self.relation_ids[i])[0]
            loss = nn.functional.cross_entropy(rows[1:] @ query, self.target)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.detach())

    def outcome(self) -> Outcome:
        """The state after all steps so far."""
        loss = float(torch.stack(self.losses).double().mean())
        return Outcome(loss, self.entities.weight.detach().numpy())

    def contender(self, name: str, part: int) -> Contender:
        return Contender(name, self.advance, part)
