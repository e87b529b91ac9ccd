"""Optional packages: said in one line when missing, not imported when not needed."""

import subprocess
import sys
from pathlib import Path

import pytest

import whereof
from whereof._extras import need


@pytest.mark.parametrize(
    ("package", "name", "message"),
    [
        (
            "pyarrow",
            "facts.parquet",
            "reading Parquet needs pyarrow; pip install pyarrow, or Whereof with its extra parquet",
        ),
        (
            "pyoxigraph",
            "facts.ttl",
            "reading RDF needs pyoxigraph; pip install pyoxigraph, or Whereof with its extra rdf",
        ),
    ],
)
def test_a_missing_package_is_said_with_how_to_get_it(
    package: str, name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(whereof.WhereofError) as caught:
        whereof.read(tmp_path / name)
    assert str(caught.value) == message


def test_a_package_that_does_not_import_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_one.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(whereof.WhereofError) as caught:
        need("broken_one", "parquet", "reading")
    wanted = "reading needs broken_one, which does not import (division by zero); install it anew"
    assert str(caught.value) == wanted


def test_training_imports_none_of_them(tmp_path: Path) -> None:
    code = (
        "import sys, whereof; whereof.train('nations', out='run', epochs=1, dim=2); "
        "print(*{'pyarrow', 'pydantic', 'pyoxigraph', 'pandas', 'polars'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
