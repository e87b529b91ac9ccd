"""Files that a command writes: what --force overwrites, and what it never does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from trained import train

import whereof
from whereof.run import files
from whereof.run.files import write_text


def test_force_writes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "new", force=True)
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_force_keeps_the_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new", force=True)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(whereof.WhereofError, match="is a device or a pipe; name a file"):
        write_text(tmp_path / "pipe", "new", force=True)
    assert (tmp_path / "pipe").is_fifo()


def test_a_command_overwrites_neither_its_input_nor_a_run(tmp_path: Path) -> None:
    run = train(tmp_path / "run", epochs=1)
    queries = tmp_path / "queries.tsv"
    queries.write_text("egypt\tembassy\n")
    (tmp_path / "link.tsv").symlink_to(queries)
    for out in (queries, tmp_path / "link.tsv"):
        with pytest.raises(whereof.WhereofError, match="is read by this command"):
            run.predict_file(queries, out, force=True)
        with pytest.raises(whereof.WhereofError, match="is read by this command"):
            run.explain_file(queries, out, force=True)
    assert queries.read_text() == "egypt\tembassy\n"
    run.verify("egypt", "embassy", "usa", method="rollback")
    (tmp_path / "run" / "siblings" / "mine").mkdir(parents=True)
    (tmp_path / "run" / "siblings" / "mine" / "notes.txt").write_text("mine")
    own = [file for file in (tmp_path / "run").rglob("*") if file.is_file()]
    assert {".checked.json", "manifest.json", "trace.npy", "notes.txt"} <= {it.name for it in own}
    assert any(file.parent.name == "retrained" for file in own)
    for name in own:
        with pytest.raises(whereof.WhereofError, match="belongs to the run"):
            run.report(name, force=True)
    run.report(tmp_path / "run" / "report.html")
    run.report(tmp_path / "run" / "report.html", force=True)
    assert whereof.Run.open(tmp_path / "run").fingerprint == run.fingerprint


@pytest.mark.parametrize(
    "text", ["[]", '{"files": null}', '{"files": ["out.txt"]}', "no JSON", '"whereof"', "\0"]
)
def test_manifests_of_other_programs_protect_nothing(tmp_path: Path, text: str) -> None:
    for name in ("manifest.json", "out.txt"):
        (tmp_path / name).write_text(text)
        write_text(tmp_path / name, text, force=True)


class Windows:
    """What locks of Windows do: a byte of a file belongs to one open file, until it is closed."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], int] = {}

    def locking(self, file: int, mode: int, n_bytes: int) -> None:
        assert (mode, n_bytes) == (self.LK_NBLCK, 1)
        byte = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        assert byte[1] > os.fstat(file).st_size  # others can read and write the file
        # The same number again: the file was closed, and its number was free.
        if self._held.get(byte, file) != file and self._is_open(*byte):
            raise PermissionError(13, "Permission denied")
        self._held[byte] = file

    def _is_open(self, inode: int, at: int) -> bool:
        try:
            return os.fstat(self._held[inode, at]).st_ino == inode
        except OSError:
            return False


def test_windows_keeps_two_processes_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", Windows())
    path = tmp_path / ".lock"
    with files.lock(path):
        assert files.is_held(path)
        with pytest.raises(whereof.WhereofError, match="being trained by another process"):
            files.lock(path)
    assert not files.is_held(path)
    files.lock(path).close()


WRITER = """
import os, sys
from pathlib import Path
from whereof.run.files import draft_of
with draft_of(Path(sys.argv[1]), folder=len(sys.argv) > 2) as draft:
    (draft / "part" if draft.is_dir() else draft).write_text("half")
    print(draft.name, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows cannot say whether a process lives")
@pytest.mark.parametrize("folder", [(), ("folder",)])
def test_drafts_of_killed_processes_are_removed(tmp_path: Path, folder: tuple[str]) -> None:
    def begin(name: str) -> tuple[subprocess.Popen[str], Path]:
        command = [sys.executable, "-c", WRITER, str(tmp_path / name), *folder]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        writer = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]
        return writer, tmp_path / writer.stdout.readline().strip()

    with begin("killed")[0] as killed, begin("alive")[0] as alive:
        killed.kill()
        killed.wait()
        drafts = {file.name.split("-")[0]: file for file in tmp_path.iterdir()}
        assert drafts.keys() == {".killed", ".alive"}
        write_text(tmp_path / "other.txt", "new")
        assert not drafts[".killed"].exists()
        assert drafts[".alive"].exists()
        alive.communicate()
    assert {file.name for file in tmp_path.iterdir()} == {"alive", "other.txt"}
