"""The method of docs/add-a-method.md works like ours."""

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trained import train

import whereof
from whereof import registry
from whereof.explain.method import Method, register

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-a-method.md"
EGYPT = ("egypt", "embassy", "usa")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> whereof.Run:
    return train(tmp_path_factory.mktemp("method") / "run", epochs=1)


@pytest.fixture
def method(monkeypatch: pytest.MonkeyPatch) -> Method:
    """The class of the page, registered for one test."""
    monkeypatch.setattr(registry, "_ADDED", {})
    scope: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)[0], scope)
    register(scope["METHOD"])
    return scope["METHOD"]


def test_the_page_names_every_need_and_ability() -> None:
    from whereof.explain.method import ABILITIES, NEEDS

    page = PAGE.read_text("utf-8")
    assert all(f"`{word}`" in page for word in [*NEEDS, *ABILITIES])


def test_it_explains_verifies_and_evaluates(run: whereof.Run, method: Method) -> None:
    found = run.explain(*EGYPT, method="nearest", top=None)
    assert len(found.facts) == found.n_adjacent
    data, rows = run.dataset, run.entity_rows.astype(np.float64)
    asked = np.concatenate([rows[data.entities.find("egypt")], rows[data.entities.find("usa")]])
    for fact in found.facts[::50]:
        s, _, o = data.train[fact.fact_id]
        vector = np.concatenate([rows[s], rows[o]])
        cosine = vector @ asked / np.linalg.norm(vector) / np.linalg.norm(asked)
        assert fact.influence == pytest.approx(cosine, abs=1e-5)
    (many,) = run.explain_many([EGYPT], method="nearest", top=3)
    assert many.facts == run.explain(*EGYPT, method="nearest", top=3).facts
    verdict = run.verify(*EGYPT, method="nearest", top=1, threads=1)
    assert verdict.facts[0].influence == found.facts[0].influence
    assert "nearest chose the facts; the estimate is by rollback" in verdict.notes
    judged = run.evaluate(methods="nearest", k=1, limit=2, protocols="removal", threads=1)
    assert {row.method for row in judged.retrainings} == {"nearest"}


def test_what_it_prepares_is_kept_in_the_run(run: whereof.Run, method: Method) -> None:
    assert run.path is not None
    (run.path / "prepared").exists() and [f.unlink() for f in (run.path / "prepared").iterdir()]
    calls: list[int] = []
    prepare = method.prepare

    def counted(trained: Any, predictions: Any, *rest: Any) -> Any:
        calls.append(len(predictions))
        return prepare(trained, predictions, *rest)

    method.prepare = counted  # type: ignore[method-assign]
    found = run.explain(*EGYPT, method="nearest")
    run.explain("uk", "embassy", "usa", method="nearest")
    again = whereof.Run.open(run.path).explain(*EGYPT, method="nearest")
    assert calls == [1]
    assert again.facts == found.facts
    (file,) = (run.path / "prepared").iterdir()
    kept = np.load(file)
    assert kept is not None
    assert kept["facts"].shape == (run.dataset.n_facts, 2 * run.entity_rows.shape[1])
    file.write_bytes(b"damaged")
    assert whereof.Run.open(run.path).explain(*EGYPT, method="nearest").facts == found.facts
    assert len(calls) == 2


def test_work_for_some_predictions_is_done_once_for_all(run: whereof.Run, method: Method) -> None:
    """Each prediction gets its own part; what is stored is not computed again."""
    seen: list[Any] = []
    prepare, method.prepares = method.prepare, "predictions"

    def each(trained: Any, predictions: Any, *rest: Any) -> Any:
        seen.append(predictions)
        facts = prepare(trained, predictions, *rest)["facts"]
        return {"facts": np.stack([facts] * len(predictions))}

    method.prepare = each  # type: ignore[method-assign]
    asked = [EGYPT, ("nowhere", "embassy", "usa"), ("uk", "embassy", None)]
    found = list(run.explain_many(asked, method="nearest", threads=2))
    assert [len(each) for each in seen] == [2]
    assert isinstance(found[1], whereof.Failed)
    list(run.explain_many([*asked, ("china", "embassy", "usa")], method="nearest"))
    assert [len(each) for each in seen] == [2, 1]


def test_an_installed_package_adds_it_by_entry_point(
    tmp_path: Path, run: whereof.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text("utf-8")
    (tmp_path / "nearest_page.py").write_text(re.findall(r"```python\n(.*?)```", page, re.S)[0])
    monkeypatch.syspath_prepend(tmp_path)
    assert 'nearest = "my_package.nearest:METHOD"' in page
    point = EntryPoint("nearest", "nearest_page:METHOD", registry.METHODS)
    monkeypatch.setattr(registry, "_installed", lambda group: {"nearest": point})
    try:
        assert run.explain(*EGYPT, method="nearest").method == "nearest"
    finally:
        sys.modules.pop("nearest_page", None)
