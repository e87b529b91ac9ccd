"""Measuring single parts: the paper's examples, and the truth with both credits."""

import gzip
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from listening import Recorded

import whereof
from paper.hand_made import retraining
from whereof.api.runs import open_case, sibling
from whereof.errors import WhereofError
from whereof.evaluate.evaluation import plain
from whereof.evaluate.options import EvaluateOptions
from whereof.explain.methods.rollback import CoreScoring
from whereof.paper.measure import (
    Measuring,
    PartResult,
    check_same_rows,
    explain_examples,
    fallen,
    rank_by_other_trace,
)
from whereof.paper.plan import DATASETS, PaperOptions, Part
from whereof.paper.write import make_budget
from whereof.predict.scored import ScoredPrediction

EXAMPLES = DATASETS["fb15k-237"].examples
SHARED = Path(__file__).parents[3] / "shared" / "data" / "fb15k-237"
FOUND = {
    "Lycoming County": ("/m/0mwk9", "/m/09nqf", "/m/0f4y_"),
    "Bandai": ("/m/01qszl", "/m/01mw1", "/m/027lf1"),
    "Inception": ("/m/0661ql3", "/m/0k6nt", "/m/077q8x"),
}
"""Subject and object of the prediction, and the subject of the paper's fact."""
N_OTHERS = 2000


