"""A ConvE-like scorer in PyTorch on the bundled Nations, and which facts its answers are made of.

Subject and relation become one small image; a convolution and a layer turn it into a query, which
is multiplied with the rows of all entities.

Traced are the rows of entities and relations. The filters of the convolution and the layer after it
are not traced: an estimate keeps them as they are. Retraining changes them too.

Run it with: python examples/conve.py
"""

import numpy as np
import torch

import whereof
from whereof.torch import Tracker

HEIGHT, WIDTH, N_FILTERS, EPOCHS, BATCH_SIZE = 4, 4, 6, 12, 64


class ConvE(torch.nn.Module):
    """ConvE without dropout and batch normalisation."""

    def __init__(self, n_entities: int, n_relations: int) -> None:
        super().__init__()
        self.entity = torch.nn.Embedding(n_entities, HEIGHT * WIDTH)
        self.relation = torch.nn.Embedding(n_relations, HEIGHT * WIDTH)
        self.convolution = torch.nn.Conv2d(1, N_FILTERS, 3, padding=1)
        self.layer = torch.nn.Linear(N_FILTERS * 2 * HEIGHT * WIDTH, HEIGHT * WIDTH)

    def query(self, subject: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
        """(n, width) query vectors from rows (n, width) of subjects and relations."""
        image = torch.cat([subject, relation], dim=1).reshape(-1, 1, 2 * HEIGHT, WIDTH)
        return self.layer(torch.relu(self.convolution(image)).flatten(1))


def score(model: ConvE, subject: torch.Tensor, relation: torch.Tensor, answer: torch.Tensor):
    """The score of one row of a subject, one of a relation and one of an object."""
    return model.query(subject[None], relation[None])[0] @ answer


def train(data: whereof.Dataset, skip: np.ndarray | None = None) -> Tracker:
    """Train without the facts whose ids are in `skip`, in the same order."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the fastest for tensors as small as these
    model = ConvE(data.n_entities, data.n_relations)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1, initial_accumulator_value=0.01)
    facts = torch.tensor(data.train.astype(np.int64))
    tracker = Tracker(model, optimizer, facts)
    rng = np.random.default_rng(1)
    for _ in range(EPOCHS):
        order = rng.permutation(len(facts))
        kept = order if skip is None else order[~np.isin(order, skip)]
        for ids in torch.tensor(kept).split(BATCH_SIZE):
            subjects, relations, objects = facts[ids].T
            optimizer.zero_grad()
            query = model.query(model.entity(subjects), model.relation(relations))
            scores = tracker.score_all(query, model.entity)  # query @ model.entity.weight.T
            torch.nn.functional.cross_entropy(scores, objects).backward()
            tracker.step(ids)
    return tracker


def main() -> None:
    """Train, explain a prediction, and retrain without its facts."""
    data = whereof.read("nations")
    tracker = train(data)
    names = data.entities.names, data.relations.names
    run = tracker.run(score, entities=names[0], relations=names[1], test=data.test)
    print(f"MRR of test facts: {run.metrics['test']['mrr']:.3f}")
    found = run.explain("india", "students", "usa", top=3)
    print(f"india students usa: {found.prediction.probability:.3f}")
    for fact in found.facts:
        without = f"without it an estimated {fact.probability_without:.3f}"
        print(f"  {fact.subject} {fact.relation} {fact.object}: {without}")
    verdict = tracker.verify(
        lambda skip: train(data, skip).model, "india", "students", "usa", top=3
    )
    print(verdict)


if __name__ == "__main__":
    main()
