"""The demo prints commands in the form in which the user can call them."""

import os
from pathlib import Path

import pytest

from whereof.cli.demo import _program as program


@pytest.mark.skipif(os.name == "nt", reason="programs are found as on POSIX")
def test_the_program_is_called_as_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / ".venv" / "bin" / "whereof"
    script.parent.mkdir(parents=True)
    script.touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(script)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == str(script.relative_to(tmp_path))
    monkeypatch.setattr("sys.argv", [str(tmp_path / "whereof" / "__main__.py")])
    assert program() == "python -m whereof"
    monkeypatch.setenv("PATH", str(script.parent))
    assert program() == "whereof"
