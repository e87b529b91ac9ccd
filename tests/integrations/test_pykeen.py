"""PyKEEN: imported models have its metrics, traced trainings explain like native ones."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whereof
from whereof.training.problem import Problem
from whereof.training.sampling import OBJECT_STREAM, draw_negatives, key_of

torch = pytest.importorskip("torch", reason="needs the extra pykeen: make test-integrations")
pytest.importorskip("pykeen", reason="needs the extra pykeen: make test-integrations")

from pykeen.datasets import Nations  # noqa: E402 - after the check for pykeen
from pykeen.pipeline import pipeline  # noqa: E402
from pykeen.sampling import NegativeSampler  # noqa: E402
from pykeen.training.callbacks import TrainingCallback  # noqa: E402
from pykeen.triples import TriplesFactory  # noqa: E402

from whereof.pykeen import Trace  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # PyKEEN and what it imports warn a lot
logging.getLogger("pykeen").setLevel(logging.ERROR)
MODELS = {
    "DistMult": {},
    "ComplEx": {},
    "TransE": {},
    "TransE L2": {"scoring_fct_norm": 2},
    "RESCAL": {},
    "RotatE": {},
    "SimplE": {},
}
INDIA = ("india", "students", "usa")


def train(
    factory: Any, model: str = "DistMult", loop: str = "slcwa", *callbacks: Any, **changes: Any
) -> Any:
    """A pipeline on a training factory, with Nations' held-out facts."""
    data = Nations(create_inverse_triples=factory.create_inverse_triples)
    training = {"num_epochs": 1, "batch_size": 128, "use_tqdm": False}
    training |= {"callbacks": list(callbacks)} if callbacks else {}
    settings = MODELS.get(model, {}) | changes.pop("model_kwargs", {})
    return pipeline(
        training=factory,
        validation=data.validation,
        testing=data.testing,
        model=model.split()[0],
        model_kwargs={"embedding_dim": 8} | settings,
        training_loop=loop,
        training_loop_kwargs={"automatic_memory_optimization": False},  # which ignores sizes
        training_kwargs=training | changes.pop("training_kwargs", {}),
        evaluation_kwargs={"use_tqdm": False},
        random_seed=0,
        **changes,
    )


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_a_trained_model_has_the_metrics_of_pykeen(model: str, inverse: bool) -> None:
    data = Nations(create_inverse_triples=inverse)
    result = train(data.training, model)
    run = Trace(data.training).run(result, valid=data.validation, test=data.testing)
    found = run.metrics["test"]
    for mine, side in ((found["objects"], "tail"), (found["subjects"], "head"), (found, "both")):
        wanted = {"mrr": "inverse_harmonic_mean_rank"} | {
            f"hits@{k}": f"hits_at_{k}" for k in (1, 10)
        }
        for name, theirs in wanted.items():
            metric = result.metric_results.get_metric(f"{side}.realistic.{theirs}")
            assert mine[name] == pytest.approx(metric, abs=1e-6)
    assert run.trace is None
    assert run.explain(*INDIA, method="gradient-dot").facts


def single_facts() -> Any:
    """Facts of Nations of which no two have the same subject and relation."""
    facts = Nations().training.mapped_triples
    seen, keep = set(), []
    for at, fact in enumerate(facts.tolist()):
        if tuple(fact[:2]) not in seen:
            seen.add(tuple(fact[:2]))
            keep.append(at)
    return Nations().training.clone_and_exchange_triples(facts[keep])


def native_negatives(native: whereof.Run, factory: TriplesFactory) -> type[NegativeSampler]:
    """A sampler with the negatives of a native run, which are the same in every epoch."""
    data, config = native.dataset, native.config
    ids = [factory.entity_to_id[name] for name in data.entities.names]
    drawn, candidates = {}, np.empty(1 + config.negatives, np.int32)
    for fact_id, fact in enumerate(data.train):
        key = key_of(np.uint64(config.seed), OBJECT_STREAM, np.uint64(fact_id), np.uint64(0))
        draw_negatives(np.uint64(key), True, fact[2], 0, data.n_entities, candidates)
        subject, relation, answer = data.fact_names(fact)
        triple = factory.entity_to_id[subject], factory.relation_to_id[relation]
        found = [(*triple, ids[each]) for each in candidates[1:]]
        drawn[*triple, factory.entity_to_id[answer]] = found

    class Native(NegativeSampler):  # type: ignore[misc]
        def corrupt_batch(self, positive_batch: Any) -> Any:
            return torch.tensor([drawn[tuple(fact)] for fact in positive_batch.tolist()])

    return Native


