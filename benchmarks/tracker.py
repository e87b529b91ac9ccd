"""How much longer a PyTorch step takes with a tracker.

    python benchmarks/tracker.py
    PYTHONPATH=src python benchmarks/tracker.py --device cuda

DistMult with sampled negatives: a lookup of subjects, relations, and of each object with its
negatives, a softmax loss, and the optimizer. Rounds with and without a tracker take turns; the
ratio is that of the medians. On a CPU it is the time that the process computes (on one thread,
unless --threads says otherwise), so other work on the machine hardly matters. On a GPU it is the
time of a whole step, until the device is idle. Only PyTorch and NumPy are required.
"""

import argparse
import statistics
import time
from typing import Any

import torch

# The part of a tracker that works during training. `whereof.torch` imports all of Whereof.
from whereof.integrations._recorder import Recorder

N_ENTITIES, N_RELATIONS, N_FACTS = 14_541, 237, 272_115  # those of FB15k-237
OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 0.1),
    "Adam": lambda p: torch.optim.Adam(p, 0.001),
    "SparseAdam": lambda p: torch.optim.SparseAdam(p, 0.001),
}


class DistMult(torch.nn.Module):
    """The model without a tracker: plain PyTorch."""

    def __init__(self, dim: int, sparse: bool) -> None:
        super().__init__()
        self.entity = torch.nn.Embedding(N_ENTITIES, dim, sparse=sparse)
        self.relation = torch.nn.Embedding(N_RELATIONS, dim, sparse=sparse)

    def forward(self, subjects: Any, relations: Any, candidates: Any) -> Any:
        query = self.entity(subjects) * self.relation(relations)
        return torch.einsum("nd,nmd->nm", query, self.entity(candidates))


def measure(name: str, sparse: bool, credit: str, given: argparse.Namespace) -> list[float]:
    """Median milliseconds of a step without and with a tracker."""
    device, cases = torch.device(given.device), []
    generator = torch.Generator().manual_seed(0)
    ends = torch.randint(N_ENTITIES, (N_FACTS, 2), generator=generator)
    between = torch.randint(N_RELATIONS, (N_FACTS, 1), generator=generator)
    facts = torch.cat([ends[:, :1], between, ends[:, 1:]], dim=1)
    for tracked in (False, True):
        model = DistMult(given.dim, sparse).to(device)
        optimizer = OPTIMIZERS[name](list(model.parameters()))
        tracker = Recorder(model, optimizer, facts, credit=credit) if tracked else None
        cases.append((model, optimizer, tracker))
    facts, times = facts.to(device), [list[float](), list[float]()]
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    target = torch.zeros(given.batch_size, dtype=torch.int64, device=device)
    for round_ in range(given.rounds + 3):
        ids = torch.randint(N_FACTS, (given.batch_size,), generator=generator).to(device)
        negatives = torch.randint(N_ENTITIES, (given.batch_size, given.negatives)).to(device)
        for case, (model, optimizer, tracker) in enumerate(cases):
            wait(device)
            start = clock()
            subjects, relations, objects = facts[ids].T
            optimizer.zero_grad()
            scores = model(subjects, relations, torch.column_stack([objects, negatives]))
            torch.nn.functional.cross_entropy(scores, target).backward()
            if tracker is None:
                optimizer.step()
            else:
                tracker.step(ids)
            wait(device)
            if round_ >= 3:
                times[case].append(1000 * (clock() - start))
    return [statistics.median(each) for each in times]


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--negatives", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    device = torch.cuda.get_device_name() if given.device.startswith("cuda") else given.device
    print(f"batch {given.batch_size}, dim {given.dim}, {given.negatives} negatives, {device}")
    print("optimizer   gradients  credit   untracked ms  tracked ms  ratio")
    for name in OPTIMIZERS:
        for sparse in (True,) if name == "SparseAdam" else (False, True):
            if sparse and name == "Adam":
                continue
            for credit in ("limited", "source", "step"):
                plain, tracked = measure(name, sparse, credit, given)
                kind = "sparse" if sparse else "dense"
                ratio = f"{plain:12.2f}  {tracked:10.2f}  {tracked / plain:5.2f}"
                print(f"{name:10}  {kind:9}  {credit:7}  {ratio}", flush=True)


if __name__ == "__main__":
    main()
