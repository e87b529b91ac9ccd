"""Removals scored on the GPU, and in NumPy by the same code, equal those of the CPU."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explain.helpers import names_of, random_asks, random_run, sets_of, with_facts
from trained import train

import whereof
from whereof.explain.explain import explain_many, find_scored
from whereof.explain.explanation import Explanation
from whereof.explain.method import Aim, Context, Removed, Sets
from whereof.explain.methods.rollback import Rollback, search
from whereof.explain.options import ExplainOptions
from whereof.models import MODELS
from whereof.predict.prediction import list_predictions
from whereof.predict.scored import Trained
from whereof.retrain.cuda.card import open_card
from whereof.retrain.cuda.rollback import CardBacking

SMALL = 20_000
"""Bytes, so that a few removals make several blocks."""
ROWS = ("entity_rows", "relation_rows")
Backing = Callable[..., CardBacking]


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=pytest.mark.cuda)])
def backing(request: pytest.FixtureRequest) -> Backing:
    """Makes a backing with NumPy and, if there is a GPU, with CuPy."""
    xp = np if request.param == "numpy" else request.getfixturevalue("cuda_card").xp
    return lambda memory=SMALL: CardBacking(xp, memory)


def rolled_back(trained: Trained, names: Any, of: str = "probability", **options: Any) -> Rollback:
    return Rollback(find_scored(trained, names, ExplainOptions(**options)), Aim(of))


def wide(run: whereof.Run) -> Trained:
    """The same numbers in double precision, so that the CPU uses all digits."""
    scorer, trace = run._trained.scorer, run.trace
    assert trace is not None
    rows = {name: getattr(scorer, name).astype(np.float64) for name in ROWS}
    return replace(
        run._trained, scorer=replace(scorer, **rows), trace=np.asarray(trace, np.float64)
    )


def some_sets(run: whereof.Run, seed: int = 0) -> Sets:
    """Every fact alone, some together, all of them and none."""
    rng, n_facts = np.random.default_rng(seed), run.dataset.n_facts
    several = [rng.permutation(n_facts)[:size].tolist() for size in (2, 3, 7, 20)]
    return sets_of([*([fact] for fact in range(n_facts)), *several, range(n_facts), []])


def column(outcomes: Removed, name: str) -> Any:
    return outcomes.influences if name == "influence" else outcomes.standings[name]


def check_same(found: Removed, wanted: Removed, tolerance: float = 1e-10) -> None:
    for name in ("influence", "probability", "score"):
        mine, theirs = column(found, name), column(wanted, name)
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=1e-13, err_msg=name)
    for name in ("rank", "top"):
        np.testing.assert_array_equal(column(found, name), column(wanted, name))


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_to_all_digits(model: str, precision: str, backing: Backing) -> None:
    """Self-loops, facts of the prediction's own rows, sets of many facts."""
    run = random_run(model, n_entities=12, precision=precision)
    facts, sets = run.dataset.train, some_sets(run)
    assert (facts[:, 0] == facts[:, 2]).any()
    cores, card = wide(run), replace(run._trained, backing=backing())
    ranks: set[int] = set()
    for ask in random_asks(run, 8):
        for of in ("probability", "loss", "score"):
            names = names_of(run, ask)
            wanted = rolled_back(cores, names, of, asks=ask.asks).remove(sets)
            found = rolled_back(card, names, of, asks=ask.asks).remove(sets)
            check_same(found, wanted)
            ranks |= set(wanted.standings["rank"].tolist())
    assert len(ranks) > 2


@pytest.mark.parametrize("model", ["distmult", "complex", "mf-biased", "transe", "transe-l2"])
def test_single_precision_on_the_cores_is_as_near_as_it_is(model: str, backing: Backing) -> None:
    run = random_run(model, n_entities=30, precision="float32", dim=20, size=0.1, inverse=False)
    card, sets = replace(run._trained, backing=backing()), some_sets(run)
    for ask in random_asks(run, 4):
        wanted = rolled_back(run._trained, names_of(run, ask)).remove(sets).influences
        found = rolled_back(card, names_of(run, ask)).remove(sets).influences
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
        in_order = found[np.argsort(-wanted, kind="stable")]
        assert (np.diff(in_order) < 2e-7).all()


@pytest.mark.parametrize(("model", "size"), [("distmult", 4.0), ("mf", 6.0), ("transe", 60.0)])
def test_scores_that_change_by_hundreds(model: str, size: float, backing: Backing) -> None:
    run = random_run(model, 1, n_entities=30, precision="float32", size=size, inverse=False)
    card, sets, least = replace(run._trained, backing=backing()), some_sets(run), 1.0
    for ask in random_asks(run, 6):
        wanted = rolled_back(wide(run), names_of(run, ask)).remove(sets)
        check_same(rolled_back(card, names_of(run, ask)).remove(sets), wanted)
        least = min(least, wanted.standings["probability"].min())
    assert least < 1e-40


@pytest.mark.parametrize("model", ["distmult", "rotate"])
def test_a_trace_in_half_precision(model: str, backing: Backing) -> None:
    run = random_run(model, n_entities=9)
    assert run.trace is not None
    halved = replace(run._trained, trace=run.trace.astype(np.float16))
    cores = replace(halved, trace=run.trace.astype(np.float16).astype(np.float64))
    card, sets = replace(halved, backing=backing()), some_sets(run)
    for ask in random_asks(run, 4):
        wanted = rolled_back(cores, names_of(run, ask), asks=ask.asks).remove(sets)
        check_same(rolled_back(card, names_of(run, ask), asks=ask.asks).remove(sets), wanted)