def pykeen_rows(native: whereof.Run, factory: TriplesFactory) -> list[Any]:
    """The initial rows of a native run, as PyKEEN stores them."""
    rows = Problem.of(native.dataset, native.config).initial_rows()
    names = (native.dataset.entities, native.dataset.relations)
    labels = (factory.entity_id_to_label, factory.relation_id_to_label)
    found = []
    for each, vocabulary, label in zip(rows, names, labels, strict=True):
        start = each[[vocabulary.find(label[at]) for at in range(len(label))]]
        if native.config.model == "complex":  # real and imaginary parts take turns
            start = start.reshape(len(start), 2, -1).transpose(0, 2, 1)
        found.append(torch.tensor(start.copy()))
    return found


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
@pytest.mark.parametrize("model", ["DistMult", "ComplEx", "TransE", "TransE L2", "RESCAL"])
def test_a_traced_pipeline_explains_like_our_training_of_the_same_steps(
    tmp_path: Path, model: str, loop: str
) -> None:
    """One batch of all facts. LCWA: a softmax over all entities. SLCWA: the same negatives."""
    factory, epochs, rate, negatives = single_facts(), 10, 0.3, 4
    n_facts, sampled = factory.num_triples, loop == "slcwa"
    names = {"TransE L2": "transe-l2"}
    native = whereof.train(
        factory,
        out=tmp_path / "native",
        model=names.get(model, model.lower()),
        dim=8,
        loss="sigmoid" if sampled else "softmax",
        negatives=negatives if sampled else "all",
        redraw=False,
        batch_size=n_facts,
        optimizer="adagrad",
        accumulator=0.1,
        rate=rate,
        credit="step",
        epochs=epochs,
        search=False,
        validate_every=0,
        inverse=False,
        constraint="none",
        l2=0.0,
        n3=0.0,
    )
    terms = 1 / (1 + negatives) if sampled else n_facts
    loss = {"loss": "Softplus", "loss_kwargs": {"reduction": "sum"}}
    sampler = {"negative_sampler": native_negatives(native, factory)} if sampled else {}
    start, tracer = pykeen_rows(native, factory), Trace(factory, credit="step")
    bounded = {} if model in ("ComplEx", "RESCAL") else {"entity_constrainer": None}
    result = train(
        factory,
        model,
        loop,
        tracer,
        optimizer="Adagrad",
        optimizer_kwargs={  # PyKEEN's loss: the mean over the batch, or the sum over candidates
            "lr": rate,
            "initial_accumulator_value": 0.1 / terms**2,
            "eps": native.config.epsilon / terms,
        },
        training_kwargs={"num_epochs": epochs, "batch_size": n_facts},
        model_kwargs={
            "entity_initializer": lambda rows: start[0].reshape(rows.shape).clone(),
            "relation_initializer": lambda rows: start[1].reshape(rows.shape).clone(),
            "regularizer": "lp",
            "regularizer_kwargs": {"weight": 0.0},
            **bounded,
        },
        **(loss if sampled else {"loss": "CrossEntropy"}),
        **sampler,
    )
    run = tracer.run(result)
    assert native.dataset.fact_names(native.dataset.train[7]) == run.dataset.fact_names(
        run.dataset.train[7]
    )
    for fact in (0, 20, 300):
        asked = native.dataset.fact_names(native.dataset.train[fact])
        wanted, found = (
            {
                it.fact_id: it.influence
                for it in each.explain(*asked, method="rollback", top=None).facts
            }
            for each in (native, run)
        )
        assert max(map(abs, wanted.values())) > 1e-4
        assert max(abs(found[at] - wanted[at]) for at in wanted) < 1e-5


