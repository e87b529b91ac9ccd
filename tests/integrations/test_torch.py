"""Tracking a PyTorch loop: shares, book-keeping, runs, scoring functions, verdicts."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whereof
from integrations.replay import make_model, make_optimizer, train_by_torch, train_natively
from whereof import registry

torch = pytest.importorskip("torch", reason="needs the extra torch: make test-integrations")

from whereof.integrations import _recorder, _shares  # noqa: E402 - after the check for torch
from whereof.torch import Tracker, open_run  # noqa: E402

N_USERS, N_ITEMS = 12, 9


@pytest.fixture(autouse=True)
def _forget_models(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_ADDED", {})
    yield
    registry.names.cache_clear()
    registry.load.cache_clear()


@pytest.mark.parametrize("credit", ["step", "source"])
@pytest.mark.parametrize("batch_size", [5, 64])
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam", "adam-lazy"])
def test_the_same_steps_explain_like_the_native_run(
    tmp_path: Path, optimizer: str, batch_size: int, credit: str
) -> None:
    native = train_natively(tmp_path / "run", optimizer, credit, batch_size)
    model = make_model(torch, native)
    tracker = Tracker(
        model, make_optimizer(torch, native, model), native.dataset.train, credit=credit
    )
    train_by_torch(torch, native, tracker, lookups="lazy" in optimizer)
    names = (native.dataset.entities.names, native.dataset.relations.names)
    run = tracker.run("distmult", entities=names[0], relations=names[1])
    assert np.abs(run.entity_rows - native.entity_rows).max() < 1e-6
    for fact in native.dataset.test[:3]:
        asked = native.dataset.fact_names(fact)
        wanted, found = (
            {
                it.fact_id: it.influence
                for it in each.explain(*asked, method="rollback", top=None).facts
            }
            for each in (native, run)
        )
        assert max(abs(found[fact_id] - wanted[fact_id]) for fact_id in wanted) < 1e-5


def test_candidates_that_are_looked_up_are_those_of_the_whole_table(tmp_path: Path) -> None:
    native, traces = train_natively(tmp_path / "run", "adagrad", "step", 32), []
    for lookups in (False, True):
        model = make_model(torch, native)
        tracker = Tracker(model, make_optimizer(torch, native, model), native.dataset.train)
        train_by_torch(torch, native, tracker, lookups=lookups)
        traces.append(tracker.run("distmult").trace)
    assert traces[0] == pytest.approx(traces[1], abs=1e-12)


class Recommender(torch.nn.Module):  # type: ignore[name-defined, misc]
    """Two tables of other widths, a bias, and layers that are not traced."""

    def __init__(self, *, sparse: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.user = torch.nn.Embedding(N_USERS, 6, sparse=sparse)
        self.item = torch.nn.Embedding(N_ITEMS, 4, sparse=sparse)
        self.bias = torch.nn.Embedding(N_ITEMS, 1, sparse=sparse)
        self.tower = torch.nn.Linear(6, 4)

    def forward(self, users: Any, items: Any) -> Any:
        query = torch.tanh(self.tower(self.user(users)))
        rows = self.item(items)
        return (query[:, None] * rows).sum(-1) + self.bias(items).squeeze(-1)


def score(model: Any, user: Any, item: Any) -> Any:
    return torch.tanh(model.tower(user)) @ item[:4] + item[4]


def make_facts() -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(1)
    pairs = {(int(u), int((u * 2 + rng.integers(3)) % N_ITEMS)) for u in np.repeat(range(12), 6)}
    return np.array(sorted(pairs))


FACTS = make_facts()


def make_optimizers(model: Any) -> dict[str, Any]:
    parameters, optim = list(model.parameters()), torch.optim
    tables = [model.user.weight, model.item.weight, model.bias.weight]
    return {
        "sgd": lambda: optim.SGD(parameters, 0.1),
        "momentum": lambda: optim.SGD(parameters, 0.1, momentum=0.9, dampening=0.2),
        "nesterov": lambda: optim.SGD(parameters, 0.1, momentum=0.9, nesterov=True),
        "decay": lambda: optim.SGD(parameters, 0.1, weight_decay=0.1),
        "adagrad": lambda: optim.Adagrad(parameters, 0.1, lr_decay=0.01),
        "adam": lambda: optim.Adam(parameters, 0.05),
        "amsgrad": lambda: optim.Adam(parameters, 0.05, amsgrad=True),
        "adamw": lambda: optim.AdamW(parameters, 0.05, weight_decay=0.1),
        "sparse-adam": lambda: optim.SparseAdam(tables, 0.05),
    }


def train(
    optimizer: str = "adam",
    skip: Any = (),
    *,
    epochs: int = 4,
    change: Any = lambda model: None,
    **options: Any,
) -> Tracker:
    """Sampled softmax with two negatives, in batches of seven; the last one is shorter."""
    model = Recommender(sparse=optimizer == "sparse-adam")
    chosen = make_optimizers(model)[optimizer]()
    tables = {"subject": model.user, "object": [model.item, model.bias]}
    tracker = Tracker(model, chosen, FACTS, **tables, **options)
    rng = np.random.default_rng(5)
    for _ in range(epochs):
        order, negatives = rng.permutation(len(FACTS)), rng.integers(N_ITEMS, size=(len(FACTS), 2))
        kept = order[~np.isin(order, skip)]
        for ids in torch.tensor(kept).split(7):
            users, items = torch.tensor(FACTS)[ids].T
            items = torch.column_stack([items, torch.tensor(negatives)[ids]])
            chosen.zero_grad()
            scores = model(users, items)
            target = torch.zeros(len(ids), dtype=torch.int64)
            torch.nn.functional.cross_entropy(scores, target).backward()
            change(model)
            tracker.step(ids)
    return tracker


@pytest.mark.parametrize("credit", ["step", "source"])
@pytest.mark.parametrize("optimizer", sorted(make_optimizers(Recommender())))
def test_what_a_gpu_computes_is_the_same(
    monkeypatch: pytest.MonkeyPatch, optimizer: str, credit: str
) -> None:
    """Without reading results in between; here on the CPU."""
    wanted = train(optimizer, credit=credit).slots()
    for module in (_recorder, _shares):
        monkeypatch.setattr(module, "on_gpu", lambda values: True)
    for slot, same in zip(train(optimizer, credit=credit).slots(), wanted, strict=True):
        assert slot == pytest.approx(same, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("optimizer", sorted(make_optimizers(Recommender())))
def test_what_moved_the_rows_adds_up(optimizer: str) -> None:
    """Final minus initial rows = trace + negatives + drift, in every number of every table."""
    tracker = train(optimizer, credit="step", ledgers=True)
    for name, initial in tracker._initial.items():
        whole = torch.zeros_like(initial)
        for at in tracker._columns[name]:
            whole.index_add_(0, torch.tensor(FACTS)[:, at], tracker._trace[name, at])
        whole += tracker._ledger["negatives", name] + tracker._ledger["drift", name]
        moved = tracker._weights[name].detach() - initial
        assert moved.abs().max() > 1e-3
        assert torch.allclose(whole, moved, atol=2e-6)
    shares = tracker.bookkeeping()
    assert abs(shares.projection) < 1e-5
    assert abs(shares.remainder) < 1e-5  # all gradients come from lookups
    assert shares.trace > 0.3


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "sparse-adam"])
def test_clipping_by_norm_scales_the_shares(optimizer: str) -> None:
    def clip(model: Any) -> None:
        if optimizer == "sparse-adam":  # PyTorch does not clip sparse gradients
            for table in (model.user.weight, model.item.weight, model.bias.weight):
                table.grad = 0.3 * table.grad
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)

    tracker = train(optimizer, change=clip, credit="step", ledgers=True)
    shares, plain = tracker.bookkeeping(), train(optimizer, credit="step", ledgers=True)
    assert abs(shares.remainder) < 1e-4
    assert abs(shares.projection) < 1e-4
    assert shares.trace == pytest.approx(plain.bookkeeping().trace, abs=0.2)
    if optimizer == "sgd":  # the rows move less, and so does the trace
        sizes = [np.abs(it.run(score).trace).max() for it in (tracker, plain)]
        assert sizes[0] < 0.8 * sizes[1]


def test_other_changes_of_gradients_are_told() -> None:
    def clip(model: Any) -> None:
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.001)

    def add(model: Any) -> None:
        model.user.weight.grad += model.user.weight.detach()

    with pytest.warns(UserWarning, match="is not that of its lookups"):
        train("sgd", change=clip, epochs=1)
    with pytest.warns(UserWarning, match="the gradient of table user is not that of its lookups"):
        tracker = train("sgd", change=add, epochs=1, credit="step", ledgers=True)
    assert abs(tracker.bookkeeping().remainder) > 0.1
    model = torch.nn.ModuleDict({"e": torch.nn.Embedding(9, 3, max_norm=1.0)})
    with pytest.warns(UserWarning, match="table e has max_norm"):
        Tracker(model, torch.optim.SGD(model.parameters(), 0.1), FACTS, subject="e", object="e")


def test_a_warning_names_scores_of_all_rows_without_a_lookup() -> None:
    torch.manual_seed(0)
    model = torch.nn.ModuleDict({"e": torch.nn.Embedding(9, 3), "r": torch.nn.Embedding(2, 3)})
    facts = torch.tensor([(0, 0, 1), (2, 1, 3), (4, 0, 5)])
    tracker = Tracker(model, torch.optim.SGD(model.parameters(), 0.1), facts)
    query = model["e"](facts[:, 0]) * model["r"](facts[:, 1])
    torch.nn.functional.cross_entropy(query @ model["e"].weight.T, facts[:, 2]).backward()
    with pytest.warns(UserWarning, match=r"write tracker.score_all\(query, table\)"):
        tracker.step([0, 1, 2])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("first", ["tracker", "optimizer"])
def test_a_step_that_is_not_traced_is_refused(first: str, known: bool) -> None:
    """Before it moves a row."""
    model = Recommender()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    facts = {"facts": FACTS} if known else {}
    tracker = Tracker(model, optimizer, **facts, subject="user", object=["item", "bias"])
    batch = torch.tensor(FACTS[:4])
    model(batch[:, 0], batch[:, 1:]).sum().backward()
    if first == "tracker":
        tracker.step(batch)
    before = model.user.weight.detach().clone()
    with pytest.raises(whereof.WhereofError, match="leave out your own"):
        optimizer.step()
    assert torch.equal(model.user.weight, before)
    optimizer.zero_grad()
    optimizer.step()  # moves nothing
    if first == "tracker":
        with pytest.raises(whereof.WhereofError, match=r"call loss.backward\(\) before"):
            tracker.step(batch)


def test_rows_are_numbered_by_table() -> None:
    """User 3 and item 3 have the same name, which stands in two places."""
    tracker = train()
    numbers, names = tracker.run(score), named(tracker)
    found = [it.predict(user, top=2).answers for it, user in ((numbers, 3), (names, "user 3"))]
    assert [f"item {it.entity}" for it in found[0]] == [it.entity for it in found[1]]


def test_plain_steps_have_no_rest() -> None:
    """Without momentum and decay, an update is the sum of the shares of gradients."""
    for optimizer in ("sgd", "adagrad"):
        tracker = train(optimizer, credit="step", ledgers=True)
        assert all(tracker._ledger["drift", name].abs().max() < 1e-6 for name in tracker._initial)


def test_the_share_of_a_fact_is_its_own_gradient() -> None:
    """One batch by SGD: each fact alone moves its rows by its trace."""
    model = Recommender()
    before = {name: it.detach().clone() for name, it in model.named_parameters()}
    tracker = Tracker(
        model, torch.optim.SGD(model.parameters(), 0.5), FACTS[:4],
        subject="user", object=["item", "bias"],
    )  # fmt: skip
    users, items = torch.tensor(FACTS[:4]).T
    loss = -torch.nn.functional.logsigmoid(model(users, items[:, None])).sum()
    loss.backward()
    tracker.step(torch.arange(4))
    slots = tracker.slots(6)
    for at, (user, item) in enumerate(FACTS[:4].tolist()):
        alone = Recommender()
        value = -torch.nn.functional.logsigmoid(
            alone(torch.tensor([user]), torch.tensor([[item]]))
        ).sum()
        value.backward()
        assert slots[0][at] == pytest.approx(-0.5 * alone.user.weight.grad[user].numpy(), abs=1e-7)
        own = torch.cat([alone.item.weight.grad[item], alone.bias.weight.grad[item]]).numpy()
        assert slots[1][at][:5] == pytest.approx(-0.5 * own, abs=1e-7)
    assert not torch.equal(before["user.weight"], model.user.weight)


@pytest.mark.parametrize("optimizer", ["Adagrad", "Adam", "SparseAdam"])
def test_gradients_that_cancel_each_other_move_no_farther_than_alone(optimizer: str) -> None:
    """The user's row does not move, and each of two facts would move it by the rate, alone."""

    def step(ids: list[int]) -> Any:
        torch.manual_seed(2)
        sparse = optimizer == "SparseAdam"
        tables = {name: torch.nn.Embedding(2, 4, sparse=sparse) for name in ("user", "item")}
        model = torch.nn.ModuleDict(tables)
        with torch.no_grad():
            tables["item"].weight[1] = tables["item"].weight[0]
        chosen = getattr(torch.optim, optimizer)(model.parameters(), 0.1)
        tracker = Tracker(model, chosen, [(0, 0), (0, 1)], subject="user", object="item")
        before = tables["user"].weight.detach().clone()
        users, items = torch.tensor([(0, 0), (0, 1)])[ids].T
        scores = (tables["user"](users) * tables["item"](items)).sum(1)
        (scores * torch.tensor([1.0, -1.0])[ids]).sum().backward()
        tracker.step(ids)
        return tracker, (tables["user"].weight.detach() - before)[0].numpy()

    tracker, moved = step([0, 1])
    assert not moved.any()
    for fact in (0, 1):
        _, alone = step([fact])
        assert tracker.slots()[0][fact] == pytest.approx(alone, rel=1e-4)


