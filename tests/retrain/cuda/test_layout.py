"""The layout of a launch fits the GPU for any rows and number of candidates."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from training.helpers import make_problem

import whereof
from whereof.models import MODELS
from whereof.retrain.cuda.card import Limits
from whereof.retrain.cuda.layout import OWN_THREADS, Layout, Sizes, plan_layout
from whereof.retrain.cuda.memory import Memory

H200 = Limits(
    n_processors=132,
    threads=1024,
    lanes=32,
    shared_bytes=232448,
    block_bytes=232448,
    cache_bytes=60 << 20,
)
SMALLER = Limits(
    n_processors=40,
    threads=1024,
    lanes=32,
    shared_bytes=64512,
    block_bytes=65536,
    cache_bytes=4 << 20,
)
RESERVED = 1024
"""Bytes of shared memory that every block takes for itself."""
DIMS = (1, 2, 3, 4, 5, 7, 8, 10, 16, 31, 50, 64, 100, 101, 128, 200, 256, 400, 512, 999, 1000)
CANDIDATES = (1, 2, 3, 8, 14, 33, 101, 501, 1000, 4096, 14541, 20000)


def sizes_of(width: int, most: int, item: int, optimizer: int, relation: int = 0) -> Sizes:
    """Rows of a width; optimizer: moments of a row, or 3 for those of Adam deferred."""
    pack = 16 // item
    row, relation_row = (math.ceil(n / pack) * pack for n in (width, relation or width))
    parts, deferred = 1 + min(optimizer, 2), optimizer == 3
    return Sizes(pack, row, relation_row, row, parts, most, item, deferred, n_rows=14541)


def all_sizes() -> Iterator[Sizes]:
    for width, most, item, optimizer in itertools.product(DIMS, CANDIDATES, (4, 8), (0, 2, 3)):
        yield sizes_of(width, most, item, optimizer)
    rng = np.random.default_rng(0)
    for _ in range(500):
        width, most, relation = rng.integers(1, (1001, 20001, 2001)).tolist()
        yield sizes_of(width, most, int(rng.choice([4, 8])), int(rng.integers(4)), relation)


def needed_bytes(layout: Layout, sizes: Sizes, limits: Limits) -> int:
    """What `share_out` in kernels/step.cu gives away, in its order."""
    n_warps, n_groups = layout.threads // limits.lanes, layout.threads // layout.group
    numbers = 2 * (2 * sizes.row + sizes.relation_row)
    numbers += (
        (2 + layout.turns * n_warps) * sizes.query_row
        + layout.held * n_groups * sizes.row
        + 3 * n_warps
        + 1
    )
    drift = 6 if sizes.deferred else 0
    kept = sizes.most * (sizes.item * (1 + drift) + 4)
    return numbers * sizes.item + kept * layout.room_shared


def check_layout(layout: Layout, sizes: Sizes, limits: Limits) -> None:
    assert layout.threads % limits.lanes == 0
    assert limits.lanes <= layout.threads <= limits.threads
    assert limits.lanes % layout.group == 0
    assert layout.threads % layout.group == 0
    assert layout.group & (layout.group - 1) == 0
    a_pack_each = layout.group * sizes.pack
    assert (layout.packs - 1) * a_pack_each < sizes.row <= layout.packs * a_pack_each
    assert layout.scored >= 1
    assert layout.moved >= 1
    assert layout.moved % layout.turns == 0
    assert layout.scored % layout.moved == 0, "what is held back is there when it is read"
    n_rounds = math.ceil(sizes.most / (layout.threads // layout.group))
    assert 0 <= layout.held <= n_rounds
    assert layout.blocks >= 1
    assert layout.blocks * layout.threads <= 2048, "a processor has no more"
    assert layout.slots(limits) == layout.blocks * limits.n_processors
    needed = needed_bytes(layout, sizes, limits)
    assert needed <= layout.shared_bytes < needed + 32, "padded twice at most"
    assert layout.shared_bytes <= limits.block_bytes
    assert layout.blocks * (layout.shared_bytes + RESERVED) <= limits.shared_bytes


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("n_models", [None, 1, 300])
@pytest.mark.parametrize("limits", [H200, SMALLER], ids=["h200", "smaller"])
def test_all_sizes_fit_or_are_refused(limits: Limits, n_models: int | None, holds: bool) -> None:
    n_refused = 0
    for sizes in all_sizes():
        try:
            layout = plan_layout(sizes, limits, n_models, holds=holds)
        except whereof.WhereofError as error:
            own = 2 * (2 * sizes.row + sizes.relation_row) * sizes.item
            assert own > limits.block_bytes / 8, sizes
            assert "too wide for the GPU's shared memory" in str(error)  # noqa: PT017
            n_refused += 1
            continue
        check_layout(layout, sizes, limits)
        assert holds or layout.held == 0
    assert (n_refused > 0) == (limits is SMALLER)


def test_few_models_have_more_threads_that_add_up_alike() -> None:
    """What groups add up, and in which order, is the same; see TURNS in kernels/step.cu."""
    n_wider = 0
    for sizes in all_sizes():
        many, few = (plan_layout(sizes, H200, n_models) for n_models in (300, 1))
        assert many.threads * many.turns == few.threads * few.turns
        assert (many.group, many.packs) == (few.group, few.packs)
        assert min(many.threads, OWN_THREADS) == min(few.threads, OWN_THREADS)
        n_wider += few.threads > many.threads
    assert n_wider > 500


def test_rows_are_fetched_ahead_where_the_cache_holds_some_of_them() -> None:
    sizes = sizes_of(100, 501, 4, 2)
    counts = (1, 3, 4, 51, 52, 300, None)
    ahead = [plan_layout(sizes, H200, n_models).ahead for n_models in counts]
    assert ahead == [False, False, True, True, False, False, False]


def test_the_settings_of_the_paper_keep_many_models_busy() -> None:
    for width, most, optimizer in ((100, 501, 2), (100, 501, 3), (200, 501, 2), (10, 14, 3)):
        layout = plan_layout(sizes_of(width, most, 4, optimizer), H200)
        assert layout.slots(H200) >= 264
        assert layout.room_shared


def test_what_shared_memory_has_no_room_for_is_kept_elsewhere() -> None:
    few, many = (plan_layout(sizes_of(100, most, 4, 3), H200) for most in (501, 20000))
    assert (few.room_shared, many.room_shared) == (True, False)
    assert many.shared_bytes <= H200.block_bytes


@pytest.mark.parametrize("item", [4, 8])
def test_rows_that_are_too_wide_are_one_clear_line(item: int) -> None:
    sizes = sizes_of(10, 5, item, 2, relation=100_000)
    with pytest.raises(whereof.WhereofError) as caught:
        plan_layout(sizes, H200)
    assert str(caught.value) == (
        "rows of 100000 numbers are too wide for the GPU's shared memory; "
        "choose a lower dim, or leave out --engine/--device cuda"
    )


@pytest.mark.parametrize("model", sorted(MODELS))
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam", "adam-lazy"])
def test_sizes_are_those_of_the_problem(model: str, optimizer: str) -> None:
    for precision, dim in itertools.product(("float32", "float64"), (1, 3, 10)):
        problem = make_problem(model=model, optimizer=optimizer, precision=precision, dim=dim)
        sizes, widths = Sizes.of(problem), problem.widths
        assert sizes.pack * sizes.item == 16
        for padded, width in (
            (sizes.row, widths.entity),
            (sizes.relation_row, widths.relation),
            (sizes.query_row, widths.query),
        ):
            assert width <= padded < width + sizes.pack
            assert padded % sizes.pack == 0
        assert sizes.parts == {"sgd": 1, "adagrad": 2}.get(optimizer, 3)
        assert sizes.deferred == (optimizer == "adam")
        assert sizes.most == 5
        for state, row in (
            (sizes.state, sizes.row),
            (sizes.relation_state, sizes.relation_row),
        ):
            assert state * sizes.item % 64 == 0, "rows begin where memory's lines do"
            assert 0 <= state - row * sizes.parts < 64 // sizes.item
        check_layout(plan_layout(sizes, H200), sizes, H200)
        rows = problem.n_entities * widths.entity + problem.n_relation_rows * widths.relation
        assert Memory.of(problem).of_model >= rows * sizes.parts * sizes.item
