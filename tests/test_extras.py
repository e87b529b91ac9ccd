"""Optional packages: a one-line error if missing, no import if not needed."""

import subprocess
import sys
from pathlib import Path

import pytest

import whereof
from whereof.errors import need


def test_a_missing_package_is_said_with_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    (tmp_path / "facts.ttl").write_bytes(b"")
    with pytest.raises(whereof.WhereofError) as caught:
        whereof.read(tmp_path / "facts.ttl")
    wanted = 'reading RDF requires pyoxigraph; install it with: pip install "whereof[rdf]"'
    assert str(caught.value) == wanted


def test_a_package_that_does_not_import_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_one.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(whereof.WhereofError) as caught:
        need("broken_one", "rdf", "reading")
    wanted = (
        "reading requires broken_one, which cannot be imported (division by zero); install it again"
    )
    assert str(caught.value) == wanted


def test_training_imports_none_of_them(tmp_path: Path) -> None:
    code = (
        "import sys, whereof; whereof.train('nations', out='run', epochs=1, dim=2); "
        "print(*{'fastapi', 'pydantic', 'pyoxigraph', 'pandas', 'polars'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