def test_examples_are_those_that_fell_furthest() -> None:
    rows = [retraining(object=name, actual=0.5 - fall) for name, fall in (("b", 0.1), ("c", 0.3))]
    rows += [
        retraining(object="d", actual=0.1, seed=43),
        retraining(object="e", actual=0.1, method="random"),
        retraining(object="f", actual=0.1, k="10"),
        retraining(object="g", actual=0.1, protocol="approximation"),
    ]
    assert [row.object for row in fallen(rows, 2)] == ["c", "b"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    """A run on the facts of FB15k-237 that have an entity of the examples, and a few more."""
    if not SHARED.is_dir():
        pytest.skip("no fb15k-237 in ../shared/data")
    folder = tmp_path_factory.mktemp("data") / "fb15k-237"
    folder.mkdir()
    labels = (SHARED / "entity2text.txt").read_text(encoding="utf-8")
    (folder / "entity2text.txt").write_text(labels, encoding="utf-8")
    wanted = {name for subject, _, _, paper in EXAMPLES for name in (subject, paper)}
    pairs = [line.split("\t") for line in labels.splitlines()]
    entities = {name for name, label, *_ in pairs if label in wanted}
    relations = {relation for _, relation, _, _ in EXAMPLES}
    for split in ("train", "valid", "test"):
        with gzip.open(SHARED / f"{split}.txt.gz", "rt", encoding="utf-8") as file:
            facts = [line.strip().split("\t") for line in file]
        kept = [fact for fact in facts if not entities.isdisjoint(fact)]
        if split == "train":
            kept += [fact for fact in facts if fact[1] in relations][:N_OTHERS]
        lines = dict.fromkeys("\t".join(fact) for fact in kept)
        (folder / f"{split}.txt").write_text("\n".join(lines), encoding="utf-8")
    return whereof.train(
        "fb15k-237",
        out=tmp_path_factory.mktemp("fb") / "run",
        data_dir=folder.parent,
        preset="paper",
        model="distmult",
        dim=8,
        negatives=10,
        optimizer="adam-lazy",
        credit="source",
    )


def test_without_labels_there_are_no_examples_and_a_note_says_so(tmp_path: Path) -> None:
    run = whereof.train("nations", out=tmp_path / "run", model="distmult", dim=4, epochs=1)
    events = Recorded()
    assert explain_examples(run, events, EXAMPLES) == []
    (note,) = (text for text in events.notes if "left out" in text)
    assert note.startswith("3 of the paper's 3 examples are left out: unknown ")


def test_labels_lead_to_the_entities_that_are_meant(run: whereof.Run) -> None:
    events = Recorded()
    found = explain_examples(run, events, EXAMPLES)
    assert events.notes == []
    assert len(found) == len(EXAMPLES) == 3
    for (label, relation, _, _), mine in zip(EXAMPLES, found, strict=True):
        subject, object_, papers = FOUND[label]
        asked, facts = mine.ours.prediction, mine.ours.facts
        assert (asked.subject, asked.relation, asked.object) == (subject, relation, object_)
        # Two counties are called Delaware, and two things Bird. Training has one of each.
        (paper,) = mine.paper
        assert (paper.subject, paper.relation, paper.object) == (papers, relation, object_)
        assert [fact.rank for fact in facts] == [1, 2, 3]
        values = [fact.influence for fact in facts]
        assert values == sorted(values, reverse=True)
        assert 1 <= paper.rank <= mine.ours.n_adjacent
        again = run.explain(subject, relation, object_, top=3)
        assert [fact.fact_id for fact in facts] == [fact.fact_id for fact in again.facts]
        assert asked.probability == pytest.approx(again.prediction.probability)


def test_the_examples_are_predictions_of_the_test_split(run: whereof.Run) -> None:
    data = run.dataset
    tested = set(map(tuple, data.test.tolist()))
    for subject, relation, object_, _ in EXAMPLES:
        first, last = map(data.entities.find, (subject, object_))
        assert (first, data.relations.find(relation), last) in tested


TRUTH = Part(
    "truth",
    "the truth",
    settings={**DATASETS["nations"].lazy, "epochs": 2},
    options=EvaluateOptions(
        methods=("rollback", "gradient-dot"),
        protocols=("leave-one-out",),
        adjacent_only=True,
        most_adjacent=420,
        limit=2,
    ),
    other_credit="step",
)
Measured = tuple[PartResult, Measuring, Recorded]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    options = PaperOptions(models=("distmult",), seeds=2, out=tmp_path_factory.mktemp("truth"))
    events = Recorded()
    measuring = Measuring(options, events)
    with closing(measuring.engine):
        return measuring.measure(TRUTH), measuring, events


def test_both_credits_are_compared_with_the_same_retrainings(measured: Measured) -> None:
    result, measuring, events = measured
    evaluation = result.evaluation
    source, dot = evaluation.leave_one_out
    assert (source.method, dot.method) == ("rollback", "gradient-dot")
    assert evaluation.config["credit"] == "source"
    step = result.other_credit
    assert len(step) == len(source.orders) == len(dot.orders) == 2
    for mine, other in zip(step, source.orders, strict=True):
        for name in ("subject", "object", "n_adjacent", "original", "best_fact", "best_drop"):
            assert getattr(mine, name) == getattr(other, name)
    assert [each.rho for each in step] != [each.rho for each in source.orders]
    assert sum(events.n_planned) == 1 + source.n_facts
    # The order by step is that of a run with that credit.
    run = measuring.sibling(measuring.open(TRUTH), credit="step")
    assert run.config.credit == "step"
    for order in step:
        facts = run.explain(order.subject, order.relation, order.object, top=None).facts
        assert order.first_fact == facts[0].fact_id
        (rank,) = [fact.rank for fact in facts if fact.fact_id == order.best_fact]
        assert order.best_rank == rank


def test_the_other_credit_is_explained_on_the_device_of_the_run(measured: Measured) -> None:
    result, measuring, events = measured
    run, credits = measuring.open(TRUTH), set[str]()

    def backing(scored: ScoredPrediction) -> CoreScoring:
        credits.add(scored.trained.config.credit)
        return CoreScoring(scored)

    with open_case(run, measuring.engine, events) as case:
        elsewhere = replace(case, trained=replace(case.trained, backing=backing))
        other = measuring.sibling(run, credit="step")
        orders = rank_by_other_trace(elsewhere, other, TRUTH.options)
    assert "step" in credits
    assert tuple(orders) == result.other_credit


def test_a_trace_of_other_parameters_is_refused(measured: Measured) -> None:
    _, measuring, events = measured
    run = measuring.open(TRUTH)
    check_same_rows(run, sibling(run, events, credit="step"))
    with pytest.raises(WhereofError, match=r"seed-43 has other parameters than .*; remove .* both"):
        check_same_rows(run, sibling(run, events, seed=43))


def test_the_budget_is_an_upper_bound(measured: Measured, tmp_path: Path) -> None:
    _, measuring, events = measured
    (cost,) = make_budget([TRUTH], [], measuring).parts
    assert sum(events.n_planned) <= cost.n_retrainings == 1 + 2 * 420
    assert (cost.n_trainings, cost.training_seconds) == (0, 0)  # both credits are there
    elsewhere = Measuring(replace(measuring.options, out=tmp_path), events)
    (cost,) = make_budget([TRUTH], [], elsewhere).parts
    assert cost.n_trainings == 2
    assert cost.seconds > cost.retraining_seconds > 0
    assert [*tmp_path.iterdir()] == []


def test_a_finished_part_is_read_back(measured: Measured) -> None:
    result, measuring, _ = measured
    assert plain(measuring.kept(TRUTH)) == plain(result)
