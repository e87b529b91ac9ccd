"""A two-tower recommender in PyTorch, and why it recommends an item to a user.

The script makes its own data: users and items have one of four tastes, and users mostly like items
of their own taste. Each tower is a table of rows and a small network.

Traced are the rows of users and items. The layers of the two networks are not traced: an estimate
keeps them as they are, as if they would be the same without a fact. Retraining changes them too.

Run it with: python examples/two_tower.py
"""

import numpy as np
import torch

from whereof.torch import Tracker

N_USERS, N_ITEMS, N_TASTES, EPOCHS, BATCH_SIZE = 60, 40, 4, 20, 64


def make_facts() -> np.ndarray:
    """(n, 2) users and items; one like in six is against the user's taste."""
    rng = np.random.default_rng(0)
    facts = set()
    for user in range(N_USERS):
        for _ in range(8):
            taste = user % N_TASTES if rng.random() > 1 / 6 else rng.integers(N_TASTES)
            item = N_TASTES * rng.integers(N_ITEMS // N_TASTES) + taste
            facts.add((user, int(item)))
    return np.array(sorted(facts))


class TwoTowers(torch.nn.Module):
    """The score of an item is the dot product of the two towers' outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.user = torch.nn.Embedding(N_USERS, 16)
        self.item = torch.nn.Embedding(N_ITEMS, 12)
        self.user_tower = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.Tanh())
        self.item_tower = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh())

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """(n, m) scores of items (n, m) for users (n,)."""
        query = self.user_tower(self.user(users))
        return torch.einsum("nd,nmd->nm", query, self.item_tower(self.item(items)))


def score(model: TwoTowers, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
    """The score of one row of a user and one of an item."""
    return model.user_tower(user) @ model.item_tower(item)


def train(facts: np.ndarray, skip: np.ndarray | None = None) -> Tracker:
    """Train without the facts whose ids are in `skip`; all others meet the same negatives."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the fastest for tensors as small as these
    model = TwoTowers()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    tracker = Tracker(model, optimizer, facts)
    everything, rng = torch.tensor(facts), np.random.default_rng(1)
    for _ in range(EPOCHS):
        order = rng.permutation(len(facts))
        negatives = torch.tensor(rng.integers(N_ITEMS, size=(len(facts), 8)))
        kept = order if skip is None else order[~np.isin(order, skip)]
        for ids in torch.tensor(kept).split(BATCH_SIZE):
            users, items = everything[ids].T
            candidates = torch.column_stack([items, negatives[ids]])
            optimizer.zero_grad()
            target = torch.zeros(len(ids), dtype=torch.int64)
            torch.nn.functional.cross_entropy(model(users, candidates), target).backward()
            tracker.step(ids)
    return tracker


def main() -> None:
    """Train, explain the top recommendation of a user, and retrain without its facts."""
    facts = make_facts()
    tracker = train(facts)
    names = [*(f"user {i}" for i in range(N_USERS)), *(f"item {i}" for i in range(N_ITEMS))]
    run = tracker.run(score, entities=names)
    found = run.explain("user 7", None, top=3)
    print(f"user 7 is recommended {found.prediction.object}: {found.prediction.probability:.3f}")
    for fact in found.facts:
        without = f"without it an estimated {fact.probability_without:.3f}"
        print(f"  {fact.subject} likes {fact.object}: {without}")
    print(tracker.verify(lambda skip: train(facts, skip).model, "user 7", None, top=3))


if __name__ == "__main__":
    main()
