"""Downloads: complete, checked and recorded, or nothing."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from listening import Recorded
from servers import serving

from whereof.data.catalogue import CATALOGUE, Entry, File, find_folder
from whereof.data.download import fetch
from whereof.data.read import read_dataset
from whereof.errors import WhereofError
from whereof.events import Downloading, Event, Events

FACTS = b"a\tr\tb\nb\tr\tc\n"
SHA256 = hashlib.sha256(FACTS).hexdigest()


def entry(*files: File) -> Entry:
    sizes = {"n_facts": 2, "n_valid": 0, "n_test": 0, "n_entities": 3, "n_relations": 1}
    return replace(CATALOGUE["umls"], name="little", files=files, **sizes)


def tar(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zipped(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no data folder."""
    monkeypatch.setenv("WHEREOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WHEREOF_DATA", raising=False)
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.txt", FACTS),
        ("all.tar.gz", tar({"some/folder/train.txt": FACTS, "more.txt": b""})),
        ("all.zip", zipped({"folder/": b"", "folder/train.txt": FACTS})),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_whatever_the_packing_the_plain_file_is_kept(
    name: str, content: bytes, cache: Path
) -> None:
    with serving({name: content}) as address:
        folder = fetch(entry(File("train.txt", f"{address}/{name}", SHA256)), cache)
    assert folder == cache / "little"
    assert (folder / "train.txt").read_bytes() == FACTS
    assert {path.name for path in folder.iterdir()} == {"train.txt", "checksums.json"}
    assert list(cache.iterdir()) == [folder]


def test_several_files_of_several_addresses(cache: Path) -> None:
    archive = tar({"train.txt": FACTS, "relation2text.txt": b"r\tknows\n"})
    with serving({"all.tar.gz": archive, "labels": b"a\tAlice\n"}) as address:
        files = [File(name, f"{address}/all.tar.gz") for name in ("train.txt", "relation2text.txt")]
        folder = fetch(entry(*files, File("entity2text.txt", f"{address}/labels")), cache)
    dataset = read_dataset(folder)
    assert (dataset.entities.label(0), dataset.relations.label(0)) == ("Alice", "knows")


def test_progress_is_told_to_the_end(cache: Path) -> None:
    told = Recorded()
    with serving({"train.txt": FACTS}) as address:
        url = f"{address}/train.txt"
        fetch(entry(File("train.txt", url)), cache, told)
    assert told.events[-1] == Downloading(url, len(FACTS), len(FACTS))


def refused(bad: Entry, cache: Path) -> str:
    """The error message of a failed download, which leaves nothing behind."""
    with pytest.raises(WhereofError) as error:
        fetch(bad, cache)
    assert list(cache.iterdir()) == []
    line = str(error.value)
    assert "\n" not in line
    assert "nothing was kept" in line
    assert "--data-dir DIR or WHEREOF_DATA=DIR" in line
    return line


def test_a_download_cut_in_the_middle(cache: Path) -> None:
    with serving({"train.txt": FACTS}, missing_bytes=100) as address:
        line = refused(entry(File("train.txt", f"{address}/train.txt")), cache)
    assert f"cut off after {len(FACTS)} of {len(FACTS) + 100} bytes" in line