class Batches(TrainingCallback):  # type: ignore[misc]
    """Keeps every batch, and the rows before it."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Any] = []

    def on_batch(self, epoch: int, batch: Any, batch_loss: float, **kwargs: Any) -> None:
        rows = [it._embeddings.weight.detach().clone() for it in self._tables()]
        self.kept.append((batch, rows))

    def _tables(self) -> Any:
        return (*self.model.entity_representations, *self.model.relation_representations)


def own_gradients(positive: Any, negatives: Any, entities: Any, relations: Any) -> list[Any]:
    """Gradients of the terms of one fact by its own three rows, wherever they occur."""
    subject, relation, answer = positive
    own = [entities[subject], relations[relation], entities[answer]]
    own = [row.clone().requires_grad_() for row in own]

    def score(triple: Any) -> Any:
        rows = {subject: own[0], answer: own[2]} if answer != subject else {subject: own[0]}
        ends = [rows.get(it, entities[it]) for it in (triple[0], triple[2])]
        return (
            ends[0] * (own[1] if triple[1] == relation else relations[triple[1]]) * ends[1]
        ).sum()

    loss = torch.nn.functional.softplus(-score(positive))
    for negative in negatives:
        loss = loss + torch.nn.functional.softplus(score(negative))
    loss.backward()
    return [torch.zeros(8) if row.grad is None else row.grad for row in own]


@pytest.mark.parametrize("inverse", [False, True])
def test_negatives_that_share_rows_count_for_their_fact(inverse: bool) -> None:
    """SLCWA by SGD: the trace of a fact is the gradient of its own terms by its own rows."""
    factory = Nations(create_inverse_triples=inverse).training
    tracer, batches = Trace(factory, credit="step"), Batches()
    result = train(
        factory,
        "DistMult",
        "slcwa",
        tracer,
        batches,
        loss="Softplus",
        loss_kwargs={"reduction": "sum"},
        optimizer="SGD",
        optimizer_kwargs={"lr": 0.25},
        negative_sampler_kwargs={"num_negs_per_pos": 3},
        training_kwargs={"batch_size": 700},
        model_kwargs={"entity_constrainer": None, "regularizer": None},
    )
    run, relation_ids = tracer.run(result), (2, 1) if inverse else (1, 0)
    fact = factory.mapped_triples[11].tolist()
    wanted = [torch.zeros(8) for _ in range(4)]  # subject, relation, object, inverse relation
    forward = [fact[0], fact[1] * relation_ids[0], fact[2]]
    backward = [fact[2], fact[1] * 2 + 1, fact[0]] if inverse else None
    for batch, (entities, relations) in batches.kept:
        for positive, negatives in zip(
            batch["positives"].tolist(), batch["negatives"], strict=True
        ):
            if positive in (forward, backward):
                gradients = own_gradients(positive, negatives.tolist(), entities, relations)
                places = (0, 1, 2) if positive == forward else (2, 3, 0)
                for place, gradient in zip(places, gradients, strict=True):
                    wanted[place] -= 0.25 * gradient
    assert run.trace is not None
    slots = np.split(np.asarray(run.trace[11]), 4)
    for place in range(4 if inverse else 3):
        assert slots[place] == pytest.approx(wanted[place].numpy(), abs=2e-5)
    if not inverse:  # DistMult's inverse relation is the relation itself
        assert slots[3] == pytest.approx(slots[1])


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
def test_rows_move_by_the_trace_and_by_negatives_of_others(loop: str) -> None:
    """Relation rows are touched by their own facts alone: their traces add up to the change."""
    factory = Nations().training
    tracer = Trace(factory, credit="step")
    result = train(
        factory, "DistMult", loop, tracer,
        optimizer="Adagrad", model_kwargs={"entity_constrainer": None},
        training_kwargs={"num_epochs": 2, "batch_size": 32, "sub_batch_size": 16},
    )  # fmt: skip
    tracker = tracer.tracker
    assert tracker is not None
    name = "relation_representations.0._embeddings"
    moved = (result.model.get_submodule(name).weight - tracker._initial[name]).detach().numpy()
    summed = np.zeros_like(moved)
    np.add.at(summed, factory.mapped_triples[:, 1].numpy(), tracker.slots()[1])
    assert np.abs(moved).max() > 0.01
    assert summed == pytest.approx(moved, abs=1e-5)


def test_verify_trains_the_pipeline_again() -> None:
    data = Nations()
    tracer = Trace(data.training)

    def again(skip: Any) -> Any:
        return train(data.training, "ComplEx", "slcwa", tracer.without(skip))

    run = tracer.run(train(data.training, "ComplEx", "slcwa", tracer), retrain=again)
    verdict = run.verify(*INDIA, top=2)
    assert verdict.control_matches_run
    assert verdict.actual.probability != verdict.before.probability
    assert run.predict("_", "students", "usa").answers


def rows_of(result: Any) -> tuple[Any, Any]:
    """Entity and relation rows."""
    tables = (result.model.entity_representations[0], result.model.relation_representations[0])
    entities, relations = (it._embeddings.weight.detach().clone() for it in tables)
    return entities, relations


LOSSES = ["MarginRanking", "NSSA", "BCEAfterSigmoid", "CrossEntropy", "Softplus"]


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_skipped_fact_gives_no_gradient_and_no_other_batch(loss: str, inverse: bool) -> None:
    """SLCWA by SGD, one batch: the step without a fact lacks the fact's own gradient, exactly."""
    data, skip = Nations(create_inverse_triples=inverse).training, [11, 40]
    settings: dict[str, Any] = {
        "loss": loss,
        "optimizer": "SGD",
        "optimizer_kwargs": {"lr": 20.0},
        "negative_sampler_kwargs": {"num_negs_per_pos": 3, "filtered": loss == "NSSA"},
        "training_kwargs": {"batch_size": 2 * data.num_triples},
        "model_kwargs": {"regularizer": "lp", "regularizer_kwargs": {"weight": 0.01}},
    }
    settings["model_kwargs"]["entity_constrainer"] = None
    whole, without, batches = Trace(data), Trace(data).without(skip), (Batches(), Batches())
    every = rows_of(train(data, "DistMult", "slcwa", whole, batches[0], **settings))
    left = rows_of(train(data, "DistMult", "slcwa", without, batches[1], **settings))
    alone = [at for at in range(data.num_triples) if at not in skip]
    only = rows_of(train(data, "DistMult", "slcwa", whole.without(alone), **settings))
    (first, initial), (second, _) = batches[0].kept[0], batches[1].kept[0]
    for part in first:
        assert torch.equal(first[part], second[part])
    for each, some, few, start in zip(every, left, only, initial, strict=True):
        assert torch.allclose(each - some, few - start, atol=1e-6)
        assert (few - start).abs().max() > 1e-4