def named(tracker: Tracker, **options: Any) -> whereof.Run:
    names = [*(f"user {i}" for i in range(N_USERS)), *(f"item {i}" for i in range(N_ITEMS))]
    return tracker.run(score, entities=names, **options)


def test_a_run_scores_like_the_model_and_rolls_back_by_hand() -> None:
    tracker = train()
    known = set(map(tuple, FACTS.tolist()))
    run = named(
        tracker, test=[next((3, item) for item in range(N_ITEMS) if (3, item) not in known)]
    )
    model = tracker.model
    with torch.no_grad():
        wanted = model(torch.tensor([3]), torch.arange(N_ITEMS)[None])[0].numpy()
    found = {it.entity: it for it in run.predict("user 3", top=None).answers}
    assert [found[f"item {i}"].score for i in range(N_ITEMS)] == pytest.approx(wanted, abs=1e-5)
    explained = run.explain("user 3", "item 2", top=None)
    fact = next(it for it in explained.facts if FACTS[it.fact_id][0] == 3)
    with torch.no_grad():
        slots = tracker.slots(6)
        user = model.user.weight[3] - torch.tensor(slots[0][fact.fact_id])
        scores = []
        for item in range(N_ITEMS):
            row = torch.cat([model.item.weight[item], model.bias.weight[item]])
            if item == FACTS[fact.fact_id][1]:
                row = row - torch.tensor(slots[1][fact.fact_id][:5])
            scores.append(float(score(model, user, row)))
    after = torch.softmax(torch.tensor(scores), 0)[2]
    assert fact.probability_without == pytest.approx(float(after), abs=1e-5)
    assert run.metrics["test"]["recall@10"] == 1  # of nine items