def test_an_altered_download(cache: Path) -> None:
    altered = FACTS.replace(b"c", b"d")
    with serving({"train.txt": altered}) as address:
        line = refused(entry(File("train.txt", f"{address}/train.txt", SHA256)), cache)
    assert hashlib.sha256(altered).hexdigest()[:16] in line
    assert SHA256[:16] in line


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train.txt", b"<html>\n", "train.txt has 1 lines, expected 2"),
        ("all.tar.gz", tar({"train.txt": FACTS})[:60], "damaged"),
        ("all.tar.gz", b"<html>", "damaged"),
        ("all.tar.gz", tar({"other.txt": FACTS}), "no train.txt in the archive"),
        ("all.zip", b"<html>", "damaged"),
        ("all.zip", zipped({"other.txt": FACTS}), "no train.txt in the archive"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_download_that_is_something_else(
    name: str, content: bytes, words: str, cache: Path
) -> None:
    with serving({name: content}) as address:
        assert words in refused(entry(File("train.txt", f"{address}/{name}")), cache)


@pytest.mark.parametrize("name", ["train.txt", "all.tar.gz", "all.zip"])
def test_a_download_that_is_too_large(
    name: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = b"a\tr\tb\n" * 10_000
    packed = {
        "train.txt": plain,
        "all.tar.gz": tar({"train.txt": plain}),
        "all.zip": zipped({"train.txt": plain}),
    }
    monkeypatch.setattr("whereof.data.download.LARGEST", 50_000)
    with serving(packed) as address:
        line = refused(entry(File("train.txt", f"{address}/{name}")), cache)
    assert "more than 50,000 bytes" in line


def test_labels_that_are_something_else(cache: Path) -> None:
    convert = CATALOGUE["codex-s"].files[-1].convert
    with serving({"labels.json": b'{"P1": "a label"}'}) as address:
        labels = File("relation2text.txt", f"{address}/labels.json", convert=convert)
        assert "cannot extract the labels" in refused(entry(labels), cache)


def test_a_file_that_is_not_there_and_a_server_that_is_not_there(cache: Path) -> None:
    with serving({}) as address:
        missing = entry(File("train.txt", f"{address}/train.txt"))
        assert "HTTP 404 Not Found" in refused(missing, cache)
    assert "the download failed" in refused(missing, cache)


def test_members_that_lead_out_of_the_archive_are_only_read(cache: Path, tmp_path: Path) -> None:
    with serving({"all.tar.gz": tar({"../../train.txt": FACTS})}) as address:
        folder = fetch(entry(File("train.txt", f"{address}/all.tar.gz")), cache)
    assert (folder / "train.txt").read_bytes() == FACTS
    assert sorted(tmp_path.rglob("train.txt")) == [folder / "train.txt"]


def test_an_interrupted_download_leaves_nothing(cache: Path) -> None:
    class Interrupt(Events):
        def emit(self, event: Event) -> None:
            raise KeyboardInterrupt

    with serving({"train.txt": FACTS}) as address, pytest.raises(KeyboardInterrupt):
        fetch(entry(File("train.txt", f"{address}/train.txt")), cache, Interrupt())
    assert list(cache.iterdir()) == []


KILLED = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from whereof.data.catalogue import CATALOGUE, File
from whereof.data.download import fetch
from whereof.events import Events

class Kill(Events):
    def emit(self, event):
        os.kill(os.getpid(), signal.SIGKILL)

ours = replace(CATALOGUE["umls"], name="little", files=(File("train.txt", sys.argv[1]),))
fetch(ours, Path(sys.argv[2]), Kill())
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows cannot say whether a process lives")
def test_the_next_download_removes_the_draft_of_a_killed_one(cache: Path) -> None:
    with serving({"train.txt": FACTS}) as address:
        url = f"{address}/train.txt"
        killed = subprocess.run([sys.executable, "-c", KILLED, url, str(cache)], check=False)
        assert killed.returncode == -signal.SIGKILL
        (draft,) = cache.iterdir()
        assert draft.name.startswith(".little-")
        folder = fetch(entry(File("train.txt", url)), cache)
    assert list(cache.iterdir()) == [folder]


def test_the_faster_of_two_downloads_stays(cache: Path) -> None:
    with serving({"train.txt": FACTS}) as address:
        ours = entry(File("train.txt", f"{address}/train.txt"))

        class Race(Events):
            def emit(self, event: Event) -> None:
                fetch(ours, cache)

        folder = fetch(ours, cache, Race())
    assert list(cache.iterdir()) == [folder]
    assert (folder / "train.txt").read_bytes() == FACTS


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        serving({"train.txt": FACTS}) as address,
        pytest.raises(WhereofError, match="WHEREOF_CACHE"),
    ):
        fetch(entry(File("train.txt", f"{address}/train.txt")), tmp_path / "file")


def fetched(cache: Path) -> Entry:
    """A cached dataset whose server is gone."""
    with serving({"train.txt": FACTS}) as address:
        ours = entry(File("train.txt", f"{address}/train.txt"))
        assert find_folder(ours) == cache / "little"
    return ours


def test_a_second_use_needs_no_network(cache: Path) -> None:
    assert find_folder(fetched(cache)) == cache / "little"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / "train.txt").write_bytes(b"a\tr\tc\n"), "train.txt: changed"),
        (lambda folder: (folder / "train.txt").unlink(), "damaged"),
        (lambda folder: (folder / "checksums.json").unlink(), "damaged"),
        (lambda folder: (folder / "checksums.json").write_text("{}"), "damaged"),
        (lambda folder: (folder / "checksums.json").write_text("[]"), "damaged"),
    ],
)
def test_a_cached_file_is_checked_against_its_record(
    damage: Callable[[Path], object], words: str, cache: Path
) -> None:
    ours = fetched(cache)
    damage(cache / "little")
    with pytest.raises(WhereofError, match=words) as error:
        find_folder(ours)
    assert f"delete {cache / 'little'} to fetch the dataset again" in str(error.value)
