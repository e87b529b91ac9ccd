"""The impact of a fact: the same numbers as explanations of each prediction."""

from pathlib import Path

import pytest
from trained import train, train_ratings

import whereof
from whereof.errors import WhereofError
from whereof.run.reliability import Claims, Reliability

FACT = 5


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    path = tmp_path_factory.mktemp("impact") / "run"
    train(path, epochs=10, inverse=True, optimizer="adagrad", accumulator=0.1, rate=0.1)
    claims = [Claims(method, 20, 1.0, 20, 5, n) for method, n in (("rollback", 4), ("unrolled", 3))]
    Reliability().updated(None, claims).write(path)
    return whereof.Run.open(path)


@pytest.mark.parametrize("method", ["rollback", "unrolled"])
@pytest.mark.parametrize("predictions", ["top", "true"])
def test_influences_are_those_of_explanations(
    run: whereof.Run, method: str, predictions: str
) -> None:
    limit = 20 if method == "unrolled" else None
    found = run.impact(FACT, method=method, predictions=predictions, top="all", limit=limit)
    assert found.predictions
    assert {each.asks for each in found.predictions} == {"object", "subject"}
    values = [each.influence for each in found.predictions]
    assert values == sorted(values, reverse=True)
    assert len(values) == found.n_supported
    assert (found.n_top_changes is None) is (method == "unrolled")  # 3 of 5 claims came true
    said = "new top answers are not shown: in this run, 3 of 5 announced ones came true, too few"
    assert (said in str(found.notes)) is (method == "unrolled")
    for each in found.predictions[::9]:
        names = (each.subject, each.relation, each.object)
        why = run.explain(*names, method=method, without=[FACT], asks=each.asks)
        assert why.without is not None
        assert each.influence == pytest.approx(why.without.influence, rel=1e-4, abs=1e-9)
        assert each.without.value == pytest.approx(why.without.value, rel=1e-6)
        changes = why.without.top_answer_changes if method == "rollback" else None
        assert each.top_answer_changes == changes
        assert each.probability == why.prediction.probability


def test_predictions_that_share_nothing_are_not_listed(run: whereof.Run) -> None:
    fact = run.dataset.fact_names(run.dataset.train[FACT])
    every = [*run.impact(FACT, top="all").predictions]
    every += run.impact(*fact, top="all", opposing=True).predictions
    for each in every:
        ends = {each.subject, each.object} & {fact[0], fact[2]}
        assert ends or each.relation == fact[1]
    found = run.impact(FACT)
    assert len(every) == found.n_supported + found.n_opposed <= found.n_adjacent
    assert found.n_adjacent < found.n_predictions
    assert all(each.influence < 0 for each in every[found.n_supported :])


def test_several_facts_are_removed_together(run: whereof.Run) -> None:
    together = run.impact("5,700", top=1).predictions[0]
    names = (together.subject, together.relation, together.object)
    joint = run.explain(*names, method="rollback", without=[5, 700], asks=together.asks).without
    assert joint is not None
    assert together.influence == pytest.approx(joint.influence, rel=1e-4)


def test_the_queries_that_the_fact_answers_are_asked_too(run: whereof.Run) -> None:
    subject, relation, answer = run.dataset.fact_names(run.dataset.train[FACT])
    found = [run.impact(FACT, limit=1, top="all", opposing=it) for it in (False, True)]
    asked = [each for it in found for each in it.predictions]
    assert any((it.asks, it.subject, it.relation) == ("object", subject, relation) for it in asked)
    assert any((it.asks, it.relation, it.object) == ("subject", relation, answer) for it in asked)


def test_without_held_out_facts_only_these_queries_are_asked(
    run: whereof.Run, tmp_path: Path
) -> None:
    data = run.dataset
    names = [data.fact_names(fact) for fact in data.train]
    (tmp_path / "facts.tsv").write_text("".join("\t".join(it) + "\n" for it in names))
    settings = {"valid_fraction": 0.0, "test_fraction": 0.0, "dim": 4, "epochs": 2}
    plain = whereof.train(tmp_path / "facts.tsv", out=tmp_path / "run", inverse=True, **settings)
    fact = plain.dataset.fact_names(plain.dataset.train[FACT])
    found = plain.impact(*fact, top="all")
    assert found.n_predictions == found.n_adjacent == 2
    (note,) = (it for it in found.notes if "no facts" in it)
    assert note.endswith("--split train adds the queries of that split")
    said = f"is not measured; to measure it, run `whereof evaluate {plain.path} --protocols"
    assert any(said in it for it in found.notes)
    more = plain.impact(*fact, split="train", top="all")
    assert more.n_predictions > 2
    assert not any("no facts" in it for it in more.notes)
    with pytest.raises(WhereofError, match="split test of this run has no facts"):
        plain.impact(*fact, predictions="true")


@pytest.mark.parametrize("facts", [[FACT], [FACT, 700]])
def test_retraining_shows_what_verdicts_show(run: whereof.Run, facts: list[int]) -> None:
    found = run.impact(*facts, top=4, verify=True, threads=1)
    assert (found.n_retrainings, found.engine) == (2, "local")
    assert not any("new top answers" in note for note in found.notes)
    for each in found.predictions:
        names = (each.subject, each.relation, each.object)
        verdict = run.verify(*names, facts=facts, asks=each.asks, method="rollback", threads=1)
        assert (each.before, each.actual, each.claim) == (
            verdict.before,
            verdict.actual,
            verdict.claim,
        )
        assert found.control_matches_run is verdict.control_matches_run
    again = run.impact(*facts, top=4, verify=True, threads=1)
    assert (again.n_retrainings, again.n_known) == (2, 2)
    assert again.predictions == found.predictions
    plain = run.impact(*facts, top=4)
    assert {(each.before, each.actual, each.claim) for each in plain.predictions} == {(None,) * 3}


def test_an_impact_without_predictions_is_not_retrained(run: whereof.Run, tmp_path: Path) -> None:
    (file := tmp_path / "one.tsv").write_text("egypt\tembassy\tusa\n")
    for fact in range(50, 200):
        found = run.impact(fact, predictions=str(file), verify=True, threads=1)
        if not found.predictions:
            break
    assert "nothing was retrained: there is no prediction to check" in found.notes
    assert found.n_retrainings == 0


def test_ratings(tmp_path: Path) -> None:
    run = train_ratings(tmp_path, 20)
    found = run.impact(0, predictions="true", split="train", top="all")
    assert found.facts[0].rating == 5.0
    first = found.predictions[0]
    why = run.explain(first.subject, first.object, without=[0], method="rollback").without
    assert why is not None
    assert first.influence == pytest.approx(why.influence, rel=1e-4)
    assert first.probability is None
    (file := tmp_path / "pair.tsv").write_text(f"{first.subject}\t{first.object}\n")
    (checked,) = run.impact(0, predictions=str(file), verify=True, threads=1).predictions
    verdict = run.verify(first.subject, first.object, facts=[0], threads=1)
    assert checked.actual == verdict.actual


def test_bad_input(run: whereof.Run, tmp_path: Path) -> None:
    with pytest.raises(WhereofError, match="choose from rollback, unrolled"):
        run.impact(FACT, method="random")
    with pytest.raises(WhereofError, match="is not a training fact"):
        run.impact("egypt", "embassy", "egypt")
    file = tmp_path / "some.tsv"
    file.write_text("egypt\tembassy\tusa\negypt\tembassi\tusa\n")
    with pytest.raises(WhereofError, match=r"some.tsv:2: unknown relation 'embassi'"):
        run.impact(FACT, predictions=str(file))
