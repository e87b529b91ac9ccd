"""Documents of evaluations: taken as they are written, refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.report.documents import document
from whereof.errors import WhereofError
from whereof.report import read_evaluation


def saved(path: Path, made: Any) -> Path:
    path.write_text(json.dumps(made))
    return path


def test_a_document_comes_back(tmp_path: Path) -> None:
    assert read_evaluation(saved(tmp_path / "e.json", document())) == document()


def test_sections_that_are_not_there_are_no_harm(tmp_path: Path) -> None:
    made = document()
    del made["kelpie"], made["theory"], made["notes"]
    assert read_evaluation(saved(tmp_path / "e.json", made)) == made


def _changed(name: str, key: str | None, value: Any) -> dict[str, Any]:
    made = document()
    if key is None:
        made[name] = value
    else:
        made[name][0][key] = value
    return made


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ([1], "is no evaluation, but [1]"),
        ({"run": "x"}, "dataset is missing"),
        (_changed("removal", None, 3), "removal is 3, not a list"),
        (_changed("removal", None, [{"method": "rollback"}]), "removal[0]: k is missing"),
        (_changed("removal", "pd", "much"), "removal[0]: pd is 'much'"),
        (_changed("removal", "pd_interval", [0.1]), "pd_interval has 1 values, not 2"),
        (_changed("removal", "k", []), "removal[0]: k is []"),
        (_changed("approximation", "points", [[0.1, "x", 0.2]]), "points[0][1] is 'x'"),
        (_changed("theory", None, 7), "theory is no evaluation"),
        (_changed("seeds", None, [True]), "seeds[0] is True"),
        (_changed("explain_seconds", None, [1]), "explain_seconds is [1]"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, made: Any, words: str) -> None:
    path = saved(tmp_path / "e.json", made)
    with pytest.raises(WhereofError) as caught:
        read_evaluation(path)
    message = str(caught.value)
    assert words in message
    assert message.startswith(str(path))
    assert message.endswith("give what `whereof evaluate --json` gives")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(WhereofError, match="No such file"):
        read_evaluation(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(WhereofError, match=r"bad\.json is no JSON"):
        read_evaluation(tmp_path / "bad.json")
