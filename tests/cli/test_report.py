"""`whereof report` as a user types it."""

import json
import re
import shlex
import shutil
from html import unescape
from pathlib import Path

import pytest
from evaluate.documents import FULL, document
from present.pages import read_page
from trained import outcome, train, train_ratings

from cli.helpers import whereof
from whereof import Run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    train(folder / "run")
    train(folder / "untraced", trace=False)
    (folder / "ratings").mkdir()
    train_ratings(folder / "ratings", 3)
    (folder / "evaluation.json").write_text(json.dumps(document()))
    return folder


def test_a_run_alone_has_a_page_with_examples(folder: Path) -> None:
    done = whereof("report", "run", "-o", "alone.html", "--examples", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "alone.html is written\n"
    found = read_page((folder / "alone.html").read_text())
    assert {"distmult on nations", "Metrics", "Training", "Examples"} <= {*found.headings}
    last = found.headings[found.headings.index("Examples") + 1 : found.headings.index("Metrics")]
    assert len(last) == len({*last}) == 2
    assert "This run has not been evaluated" in found.text


def test_evaluations_come_from_the_run_and_from_files(folder: Path) -> None:
    kept = folder / "run" / "evaluations"
    kept.mkdir()
    (kept / "a.json").write_text(json.dumps(document(n_predictions=77)))
    try:
        done = whereof(
            *("report", "run", "-o", "both.html", "--examples", "0", "--json"),
            *("--evaluation", "evaluation.json"),
            cwd=folder,
        )
    finally:
        (kept / "a.json").unlink()
        kept.rmdir()
    assert json.loads(done.stdout) == {"report": "both.html"}
    found = read_page((folder / "both.html").read_text())
    assert {"Evaluation 1", "Evaluation 2"} <= {*found.headings}
    own, given = (found.text.index(f"{n} predictions each (top") for n in (77, 143))
    assert own < given
    assert "Examples" not in found.headings


def test_a_kept_evaluation_of_another_version_is_left_out_and_noted(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "run", tmp_path / "run")
    kept = tmp_path / "run" / "evaluations"
    kept.mkdir()
    old = document()
    del old["removal"][0]["tc_released"]
    (kept / "old.json").write_text(json.dumps(old))
    (kept / "torn.json").write_text("{")
    (kept / "whole.json").write_text(json.dumps(document(n_predictions=77)))
    done = whereof("report", "run", "--examples", "0", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"report": "report.html"}
    first, second = sorted(done.stderr.splitlines())
    assert (
        "old.json: removal: Object missing required field `tc_released` - at `$[0]`; evaluate again"
        in first
    )
    assert "torn.json is not JSON" in second
    found = read_page((tmp_path / "report.html").read_text())
    assert "Evaluation" in found.headings
    assert "77 predictions" in found.text
    assert found.text.count("evaluate again") == 2
    named = whereof(
        *("report", "run", "--evaluation", str(kept / "old.json"), "-o", "other.html"), cwd=tmp_path
    )
    assert named.returncode == 2
    assert not (tmp_path / "other.html").exists()


@pytest.mark.parametrize("made", ["run", "ratings/run"])
def test_the_command_on_the_page_trains_the_same_run(
    folder: Path, tmp_path: Path, made: str
) -> None:
    whereof("report", made, "-o", str(tmp_path / "r.html"), "--examples", "0", cwd=folder)
    html = (tmp_path / "r.html").read_text()
    assert '<span class="whole">--model</span>' in html  # lines do not break inside of it
    found = re.search(r"<pre><code>whereof (train .*)", re.sub(r"</?span[^>]*>", "", html))
    assert found
    *arguments, _ = shlex.split(unescape(found[1]))
    done = whereof(*arguments, str(tmp_path / "again"))
    assert done.returncode == 0, done.stderr
    assert outcome(tmp_path / "again") == outcome(folder / made)


def test_a_file_that_exists_is_kept_unless_forced(folder: Path) -> None:
    (folder / "report.html").write_text("mine")
    done = whereof("report", "run", "--examples", "0", cwd=folder)
    assert done.returncode == 2
    assert "report.html exists" in done.stderr
    assert (folder / "report.html").read_text() == "mine"
    assert whereof("report", "run", "--examples", "0", "--force", cwd=folder).returncode == 0
    assert read_page((folder / "report.html").read_text()).headings


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere",), "nowhere"),
        (("run", "--examples", "-1"), "examples is -1; give a number from 0 on"),
        (("run", "--evaluation", "none.json"), "none.json: No such file"),
        (("run", "--evaluation", "run/manifest.json"), "got `object` - at `$.dataset`"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    done = whereof("report", *arguments, "-o", "bad.html", cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "bad.html").exists()


@pytest.mark.parametrize("name", ["page.pdf", "page"])
def test_other_endings_are_refused(folder: Path, name: str) -> None:
    done = whereof("report", "run", "-o", name, cwd=folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    ending = Path(name).suffix
    assert f"{name}: unknown ending {ending!r}; choose from .html, .htm, .md" in done.stderr
    assert not (folder / name).exists()


def test_a_run_without_a_trace_says_why_nothing_is_explained(folder: Path) -> None:
    assert whereof("report", "untraced", "-o", "untraced.html", cwd=folder).returncode == 0
    found = read_page((folder / "untraced.html").read_text())
    assert "trained without a trace" in found.text
    assert "Examples" not in found.headings


def test_ratings_have_a_page(folder: Path, tmp_path: Path) -> None:
    run = Run.open(folder / "ratings" / "run")
    path = run.report(tmp_path / "r.html", evaluations=[document(), FULL])
    found = read_page(path.read_text())
    assert "Evaluation 2" in found.headings
    assert "mf-biased on ratings" in found.headings
    assert "The new answers with the highest rating, and the ratings behind them." in found.text
    assert "Examples" in found.headings