@pytest.mark.parametrize("loss", ["BCEAfterSigmoid", "CrossEntropy"])
def test_a_skipped_target_is_a_wrong_answer_of_its_pair(loss: str) -> None:
    """LCWA by SGD, one batch: as in data without the fact, but a mean is over as many pairs."""
    data = Nations().training
    pairs, counts = data.mapped_triples[:, :2].unique(dim=0, return_counts=True)

    def facts_of(pair: Any) -> list[int]:
        return (data.mapped_triples[:, :2] == pair).all(1).nonzero()[:, 0].tolist()

    one, several = (facts_of(pairs[counts == n][0]) for n in (1, 3))
    skip = one + several[:1]
    settings: dict[str, Any] = {
        "loss": loss,
        "loss_kwargs": {"reduction": "sum"},
        "optimizer": "SGD",
        "optimizer_kwargs": {"lr": 0.01},
        "training_kwargs": {"batch_size": len(pairs)},
        "model_kwargs": {"entity_constrainer": None, "regularizer": None},
    }
    keep = [at for at in range(data.num_triples) if at not in skip]
    fewer = data.clone_and_exchange_triples(data.mapped_triples[keep])
    wanted = rows_of(train(fewer, "DistMult", "lcwa", **settings))
    found = rows_of(train(data, "DistMult", "lcwa", Trace(data).without(skip), **settings))
    every = rows_of(train(data, "DistMult", "lcwa", **settings))
    for want, get, control in zip(wanted, found, every, strict=True):
        assert torch.allclose(get, want, atol=1e-6)
        assert (control - want).abs().max() > 1e-4


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
@pytest.mark.parametrize("loss", LOSSES)
def test_facts_far_from_a_prediction_leave_it_where_the_control_is(loss: str, loop: str) -> None:
    data = Nations().training

    def train_without(skip: list[int]) -> Any:
        changes = {"training_kwargs": {"num_epochs": 3}, "loss": loss}
        return train(data, "DistMult", loop, Trace(data).without(skip), **changes)

    def probability(skip: list[int]) -> float:
        run = Trace(data).run(train_without(skip))
        found = run.explain(*INDIA, method="gradient-dot", top=1).prediction.probability
        assert found is not None
        return found

    names, relation = data.entity_to_id, data.relation_to_id["students"]
    subjects, relations, objects = data.mapped_triples.T
    near = torch.isin(subjects, torch.tensor([names["india"], names["usa"]]))
    near |= torch.isin(objects, torch.tensor([names["india"], names["usa"]]))
    far = (~near & (relations != relation)).nonzero()[:, 0].tolist()
    control = probability([])
    assert [probability([at]) for at in far[7:9]] == pytest.approx([control] * 2, rel=0.01)


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
def test_skipped_facts_have_no_trace(loop: str) -> None:
    """Skipping comes before tracing. Nothing of it is left in the model."""
    data = Nations(create_inverse_triples=True).training
    tracer = Trace(data, credit="source")
    settings = {"training_kwargs": {"sub_batch_size": 50}, "model_kwargs": {"regularizer": "lp"}}
    result = train(data, "DistMult", loop, tracer.without([5, 6]), tracer, **settings)
    run = tracer.run(result)
    assert run.trace is not None
    assert not np.asarray(run.trace[5:7]).any()
    assert np.asarray(run.trace[:5]).any(axis=1).all()
    assert "score_hrt" not in vars(result.model)


