"""Retrainings in Triton: one program per model, DistMult with lazy Adam.

python benchmarks/fleet_triton.py [--models N ...] [--variants NAME ...] [--check]

Without a GPU: TRITON_INTERPRET=1 python benchmarks/fleet_triton.py --check --dim 12 --negatives 12
"""

import argparse
import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import triton
import triton.language as tl
from reports import Report

RETRAINING_STEPS, N_ENTITIES, N_RELATIONS = 272_115, 14_505, 237
RATE, BETA1, BETA2, EPSILON = 0.003, 0.9, 0.999, 1e-7
B1, B2, EPS = tl.constexpr(BETA1), tl.constexpr(BETA2), tl.constexpr(EPSILON)
# WARPSxROWSxSTAGESxREGISTERS: ROWS are loaded together; 0 registers means no limit.
VARIANTS = ("8x32x1x0", "4x16x1x96", "8x16x1x80", "16x64x1x0", "8x16x3x128", "4x32x1x168")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def _moments(place, mask, DIM: tl.constexpr):
    """Adam's means and squares, which are stored after the rows."""
    mean = tl.load(place + DIM, mask=mask, other=0.0)
    return mean, tl.load(place + 2 * DIM, mask=mask, other=0.0)


@triton.jit
def _move(place, row, mean, square, gradient, pace, mask, DIM: tl.constexpr):
    """Adam's update."""
    mean = B1 * mean + (1 - B1) * gradient
    square = B2 * square + (1 - B2) * gradient * gradient
    tl.store(place, row - pace * mean / (tl.sqrt(square) + EPS), mask=mask)
    tl.store(place + DIM, mean, mask=mask)
    tl.store(place + 2 * DIM, square, mask=mask)