def test_verify_trains_again_and_the_new_layers_score() -> None:
    def again(skip: Any) -> Any:
        return train(skip=skip).model

    tracker = train()
    run = named(tracker)
    verdict = tracker.verify(again, "user 3", None, top=2)
    assert verdict.control_matches_run
    answer = verdict.prediction.object
    model = again(verdict.removed)
    with torch.no_grad():
        scores = model(torch.tensor([3]), torch.arange(N_ITEMS)[None])[0]
    place = int(str(answer).removeprefix("item "))
    actual = float(torch.softmax(scores.double(), 0)[place])
    assert verdict.actual.probability == pytest.approx(actual, abs=1e-6)
    assert run.verify("user 3", None, top=2).n_known == 2


def test_a_saved_run_opens_with_its_model(tmp_path: Path) -> None:
    tracker = train()
    run = named(tracker, out=tmp_path / "run")
    tables = {"subject": "user", "object": ["item", "bias"]}
    registry._ADDED.clear()
    registry.load.cache_clear()
    registry.names.cache_clear()
    with pytest.raises(whereof.WhereofError, match="of your own, score"):
        whereof.Run.open(tmp_path / "run").predict("user 3")
    opened = open_run(tmp_path / "run", tracker.model, score, **tables)
    assert opened.explain("user 3", "item 2").facts == run.explain("user 3", "item 2").facts
    with pytest.raises(whereof.WhereofError, match="differ from those of `model`"):
        open_run(tmp_path / "run", Recommender(), score, **tables)