def test_a_saved_import_opens_like_any_run(tmp_path: Path) -> None:
    data = Nations()
    tracer = Trace(data.training)
    result = train(data.training, "RotatE", "slcwa", tracer)
    kept = tracer.run(result, test=data.testing, out=tmp_path / "run")
    opened = whereof.Run.open(tmp_path / "run")
    assert opened.explain(*INDIA).facts == kept.explain(*INDIA).facts
    assert opened.metrics == kept.metrics


@pytest.mark.parametrize("loop", ["slcwa", "lcwa"])
def test_an_early_stopper_keeps_the_rows_and_the_trace_of_the_best_epoch(loop: str) -> None:
    data = Nations()
    stopped, plain = Trace(data.training), Trace(data.training)
    stopper = {"frequency": 1, "patience": 2, "relative_delta": 0.02}
    settings = {"training_kwargs": {"num_epochs": 9}, "optimizer_kwargs": {"lr": 0.1}}
    result = train(
        data.training,
        "DistMult",
        loop,
        stopped,
        stopper="early",
        stopper_kwargs=stopper,
        **settings,
    )
    best, n_epochs = result.stopper.best_epoch, len(result.losses)
    assert best < n_epochs
    settings["training_kwargs"] = {"num_epochs": best}
    wanted = plain.run(train(data.training, "DistMult", loop, plain, **settings))
    found = stopped.run(result)
    np.testing.assert_array_equal(found.entity_rows, wanted.entity_rows)
    np.testing.assert_array_equal(found.trace, wanted.trace)
    assert stopped.tracker is not None
    later = stopped.tracker.slots()[0][: found.dataset.n_facts]
    assert not np.array_equal(found.trace[:, : later.shape[1]], later)


def test_a_model_that_changed_after_training_is_refused() -> None:
    data = Nations()
    tracer = Trace(data.training)
    result = train(data.training, "DistMult", "slcwa", tracer)
    with torch.no_grad():
        result.model.entity_representations[0]._embeddings.weight += 1
    with pytest.raises(whereof.WhereofError, match="do not change it after"):
        tracer.run(result)


def test_what_is_not_supported_is_said_in_one_line() -> None:
    factory = Nations().training
    for act, said in (
        (lambda: train(factory, "TuckER", "slcwa", Trace(factory)), "TuckER is not supported"),
        (lambda: Trace("nations"), "needs the training TriplesFactory, not str"),
        (lambda: train(factory, "SimplE", "slcwa", Trace(factory),
                       model_kwargs={"clamp_score": 2.0}), "clamp_score"),
        (lambda: train(factory, "DistMult", "lcwa", Trace(factory),
                       training_kwargs={"slice_size": 5}), "leave out slice_size"),
        (lambda: whereof.read("pykeen:nothing"), "PyKEEN cannot provide the dataset 'nothing'"),
        (lambda: whereof.read("pykeen:nations", test_fraction=0.1), "has held-out facts already"),
    ):  # fmt: skip
        with pytest.raises(whereof.WhereofError, match=said) as caught:
            act()  # type: ignore[no-untyped-call]
        assert "\n" not in str(caught.value)


def test_factories_datasets_and_their_names_are_data(tmp_path: Path) -> None:
    wanted, data = whereof.read("nations"), Nations()
    by_name, whole, facts = map(whereof.read, ("pykeen:nations", data, data.training))
    for split in ("train", "valid", "test"):
        mine = {wanted.fact_names(fact) for fact in getattr(wanted, split)}
        for found in (by_name, whole):
            assert {found.fact_names(fact) for fact in getattr(found, split)} == mine
    assert len(facts.train) == len(wanted.train)
    assert not len(facts.test)
    assert (by_name.name, whole.name) == ("nations", "nations")
    by_hand = TriplesFactory.from_labeled_triples(np.array([("a", "r", "b"), ("b", "r", "c")]))
    run = whereof.train(by_hand, out=tmp_path / "run", model="distmult", dim=2, epochs=1)
    assert run.dataset.n_facts == 2
    more = TriplesFactory.from_labeled_triples(np.array([("c", "r", "d")]))
    assert run.update(more, out=tmp_path / "more").n_added == 1
