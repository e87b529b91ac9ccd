"""Explanations, answers, evaluations, audits and so on as tables for other programs."""

import sys
from pathlib import Path

import pytest
from trained import train

import whereof
from whereof.errors import WhereofError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("runs") / "run", inverse=True)


def test_every_library_gets_the_same_rows(run: whereof.Run) -> None:
    pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pandas", reason="pandas is not installed")
    explanation, answers = (
        run.explain("egypt", "embassy", "usa", top=4),
        run.predict("_", "embassy", "usa"),
    )
    for found in (explanation, answers):
        rows = found.to_arrow().to_pylist()
        assert found.to_polars().to_dicts() == rows
        assert (
            found.to_pandas()["subject"].tolist()[0] == rows[0]["subject"]
            or rows[0]["subject"] is None
        )
    assert [row["influence"] for row in explanation.to_arrow().to_pylist()] == [
        fact.influence for fact in explanation.facts
    ]
    assert [row["entity"] for row in answers.to_arrow().to_pylist()] == [
        answer.entity for answer in answers.answers
    ]


def test_a_table_without_rows_has_its_columns(run: whereof.Run) -> None:
    found = run.explain(
        "egypt", "embassy", "usa", entity="burma", relation="embassy", role="object"
    )
    assert found.to_arrow().schema == run.explain("egypt", "embassy", "usa").to_arrow().schema


def test_a_graph_has_the_facts_and_the_prediction(run: whereof.Run) -> None:
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    found = run.explain("egypt", "embassy", "usa", top=4)
    graph = found.to_networkx()
    assert isinstance(graph, networkx.MultiDiGraph)
    asked = graph.edges["egypt", "usa", "prediction"]
    assert asked["probability"] == found.prediction.probability
    assert asked["kind"] == "prediction"
    for fact in found.facts:
        edge = graph.edges[fact.subject, fact.object, fact.fact_id]
        assert (edge["relation"], edge["influence"]) == (fact.relation, fact.influence)
    answers = run.predict("_", "embassy", "usa", top=3)
    edges = answers.to_networkx().edges(data="probability")
    assert {*edges} == {(each.entity, "usa", each.probability) for each in answers.answers}


def test_a_file_of_one_explanation(run: whereof.Run, tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx", reason="networkx is not installed")
    found = run.explain("egypt", "embassy", "usa", top=4)
    found.to_file(tmp_path / "a.graphml")
    assert len(networkx.read_graphml(tmp_path / "a.graphml").edges) == 5
    found.to_file(tmp_path / "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 5
    with pytest.raises(WhereofError, match="exists"):
        found.to_file(tmp_path / "a.csv")


@pytest.mark.parametrize("package", ["networkx", "pandas", "polars"])
def test_a_missing_package_is_named_with_its_extra(
    run: whereof.Run, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run.explain("egypt", "embassy", "usa", top=1)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(WhereofError, match=rf'pip install "whereof\[{package}\]"'):
        getattr(found, f"to_{package}")()


def test_an_evaluation_is_a_table_for_each_part(run: whereof.Run) -> None:
    found = run.evaluate(methods="rollback,random", k="1,all", limit=3, threads=1)
    rows = found.to_arrow().to_pylist()
    assert [row["k"] for row in rows] == [str(each.k) for each in found.removal]
    assert [row["pd"] for row in rows] == [each.pd for each in found.removal]
    assert found.to_arrow("retrainings").num_rows == len(found.retrainings)
    assert found.to_polars("removal").height == len(found.removal)
    assert found.to_pandas("removal")["method"].tolist() == [each.method for each in found.removal]
    with pytest.raises(WhereofError, match="unknown part 'removed'; did you mean 'removal'"):
        found.to_arrow("removed")


def test_an_audit_is_a_table_for_each_list(run: whereof.Run) -> None:
    found = run.audit(limit=5, top=3, verify=True, threads=1)
    document = found.to_dict()
    filled = {part for part, rows in document.items() if isinstance(rows, list) and rows}
    assert {"suspicious", "blamed", "verified"} <= filled
    for part in ("suspicious", "blamed", "groups", "idle", "verified", "conflicting"):
        rows = found.to_arrow(part).to_pylist()
        plain = [{k: v for k, v in each.items() if k != "labels"} for each in document[part]]
        assert [{name: row[name] for name in row if "_label" not in name} for row in rows] == plain
    first, wanted = found.to_polars().to_dicts()[0], found.suspicious[0]
    assert first["subject_label"] == wanted.labels["subject"]
    assert found.to_pandas("suspicious")["suspicion"].tolist()[0] == wanted.suspicion
    with pytest.raises(WhereofError, match="unknown part 'suspicius'; did you mean 'suspicious'"):
        found.to_arrow("suspicius")


def test_an_impact_is_a_table_of_its_predictions(run: whereof.Run) -> None:
    found = run.impact(5, top=2)
    rows = found.to_arrow().to_pylist()
    assert [*rows[0]][:3] == ["subject", "relation", "object"]
    for row, each in zip(rows, found.predictions, strict=True):
        assert (row["object"], row["influence"]) == (each.object, each.influence)
        assert row["without_probability"] == each.without.probability
        assert row["without_top_answer_label"] == each.without.top_label
        assert row["before_rank"] is None
    assert found.to_arrow("facts")["fact_id"].to_pylist() == [5]


def test_a_verdict_is_a_table_of_its_facts(run: whereof.Run) -> None:
    found = run.verify("egypt", "embassy", "usa", facts=2, each=True, threads=1)
    rows = found.to_arrow().to_pylist()
    assert [row["fact_id"] for row in rows] == [*found.removed]
    assert [row["influence"] for row in rows] == [fact.influence for fact in found.facts]
    each = found.to_arrow("each").to_pylist()
    assert [row["actual_rank"] for row in each] == [fact.actual.rank for fact in found.each]
    assert found.to_arrow("top_answers").num_rows == len(found.top_answers)
    assert found.to_arrow("seeds")["seed"].to_pylist() == [it.seed for it in found.seeds]
