"""The examples run, and so does the code on the pages about PyTorch and PyKEEN."""

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra torch: make test-integrations")
ROOT = Path(__file__).parents[2]
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


EXAMPLES = [
    path for path in sorted((ROOT / "examples").glob("*.py")) if "torch" in path.read_text()
]
"""Others are run by tests/test_examples.py."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda it: it.stem)
def test_examples_run(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    said = capsys.readouterr().out
    assert "without it an estimated" in said
    assert "really falls from" in said or "really rises from" in said


@pytest.mark.filterwarnings("default")  # of PyKEEN
@pytest.mark.parametrize("page", ["torch", "pykeen"])
def test_the_code_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page == "pykeen":
        pytest.importorskip("pykeen", reason="needs the extra pykeen: make test-integrations")
    monkeypatch.chdir(tmp_path)
    blocks = _PYTHON.findall((ROOT / "docs" / f"{page}.md").read_text("utf-8"))
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


def test_a_loop_needs_three_lines() -> None:
    """Lines of the first loop of the page that speak of the tracker, without the import."""
    loop = _PYTHON.findall((ROOT / "docs" / "torch.md").read_text("utf-8"))[0]
    tracked = [line for line in loop.splitlines() if "tracker" in line]
    assert len(tracked) == 3
    assert tracked[1].strip().startswith("tracker.step(")
