"""A full disk: one line that names the file, and finished work is kept."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from trained import train

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits file sizes")


def limit_size() -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_explanations_name_the_file_and_go_on_later(tmp_path: Path, ending: str) -> None:
    train(tmp_path / "run", epochs=1)
    work = [sys.executable, "-m", "whereof", "explain", str(tmp_path / "run")]
    work += ["--predictions", "true", "--method", "rollback", "-o"]
    out = tmp_path / f"e.{ending}"
    full = subprocess.run([*work, str(out)], preexec_fn=limit_size, capture_output=True, text=True)
    assert full.returncode == 2
    message = full.stderr.splitlines()[-1]
    assert message.startswith(f"whereof: cannot write {tmp_path}/.e.{ending}.unfinished: ")
    assert "Traceback" not in full.stderr
    assert not out.exists()
    done = subprocess.run([*work, str(out)], capture_output=True, text=True, check=True)
    assert "of them before" in done.stdout
    subprocess.run([*work, str(tmp_path / f"w.{ending}")], check=True, capture_output=True)
    assert out.read_bytes() == (tmp_path / f"w.{ending}").read_bytes()
    assert not list(tmp_path.glob(".*"))