@triton.jit(do_not_specialize=["n_rows", "n_words", "first", "last"])
def train_fleet(
    table, removed, counts, facts, candidates, paces, n_rows, n_words, first, last,
    DIM: tl.constexpr, N: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """Take the steps from first to last of one model; N candidates per step, in blocks of ROWS."""
    model = tl.program_id(0).to(tl.int64)
    table += model * n_rows * (3 * DIM)
    removed += model * n_words
    count = tl.load(counts + model)
    slots, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    inside = columns < DIM
    for step in range(first, last):
        fact = tl.load(facts + 4 * step)
        if ((tl.load(removed + fact // 32) >> (fact % 32)) & 1) == 0:
            count += 1
            pace = tl.load(paces + count)
            s, o = tl.load(facts + 4 * step + 1), tl.load(facts + 4 * step + 3)
            s_place = table + s * (3 * DIM) + columns
            r_place = table + tl.load(facts + 4 * step + 2) * (3 * DIM) + columns
            o_place = table + o * (3 * DIM) + columns
            subject = tl.load(s_place, mask=inside, other=0.0)
            relation = tl.load(r_place, mask=inside, other=0.0)
            target = tl.load(o_place, mask=inside, other=0.0)
            query = subject * relation

            # Every slot has its own softmax, so no slot waits for another inside the loop.
            high = tl.full((ROWS,), -1e30, tl.float32)
            total = tl.zeros((ROWS,), tl.float32)
            mixed = tl.zeros((ROWS, COLUMNS), tl.float32)
            hits = tl.zeros((ROWS,), tl.int32)
            for start in tl.range(0, N, ROWS, num_stages=STAGES):
                live = start + slots < N
                ids = tl.load(candidates + step * N + start + slots, mask=live, other=0)
                place = table + ids[:, None] * (3 * DIM) + columns[None, :]
                rows = tl.load(place, mask=live[:, None] & inside[None, :], other=0.0)
                scores = tl.where(live, tl.sum(rows * query[None, :], axis=1), float("-inf"))
                higher = tl.maximum(high, scores)
                fade, weights = tl.exp(high - higher), tl.exp(scores - higher)
                total = total * fade + weights
                mixed = mixed * fade[:, None] + weights[:, None] * rows
                hits += (live & (ids == s)).to(tl.int32)
                high = higher
            # Several threads read the same rows before the barrier, and write them after it.
            s_mean, s_square = _moments(s_place, inside, DIM)
            r_mean, r_square = _moments(r_place, inside, DIM)
            top = tl.max(high, axis=0)
            fade = tl.exp(high - top)
            norm = tl.sum(total * fade, axis=0)
            d_query = tl.sum(mixed * fade[:, None], axis=0) / norm - target
            own = tl.exp(tl.sum(subject * query, axis=0) - top) / norm
            own -= tl.where(o == s, 1.0, 0.0)
            own *= tl.sum(hits, axis=0).to(tl.float32)  # the subject's weight as a candidate
            tl.debug_barrier()  # all rows are read; from here on they change

            d_subject, d_relation = d_query * relation + own * query, d_query * subject
            _move(s_place, subject, s_mean, s_square, d_subject, pace, inside, DIM)
            _move(r_place, relation, r_mean, r_square, d_relation, pace, inside, DIM)
            for start in tl.range(0, N, ROWS, num_stages=STAGES):
                live = start + slots < N
                ids = tl.load(candidates + step * N + start + slots, mask=live, other=0)
                place = table + ids[:, None] * (3 * DIM) + columns[None, :]
                mask = (live & (ids != s))[:, None] & inside[None, :]
                rows = tl.load(place, mask=mask, other=0.0)
                means, squares = _moments(place, mask, DIM)
                weights = tl.exp(tl.sum(rows * query[None, :], axis=1) - top) / norm
                weights -= tl.where(start + slots == 0, 1.0, 0.0)
                gradients = weights[:, None] * query[None, :]
                _move(place, rows, means, squares, gradients, pace, mask, DIM)
            tl.debug_barrier()  # all rows are written; the next step reads them
    tl.store(counts + model, count)


@dataclass(frozen=True)
class Shape:
    """The sizes of one model; n_candidates: the true object and the negatives."""

    n_entities: int
    n_relations: int
    dim: int
    n_candidates: int


@dataclass(frozen=True)
class Fleet:
    """Models with the same start and the same random steps, in the kernel's order.

    table: (n_models, n_rows, 3, dim), entities, then relations; each a row, its mean and square;
    removed: (n_models, n_words) of 32 bits; counts: (n_models,) updates so far;
    facts: (n_steps, 4), each the fact's id and the rows of subject, relation and object;
    candidates: (n_steps, n); paces: by count, the rate with both of Adam's biases corrected.
    """

    table: torch.Tensor
    removed: torch.Tensor
    counts: torch.Tensor
    facts: torch.Tensor
    candidates: torch.Tensor
    paces: torch.Tensor

    @classmethod
    def draw(cls, shape: Shape, n_models: int, n_steps: int, share_removed: float) -> "Fleet":
        torch.manual_seed(0)
        rng, low = np.random.default_rng(0), shape.n_entities
        start = torch.zeros((low + shape.n_relations, 3, shape.dim), device=DEVICE)
        start[:, 0].normal_(0, 0.3)
        # In float64 no two keys are equal, and so every draw gives the same candidates.
        keys = torch.rand((n_steps, low), dtype=torch.float64, device=DEVICE)
        candidates = keys.topk(shape.n_candidates).indices.int()
        s, r = rng.integers(((0,), (low,)), ((low,), (len(start),)), (2, n_steps))
        o = candidates[:, 0].cpu().numpy()
        s[::40] = o[::40]  # facts with equal ends, where an update is easily lost
        facts = rng.permutation(n_steps), s, r, o
        lacks = rng.random((n_models, n_steps + -n_steps % 32)) < share_removed
        return cls(
            table=start.repeat(n_models, 1, 1, 1),
            removed=_tensor(np.packbits(lacks, axis=1, bitorder="little").view("<i4")),
            counts=_tensor(np.zeros(n_models, "i4")),
            facts=_tensor(np.stack(facts, axis=1).astype("i4")),
            candidates=candidates,
            paces=_tensor(np.array([0, *map(pace_of, range(1, n_steps + 1))], "f4")),
        )

    def train(self, variant: str, first: int, last: int) -> None:
        """Take the steps from first to last."""
        warps, rows, stages, registers = map(int, variant.split("x"))
        n_models, n_rows, _, dim = self.table.shape
        train_fleet[(n_models,)](
            *vars(self).values(), n_rows, self.removed.shape[1], first, last,
            DIM=dim, N=self.candidates.shape[1], ROWS=rows, COLUMNS=triton.next_power_of_2(dim),
            STAGES=stages, num_warps=warps, maxnreg=registers or None,
        )  # fmt: skip


def _tensor(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array, device=DEVICE)


def pace_of(count: int) -> float:
    return RATE * math.sqrt(1 - BETA2**count) / (1 - BETA1**count)


def train_plainly(fleet: Fleet, model: int) -> np.ndarray:
    """All steps of one model in NumPy and float64."""
    table = fleet.table[model].cpu().double().numpy()
    lacks = np.unpackbits(fleet.removed[model].cpu().numpy().view("u1"), bitorder="little")
    count = 0
    for (fact, s, r, _), ids in zip(fleet.facts.tolist(), fleet.candidates.tolist(), strict=True):
        if lacks[fact]:
            continue
        count += 1
        subject, relation, rows = table[s, 0], table[r, 0], table[ids, 0]
        scores = rows @ (subject * relation)
        weights = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        weights[0] -= 1
        gradients = np.zeros_like(table[:, 0])
        gradients[ids] = np.outer(weights, subject * relation)
        gradients[s] += weights @ rows * relation
        gradients[r] = weights @ rows * subject
        touched = [*{*ids, s, r}]
        table[touched, 1] += (1 - BETA1) * (gradients - table[:, 1])[touched]
        table[touched, 2] += (1 - BETA2) * (gradients**2 - table[:, 2])[touched]
        ratios = table[touched, 1] / (np.sqrt(table[touched, 2]) + EPSILON)
        table[touched, 0] -= pace_of(count) * ratios
    return table


def check(options: argparse.Namespace, n_steps: int = 300) -> None:
    """Compare with the plain loop, and two runs with each other; few entities, so rows recur."""
    shape = Shape(options.negatives + 31, 5, options.dim, options.negatives + 1)
    plain = np.stack([train_plainly(Fleet.draw(shape, 3, n_steps, 0.1), k) for k in range(3)])
    for variant in options.variants:
        one, two = (Fleet.draw(shape, 3, n_steps, 0.1) for _ in range(2))
        one.train(variant, 0, n_steps)
        two.train(variant, 0, n_steps // 2)
        two.train(variant, n_steps // 2, n_steps)
        same = torch.equal(one.table, two.table) and torch.equal(one.counts, two.counts)
        # The largest difference over the largest value, for rows, means and squares.
        off = np.abs(one.table.cpu().numpy() - plain).max(axis=(0, 1, 3))
        errors = off / np.abs(plain).max(axis=(0, 1, 3))
        words = ", ".join(f"{error:.1e}" for error in errors)
        print(f"{variant}: error of rows, means, squares {words}; same bits twice: {same}")
        if not (same and errors.max() < 1e-3):
            raise SystemExit(f"error: {variant} differs from the plain loop")


def measure(options: argparse.Namespace) -> list[tuple[str, ...]]:
    """One row for each variant and number of models; prints each as JSON immediately."""
    begin, copied, table = time.perf_counter(), copy_bandwidth(), []
    print(json.dumps({"card": torch.cuda.get_device_name(), "copy_bytes_a_second": copied}))
    shape = Shape(N_ENTITIES, N_RELATIONS, options.dim, options.negatives + 1)
    for variant, n_models in itertools.product(options.variants, options.models):
        if time.perf_counter() - begin > options.seconds:
            break
        seconds = time_step(Fleet.draw(shape, n_models, 50 + options.steps, 0.0), variant)
        retraining = seconds * RETRAINING_STEPS / n_models
        moved = n_models * shape.n_candidates * 3 * shape.dim * 4 * 2 / seconds
        names = ("variant", "models", "step_seconds", "retraining_seconds", "share_of_copy", "at")
        at = time.perf_counter() - begin
        values = variant, n_models, seconds, retraining, moved / copied, at
        print(json.dumps(dict(zip(names, values, strict=True))), flush=True)
        rates = f"{retraining:.3f}", f"{moved / 1e12:.2f}", f"{moved / copied:.0%}"
        table.append((variant, str(n_models), f"{seconds * 1e6:.1f}", *rates))
    return table


def time_step(fleet: Fleet, variant: str, warm_up: int = 50) -> float:
    fleet.train(variant, 0, warm_up)
    n_steps = len(fleet.facts)
    seconds = time_on_card(lambda: fleet.train(variant, warm_up, n_steps))
    if not fleet.table.sum().isfinite() or fleet.counts.min() < n_steps:
        raise SystemExit(f"error: {variant} skipped steps, or gave NaN or infinity")
    return seconds / (n_steps - warm_up)


def copy_bandwidth(n_bytes: int = 2**31, times: int = 20) -> float:
    """Bytes read and written per second while the GPU copies its own memory."""
    source = torch.zeros(n_bytes, dtype=torch.uint8, device=DEVICE)
    target = source.clone()
    return 2 * n_bytes * times / time_on_card(lambda: [target.copy_(source) for _ in range(times)])


def time_on_card(work: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add(
        "--models",
        type=int,
        nargs="+",
        default=[1, 132, 264, 528],
        help="number of models trained together",
    )
    add("--variants", nargs="+", default=VARIANTS, metavar="WxRxSxR", help="variants of the kernel")
    add("--steps", type=int, default=1000, help="number of timed steps")
    add("--dim", type=int, default=100)
    add("--negatives", type=int, default=500)
    add("--seconds", type=float, default=25, help="start no measurement after this time")
    add("--check", action="store_true", help="compare with a plain loop instead of timing")
    options = parser.parse_args()
    if options.check:
        check(options)
        return
    if DEVICE == "cpu":
        parser.error("no CUDA GPU found; --check runs without one, with TRITON_INTERPRET=1")
    columns = ("variant", "models", "us/step", "s/retraining", "TB/s", "share of copy bandwidth")
    title = "A fleet in Triton; variant: warps x rows x stages x registers"
    print(Report(title, columns, measure(options)).text())


if __name__ == "__main__":
    main()