def test_facts_may_be_found_in_training() -> None:
    """Batches of facts, not of ids: each gets an id when it is first met."""
    traces = []
    for known in (True, False):
        model = Recommender()
        optimizer = torch.optim.Adagrad(model.parameters(), 0.1)
        facts = {"facts": FACTS} if known else {}
        tracker = Tracker(model, optimizer, **facts, subject="user", object=["item", "bias"])
        for batch in torch.tensor(FACTS).flip(0).split(5):
            optimizer.zero_grad()
            (-model(batch[:, 0], batch[:, 1:]).sigmoid().log().sum()).backward()
            tracker.step(batch)
        order = [tuple(fact) for fact in tracker.facts.tolist()]
        traces.append({fact: tracker.slots(6)[0][at] for at, fact in enumerate(order)})
    assert traces[0].keys() == traces[1].keys()
    for fact, change in traces[0].items():
        assert change == pytest.approx(traces[1][fact])


def test_rows_of_other_numbers_belong_to_whom_one_says() -> None:
    """Flattened negatives give the same trace as negatives by fact; so do two small batches."""
    traces = []
    for way in ("by fact", "flat", "accumulated"):
        model = Recommender()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        tracker = Tracker(model, optimizer, FACTS, subject="user", object=["item", "bias"])
        for _ in range(2):
            optimizer.zero_grad()
            for ids in torch.arange(6).split(3 if way == "accumulated" else 6):
                users, items = torch.tensor(FACTS)[ids].T
                others = (items[:, None] + torch.tensor([0, 1, 2])) % N_ITEMS
                positions = torch.arange(len(ids)).repeat_interleave(3)
                if way == "flat":
                    others_scores = model(users[positions], others.reshape(-1, 1)).reshape(-1, 3)
                else:
                    others_scores = model(users, others)
                (others_scores.logsumexp(1) - model(users, items[:, None])[:, 0]).sum().backward()
                tracker.add(ids, positions) if way == "accumulated" else None
            optimizer.step() if way == "accumulated" else tracker.step(ids, positions)
        traces.append(np.concatenate(tracker.slots(6), axis=1))
    assert traces[1] == pytest.approx(traces[0], abs=1e-6)
    assert traces[2] == pytest.approx(traces[0], abs=1e-6)


