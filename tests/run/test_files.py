"""Files that a command writes: what --force overwrites, and what it never does."""

import os
from pathlib import Path

import pytest
from trained import train

import whereof
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
    for name in ("manifest.json", "trace.npy"):
        with pytest.raises(whereof.WhereofError, match="belongs to the run"):
            run.report(tmp_path / "run" / name, force=True)
    run.report(tmp_path / "run" / "report.html")
    run.report(tmp_path / "run" / "report.html", force=True)
    assert whereof.Run.open(tmp_path / "run").fingerprint == run.fingerprint
