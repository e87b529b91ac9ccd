"""A whole evaluation: seeds, counts, stored results and the document."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from listening import Recorded
from trained import train

import whereof
from whereof.evaluate.evaluation import plain
from whereof.evaluate.sample import Retraining
from whereof.evaluate.statistics import randomisation_p
from whereof.run.files import find_evaluations, read_sealed_line

SMALL: dict[str, Any] = {"limit": 5, "k": "1,3", "removals": 3}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("runs") / "run", epochs=2).path  # type: ignore[return-value]


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> whereof.Run:
    """A new run without stored retrainings."""
    return whereof.Run.open(shutil.copytree(trained, tmp_path / "run"))


def journal(folder: Path) -> list[str]:
    """The removed facts of every retraining in a run's journal."""
    texts = [path.read_bytes() for path in folder.glob("retrained/*.jsonl")]
    return [read_sealed_line(line)["removed"] for line in b"".join(texts).split(b"\n") if line]


def figures(found: whereof.Evaluation) -> dict[str, Any]:
    """The document without times and number of known retrainings."""
    names = ("seconds", "explain_seconds", "explain_seconds_seeds", "n_known")
    return {name: value for name, value in found.to_dict().items() if name not in names}


def test_every_retraining_is_counted_once_and_done_once(run: whereof.Run) -> None:
    assert run.path is not None
    events = Recorded()
    first = run.evaluate(events=events, **SMALL)
    assert first.n_known == 0
    keys = journal(run.path)
    assert len(keys) == len(set(keys)) == first.n_retrainings == sum(events.n_planned)
    rows = {row.removed for row in first.retrainings}
    # The control, too. Linearity and claims have no rows.
    assert len(rows | {()}) < first.n_retrainings
    again = run.evaluate(**SMALL)
    assert again.n_known == again.n_retrainings == first.n_retrainings
    assert figures(again) == figures(first)
    assert again.retrainings == first.retrainings
    assert journal(run.path) == keys
    assert first.control_matches_run


def test_more_is_asked_and_only_the_rest_is_retrained(run: whereof.Run) -> None:
    first = run.evaluate(**SMALL | {"k": "1"})
    more = run.evaluate(**SMALL | {"k": "1,3"})
    assert more.n_known == first.n_retrainings < more.n_retrainings
    assert more.removal[0] == first.removal[0]


def test_seeds_are_runs_of_their_own(run: whereof.Run) -> None:
    assert run.path is not None
    events = Recorded()
    found = run.evaluate(events=events, seeds=3, **SMALL)
    seed = run.config.seed
    assert found.seeds == (seed, seed + 1, seed + 2)
    assert [note for note in events.notes if f"seed {seed + 1}" in note]
    names = {f"seed-{seed + 1}", f"seed-{seed + 2}"}
    assert {path.name for path in (run.path / "siblings").iterdir()} == names
    for cell in found.removal:
        mine = [row for row in found.retrainings if row.protocol == "removal"]
        mine = [row for row in mine if (row.method, row.k) == (cell.method, str(cell.k))]
        shares = [
            np.mean([row.actual < row.original for row in mine if row.seed == each])  # type: ignore[operator]
            for each in found.seeds
        ]
        assert cell.pd_seeds == pytest.approx(shares)
        assert cell.pd == pytest.approx(np.mean(shares))
        assert (cell.n_seeds, cell.n_predictions) == (3, 5)
    alone = whereof.Run.open(run.path / "siblings" / f"seed-{seed + 1}").evaluate(**SMALL)
    assert [cell.tc_seeds[1] for cell in found.removal] == [cell.tc for cell in alone.removal]
    assert alone.n_known == alone.n_retrainings


def test_the_default_method_of_the_run_is_compared(tmp_path: Path) -> None:
    run = train(tmp_path / "run", optimizer="adagrad", rate=0.1, accumulator=0.1)
    assert run.default_method == "unrolled"
    asked = {"k": 1, "limit": 2, "protocols": "removal"}
    assert [*run.evaluate(**asked).options["methods"]] == ["unrolled", "rollback", "random"]
    assert [*run.evaluate(**asked, methods="random").options["methods"]] == ["random"]


def test_p_values_flip_a_query_in_all_seeds_together(run: whereof.Run) -> None:
    found = run.evaluate(seeds=3, methods="rollback,random", **SMALL | {"protocols": "removal"})
    for each in found.significance:
        rows = [row for row in found.retrainings if row.k == str(each.k)]
        mine, others = ([r for r in rows if r.method == name] for name in ("rollback", "random"))
        fell = {
            name: np.array([_counts(row, each.metric) for row in some], float)
            for name, some in (("mine", mine), ("others", others))
        }
        differences = (fell["mine"] - fell["others"]).reshape(3, -1)
        queries = [(row.subject, row.relation) for row in mine]
        by_seed = [queries[i : i + 5] for i in (0, 5, 10)]
        assert each.p_value == randomisation_p([*differences], by_seed)


