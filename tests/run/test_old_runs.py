"""Runs written under the project's first name still open."""

import shutil
from pathlib import Path

import whereof

_OLD = Path(__file__).parents[1] / "fixtures" / "whence-run"


def test_a_run_written_as_whence_opens_and_answers(tmp_path: Path) -> None:
    run = whereof.Run.open(shutil.copytree(_OLD, tmp_path / "run"), check=True)
    assert run.info()["whereof"] == "0.1.0"
    assert run.predict("usa", "embassy").answers
    assert run.explain("netherlands", "relbooktranslations", "usa", top=1).facts
    assert run.verify("netherlands", "relbooktranslations", "usa", top=1).actual.rank >= 1


def test_an_old_run_retrains_with_sums_from_0(tmp_path: Path) -> None:
    run = whereof.Run.open(shutil.copytree(_OLD, tmp_path / "run"))
    assert "accumulator" not in run.manifest.config
    assert run.config.accumulator == 0
    assert run.manifest.search is None