@pytest.mark.parametrize("model", ["simple", "transe-l2"])
def test_candidates_of_ones_own(model: str, backing: Backing) -> None:
    """More lists of candidates than the cache keeps."""
    run = random_run(model, n_entities=12, inverse=False)
    card, sets = replace(run._trained, backing=backing()), some_sets(run)
    for first in (*range(6), 0):
        options = {"candidates": [f"e{entity}" for entity in range(first, first + 5)]}
        names = ("e1", "r0", f"e{first + 2}")
        wanted = rolled_back(run._trained, names, **options).remove(sets)
        check_same(rolled_back(card, names, **options).remove(sets), wanted)


@pytest.mark.parametrize("model", ["distmult", "transe", "transe-l2"])
def test_what_changes_nothing_has_no_influence_at_all(model: str, backing: Backing) -> None:
    run = random_run(model, n_entities=40, n_facts=60, dim=7, precision="float32", inverse=False)
    assert run.trace is not None
    trace = np.array(run.trace)
    trace[::2] = 0
    still = with_facts(run, run.dataset.train, trace.reshape(60, 3, -1))
    card = replace(still._trained, backing=backing())
    for ask in random_asks(run, 4):
        found = rolled_back(card, names_of(run, ask)).remove(some_sets(run))
        assert not found.influences[:60:2].any()
        assert found.influences[1:60:2].any()


@pytest.mark.parametrize("model", ["distmult", "transe"])
def test_blocks_of_any_size_give_the_same(model: str, backing: Backing) -> None:
    run = random_run(model, n_entities=25)
    sets, names = some_sets(run), names_of(run, random_asks(run, 1)[0])
    whole = rolled_back(replace(run._trained, backing=backing(1 << 29)), names).remove(sets)
    for memory in (1, 5_000, 80_000):
        parts = rolled_back(replace(run._trained, backing=backing(memory)), names).remove(sets)
        check_same(parts, whole, 1e-12)


def test_no_sets_at_all(backing: Backing) -> None:
    run = random_run("distmult")
    found = rolled_back(replace(run._trained, backing=backing()), ("e0", "r0", "e1"))
    assert len(found.remove(sets_of([])).standings) == 0


@pytest.mark.parametrize("opposing", [False, True])
def test_the_strongest_are_found_without_bounds(opposing: bool, backing: Backing) -> None:
    run = random_run("distmult", n_entities=600, n_facts=900, spread=3)
    card = replace(run._trained, backing=backing(1 << 22))
    sets = Sets.each(np.arange(900))
    context = Context(Aim("probability"), top=5, opposing=opposing)
    for ask in random_asks(run, 4):
        options: dict[str, Any] = {"asks": ask.asks}
        on_card = rolled_back(card, names_of(run, ask), **options)
        assert on_card.scoring.is_quick
        found = search(on_card, sets, context)
        wanted = search(rolled_back(run._trained, names_of(run, ask), **options), sets, context)
        assert found.chosen.tolist() == wanted.chosen.tolist()


def test_threads_share_the_card(backing: Backing) -> None:
    run = random_run("complex", n_entities=20)
    names = [names_of(run, ask) for ask in random_asks(run, 30)]
    options = ExplainOptions(top=None, graph=True, stability=True)
    card = replace(run._trained, backing=backing())
    for mine, theirs in zip(
        explain_many(card, list_predictions(names), options, 4),
        explain_many(run._trained, list_predictions(names), options, 1),
        strict=True,
    ):
        assert isinstance(mine, Explanation)
        assert isinstance(theirs, Explanation)
        assert [fact.fact_id for fact in mine.facts] == [fact.fact_id for fact in theirs.facts]
        assert mine.prediction == theirs.prediction
        assert mine.stability is not None
        assert theirs.stability is not None
        for one, other in zip(mine.stability, theirs.stability, strict=True):
            assert (one.fact_ids, one.rank) == (other.fact_ids, other.rank)
            assert one.influence == pytest.approx(other.influence, rel=1e-9, abs=1e-13)


def test_devices_are_named() -> None:
    run = random_run("distmult")
    with pytest.raises(whereof.WhereofError, match="unknown device 'gpu'; choose from cpu, cuda"):
        run.explain_many([("e0", "r0", "e1")], device="gpu")
    with pytest.raises(whereof.WhereofError) as caught:
        run.explain_many([("e0", "r0", "e1")], device="cuda", method="gradient-dot")
    words = str(caught.value).replace("--", "")
    assert (
        words == "device cuda requires method rollback or rollback-o or unrolled, not gradient-dot"
    )


def test_without_cupy_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    open_card.cache_clear()
    with pytest.raises(
        whereof.WhereofError, match="device cuda requires cupy; install it with: pip install"
    ):
        random_run("distmult").explain_many([("e0", "r0", "e1")], device="cuda")


@pytest.mark.cuda
@pytest.mark.usefixtures("cuda_card")
def test_many_are_explained_on_a_card(tmp_path: Path) -> None:
    run, files = train(tmp_path / "run"), [tmp_path / "card.jsonl", tmp_path / "cores.jsonl"]
    for file, device in zip(files, ("cuda", "cpu"), strict=True):
        run.explain_file("top", file, device=device, limit=20, top=None)
    mine, theirs = (
        [json.loads(line)["facts"] for line in file.read_text().splitlines()] for file in files
    )
    for one, other in zip(mine, theirs, strict=True):
        influences = [
            {fact["fact_id"]: fact["influence"] for fact in each} for each in (one, other)
        ]
        assert influences[0] == pytest.approx(influences[1], rel=1e-5, abs=1e-8)