def test_a_self_loop_stands_in_the_subject_slot() -> None:
    torch.manual_seed(0)
    model = torch.nn.ModuleDict(
        {"entity": torch.nn.Embedding(3, 2), "relation": torch.nn.Embedding(1, 2)}
    )
    before = model["entity"].weight.detach().clone()
    tracker = Tracker(model, torch.optim.Adam(model.parameters(), 0.1), [(1, 0, 1)], credit="step")
    for _ in range(3):
        row = model["entity"](torch.tensor([1]))
        tracker.optimizer.zero_grad()
        other = model["entity"](torch.tensor([1]))
        (row * model["relation"](torch.tensor([0])) * other).sum().backward()
        tracker.step([0])
    subject, _, answer = tracker.slots(2)
    assert subject[0] == pytest.approx((model["entity"].weight[1] - before[1]).detach().numpy())
    assert not answer.any()


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda m, o: Tracker(m, torch.optim.RMSprop(m.parameters()), FACTS, subject="user",
                              object="item"), "does not know the optimizer RMSprop"),
        (lambda m, o: Tracker(m, o, FACTS), "has 3 embedding tables"),
        (lambda m, o: Tracker(m, o, FACTS, subject="users", object="item"), "choose from user"),
        (lambda m, o: Tracker(m, o, FACTS, credit="all"), "choose from step, source, limited"),
        (lambda m, o: Tracker(m, torch.optim.SGD(m.tower.parameters(), 1), FACTS, subject="user",
                              object="item"), "does not train one of the tables"),
        (lambda m, o: Tracker(m, o, subject="user", object="item").step([1]), "does not know the"),
        (lambda m, o: Tracker(m, o, FACTS, subject="user", object="item").step([(0, 100)]),
         "not among the facts"),
        (lambda m, o: Tracker(m, o, FACTS, subject="user", object="item").run("mf"),
         "no step changed the subject rows"),
        (lambda m, o: Tracker(m, o, FACTS, subject="user", object="item").verify(len, "a"),
         "call tracker.run"),
        (lambda m, o: (Tracker(m, o, FACTS, subject="user", object="item"),
                       m(torch.tensor([0, 1]), torch.tensor([[0], [1]])).sum().backward())[0].step(
                           [0]), "looked up for 2 rows in a batch of 1"),
        (lambda m, o: Tracker(m, o, FACTS).bookkeeping(), "3 embedding tables"),
    ],
)  # fmt: skip
def test_mistakes_are_said_in_one_line(act: Any, said: str) -> None:
    model = Recommender()
    with pytest.raises(whereof.WhereofError, match=said) as caught:
        act(model, torch.optim.SGD(model.parameters(), 0.1))
    assert "\n" not in str(caught.value)


def test_the_benchmark_of_the_tracker_needs_only_pytorch_and_numpy() -> None:
    """It runs on machines with a GPU where the other packages are missing."""
    file = Path(__file__).parents[2] / "benchmarks" / "tracker.py"
    code = (
        "import runpy, sys; sys.modules.update(dict.fromkeys("
        "('numba', 'pyarrow', 'msgspec', 'click', 'rich', 'jinja2', 'safetensors'))); "
        "sys.argv[1:] = '--batch-size 8 --dim 4 --rounds 1'.split(); "
        f"runpy.run_path({str(file)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2 + 18