def _counts(row: Retraining, metric: str) -> bool:
    if metric == "tc":
        return row.top_after != row.top_before
    return row.actual < row.original  # type: ignore[operator]


def test_the_document_is_plain_and_kept_in_the_run(run: whereof.Run) -> None:
    assert run.path is not None
    found = run.evaluate(**SMALL)
    run.evaluate(**SMALL | {"predictions": "true"})
    run.evaluate(**SMALL)
    kept = [json.loads(path.read_text()) for path in find_evaluations(run.path)]
    assert [each["predictions"] for each in kept] == ["true", "top"]
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert figures(found) == {name: kept[-1][name] for name in figures(found)}
    assert "retrainings" not in json.loads(text)
    assert kept[-1]["options"]["methods"] == ["rollback", "random"]
    wanted = {"method", "k", "pd", "pd_interval", "tc", "tc_interval", "n_predictions"}
    assert wanted | {"removed_mean"} <= kept[-1]["removal"][0].keys()
    assert set(found.explain_seconds or {}) == {"rollback", "random"}
    assert all(took > 0 for took in (found.explain_seconds or {}).values())
    for name, seeds in (found.explain_seconds_seeds or {}).items():
        assert np.mean(seeds) == pytest.approx((found.explain_seconds or {})[name])


def test_what_is_not_finite_has_no_number_in_json() -> None:
    assert plain({"a": (math.nan, 1.0), "b": [math.inf, "x", None]}) == {
        "a": [None, 1.0],
        "b": [None, "x", None],
    }


def test_adjacent_facts_are_counted(run: whereof.Run) -> None:
    found = run.evaluate(**SMALL | {"protocols": "steadiness"})
    predictions = {(r.subject, r.relation, r.object) for r in found.retrainings}
    sizes = [run.explain(*names, top=1).n_adjacent for names in predictions]
    assert found.n_adjacent_mean == pytest.approx(np.mean(sizes))
    assert found.n_adjacent_std == pytest.approx(np.std(sizes))
    assert found.n_predictions == len(predictions) == 5


def test_remarks_of_methods_are_noted_once(run: whereof.Run) -> None:
    found = run.evaluate(methods="criage", **SMALL | {"protocols": "removal"})
    assert len(found.notes) == 1
    assert "criage is made for the sigmoid loss" in found.notes[0]


def test_a_run_that_cannot_be_retrained_says_so() -> None:
    rows = np.random.default_rng(0).normal(size=(3, 2))
    run = whereof.Run.from_arrays(
        model="distmult",
        entities=["a", "b", "c"],
        relations=["r"],
        facts=[(0, 0, 1), (1, 0, 2)],
        entity_rows=rows,
        relation_rows=rows[:1],
    )
    with pytest.raises(whereof.WhereofError, match="other software trained this run"):
        run.evaluate(seeds=2)


def test_unknown_options_get_the_nearest(run: whereof.Run) -> None:
    with pytest.raises(whereof.WhereofError, match="did you mean 'methods'"):
        run.evaluate(method="rollback")
    with pytest.raises(whereof.WhereofError, match="unknown engine 'abacus'"):
        run.evaluate(engine="abacus")


def test_a_folder_that_cannot_be_written_is_no_end(run: whereof.Run) -> None:
    assert run.path is not None
    (run.path / "evaluations").write_text("in the way")
    events = Recorded()
    found = run.evaluate(events=events, **SMALL | {"protocols": "steadiness"})
    assert found.steadiness is not None
    assert any("the evaluation is not stored" in note for note in events.notes)


def test_an_evaluation_prints_as_a_few_lines(run: whereof.Run) -> None:
    found = run.evaluate(limit=2, k="1", protocols="removal")
    first, *lines = str(found).splitlines()
    assert first == f"distmult on nations, seed {run.config.seed}"
    assert lines[0].startswith("2 predictions (top new answers of test), ")
    assert lines[1].startswith("Removing the fact that rollback ranks first lowers")
    assert len(repr(found)) < 4000


def test_a_list_of_predictions_is_refused_with_what_to_do(run: whereof.Run) -> None:
    with pytest.raises(whereof.WhereofError, match="top, true or a file"):
        run.evaluate(predictions=[("egypt", "embassy", "usa")])
