"""Options of an explanation, and which facts are listed."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trained import train

import whereof
from whereof.explain.options import ExplainOptions
from whereof.run.files import describe
from whereof.run.folder import Manifest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(path)
    return path


@pytest.fixture(scope="module")
def nations(folder: Path) -> whereof.Run:
    return whereof.Run.open(folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top is 0; give a number from 1 on, or all"),
        ({"top": -3}, "top is -3"),
        ({"top": "some"}, "top is 'some'"),
        ({"top": True}, "top is True"),
        ({"of": "rank"}, "unknown of 'rank'; choose from probability, score, loss"),
        (
            {"method": "rolback"},
            r"unknown method 'rolback'; did you mean 'rollback'\? choose from ro",
        ),
        ({"role": "rival"}, "unknown role 'rival'"),
        ({"asks": "relation"}, "unknown asks 'relation'"),
        ({"tops": 3}, "unknown setting 'tops'; did you mean 'top'"),
        ({"relation": "embasy"}, "unknown relation 'embasy'"),
        ({"entity": "chin"}, "unknown entity 'chin'"),
    ],
)
def test_what_cannot_be_asked_is_said(
    nations: whereof.Run, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(whereof.WhereofError, match=message) as caught:
        nations.explain("egypt", "embassy", "usa", **options)
    assert len(str(caught.value).splitlines()) == 1


def test_ten_supporters_unless_asked_otherwise(nations: whereof.Run) -> None:
    assert ExplainOptions().top == 10
    every = nations.explain("egypt", "embassy", "usa", top=None).facts
    influences = [fact.influence for fact in every]
    listed = nations.explain("egypt", "embassy", "usa").facts
    assert [fact.fact_id for fact in listed] == [fact.fact_id for fact in every[:10]]
    support = nations.explain("egypt", "embassy", "usa", top="all").facts
    assert len(support) == sum(influence > 0 for influence in influences)
    oppose = nations.explain("egypt", "embassy", "usa", top="all", opposing=True).facts
    assert len(oppose) == sum(influence < 0 for influence in influences)
    assert [fact.influence for fact in oppose] == sorted(i for i in influences if i < 0)
    backwards = nations.explain("egypt", "embassy", "usa", top=None, opposing=True).facts
    assert [fact.influence for fact in backwards] == sorted(influences)


def test_both_signs_are_the_two_lists(nations: whereof.Run) -> None:
    asked, options = ("egypt", "embassy", "usa"), {"top": 4, "stability": True, "graph": True}
    both = nations.explain(*asked, opposing="both", **options)
    first, last = (nations.explain(*asked, opposing=it, **options) for it in (False, True))
    listed = [(fact.fact_id, fact.influence, fact.share) for fact in both.facts]
    each = [*first.facts, *last.facts]
    assert listed == [(fact.fact_id, fact.influence, fact.share) for fact in each]
    assert (both.stability, both.graph, both.groups) == (first.stability, first.graph, first.groups)
    every = nations.explain(*asked, opposing="both", top=None).facts
    assert every == nations.explain(*asked, top=None).facts
    with pytest.raises(whereof.WhereofError, match="opposing is 'all'; give true, false or both"):
        nations.explain(*asked, opposing="all")  # type: ignore[arg-type]


def test_a_run_without_a_trace_is_never_ready_for_rollback(tmp_path: Path) -> None:
    run = train(tmp_path / "run", trace=False)
    asked = ("egypt", "embassy", "usa")
    assert not run.is_ready(*asked, method="rollback")
    assert run.is_ready(*asked, method="gradient-dot")


def test_an_explanation_is_plain_values(nations: whereof.Run) -> None:
    options = {"stability": True, "graph": True, "without": [1, 2], "instead_of": "china"}
    document = nations.explain("egypt", "embassy", "usa", **options).to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == json.loads(json.dumps(document))
    plain = nations.explain("egypt", "embassy", "usa").to_dict()
    prediction = {"subject", "relation", "object", "probability", "rank"}
    assert prediction <= plain["prediction"].keys()
    fact = {"fact_id", "subject", "relation", "object", "role", "influence"}
    fact |= {"probability_without", "top_answer_changes"}
    assert fact <= plain["facts"][0].keys()
    assert {"method", "n_adjacent", "seconds"} <= plain.keys()


def test_a_table_of_pandas_has_one_row_a_fact(nations: whereof.Run) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    found = nations.explain("egypt", "embassy", "usa", top=4)
    table = found.to_pandas()
    assert table["fact_id"].tolist() == [fact.fact_id for fact in found.facts]
    assert table["influence"].tolist() == [fact.influence for fact in found.facts]


def test_influence_is_the_fall_of_the_probability(nations: whereof.Run) -> None:
    found = nations.explain("egypt", "embassy", "usa", top=None)
    for fact in found.facts:
        assert fact.probability_without is not None
        assert found.prediction.probability is not None
        fall = found.prediction.probability - fact.probability_without
        assert fact.influence == pytest.approx(fall, abs=1e-12)


def test_a_run_folder_without_the_index_explains_the_same(folder: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(folder, tmp_path / "old"))
    files = sorted(old.glob("adjacency-*.npy"))
    assert len(files) == 4
    for file in files:
        file.unlink()
    manifest = Manifest.read(old)
    kept = {name: about for name, about in manifest.files.items() if "adjacency" not in name}
    assert len(kept) == len(manifest.files) - 4
    replace(manifest, files=kept).write(old)
    wanted = whereof.Run.open(folder).explain("egypt", "embassy", "usa", top=None)
    found = whereof.Run.open(old).explain("egypt", "embassy", "usa", top=None)
    assert found.facts == wanted.facts
    assert found.prediction == wanted.prediction


def test_a_damaged_index_is_named(folder: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(folder, tmp_path / "broken"))
    (broken / "adjacency-entity-facts.npy").unlink()
    with pytest.raises(whereof.WhereofError, match=r"adjacency-entity-facts\.npy is missing"):
        whereof.Run.open(broken)


def test_a_trace_of_other_data_is_refused(folder: Path, tmp_path: Path) -> None:
    mixed = Path(shutil.copytree(folder, tmp_path / "mixed"))
    np.save(mixed / "trace.npy", np.load(mixed / "trace.npy")[:-1])
    manifest = Manifest.read(mixed)
    files = manifest.files | {"trace.npy": describe(mixed / "trace.npy")}
    replace(manifest, files=files).write(mixed)
    with pytest.raises(whereof.WhereofError, match="this run needs float32 of shape"):
        whereof.Run.open(mixed).explain("egypt", "embassy", "usa")


def test_explaining_imports_no_tables(folder: Path) -> None:
    code = (
        "import sys, whereof; "
        f"whereof.Run.open({str(folder)!r}).explain('egypt', 'embassy', 'usa', graph=True); "
        "print(*{'pyarrow', 'pandas', 'polars', 'matplotlib'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
