"""Download datasets into the cache, completely and checked, or not at all."""

import hashlib
import http.client
import json
import shutil
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from whereof._version import __version__
from whereof.data.catalogue import Entry, File
from whereof.drafts import draft_name, remove_drafts
from whereof.errors import WhereofError
from whereof.events import Downloading, Events

LARGEST: Final = 1 << 30
"""Limit in bytes, far above every file of the catalogue: a small archive can unpack to any size."""
_RECORD: Final = "checksums.json"


class DownloadError(Exception):
    """A download failed or has unexpected content."""


def fetch(entry: Entry, cache: Path, events: Events | None = None) -> Path:
    """Download all files of a dataset; its folder appears in the cache when it is complete."""
    # The draft is inside the cache, so that renaming it is atomic.
    folder = cache / entry.name
    draft = draft_name(folder)
    remove_drafts(cache)
    try:
        draft.mkdir(parents=True)
        for url in dict.fromkeys(file.url for file in entry.files):
            _fetch_files([file for file in entry.files if file.url == url], entry, draft, events)
        sums = {file.name: _sha256(draft / file.name) for file in entry.files}
        (draft / _RECORD).write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")
        draft.rename(folder)
    except DownloadError as error:
        raise WhereofError(
            f"{url}: {error}; nothing was kept: try again, or put the files of {entry.name} into "
            f"DIR/{entry.name} and say --data-dir DIR or WHEREOF_DATA=DIR"
        ) from None
    except OSError as error:
        if not folder.is_dir():  # another process may have been faster
            raise WhereofError(
                f"cannot write {cache}: {error.strerror or error}; "
                "make room, or choose another folder with WHEREOF_CACHE"
            ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def check_files(entry: Entry, folder: Path) -> None:
    """Raise an error if a cached dataset was changed since its download."""
    remedy = f"delete {folder} to fetch the dataset again"
    try:
        recorded = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        for file in entry.files:
            path, expected = folder / file.name, file.sha256 or recorded[file.name]
            if (found := _sha256(path)) != expected:
                sums = f"SHA-256 {found[:16]}..., expected {expected[:16]}..."
                raise WhereofError(f"{path}: changed since it was fetched: {sums}; {remedy}")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise WhereofError(f"{folder}: damaged ({error}); {remedy}") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch_files(files: list[File], entry: Entry, draft: Path, events: Events | None) -> None:
    url, download = files[0].url, draft / "download"
    with download.open("wb") as stream:
        stream.writelines(_read(url, events))
    for file in files:
        try:
            content = _unpack(download, url, file.name)
            if file.convert:
                content = convert_labels(content, file.convert)
            _check(content, file, entry)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise DownloadError(f"cannot extract the labels ({error!r})") from None
        (draft / file.name).write_bytes(content)
    download.unlink()


def _read(url: str, events: Events | None) -> Iterator[bytes]:
    """Download the bytes of a URL in chunks; check their number against the server's."""
    assert url.startswith(("https://", "http://"))
    request = urllib.request.Request(url, headers={"User-Agent": f"whereof/{__version__}"})
    done = 0
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            length = response.headers["Content-Length"]
            total = int(length) if length else None
            while chunk := response.read(1 << 16):
                done += len(chunk)
                if done > LARGEST:
                    raise DownloadError(f"more than {LARGEST:,} bytes")
                if events is not None:
                    events.emit(Downloading(url, done, total))
                yield chunk
    except urllib.error.HTTPError as error:
        with error:
            raise DownloadError(f"HTTP {error.code} {error.reason}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(f"the download failed ({reason})") from None
    if total is not None and done < total:
        raise DownloadError(f"cut off after {done:,} of {total:,} bytes")


def _unpack(download: Path, url: str, name: str) -> bytes:
    """The content of a download; for an archive, of the file with this name.

    Archive members are found by the last part of their path and are only read, so paths in an
    archive have no effect.
    """
    try:
        if url.endswith(".zip"):
            with zipfile.ZipFile(download) as packed:
                return _read_member(packed.namelist(), packed.open, name)
        if url.endswith(".tar.gz"):
            with tarfile.open(download, "r:gz") as archive:
                return _read_member(archive.getnames(), archive.extractfile, name)
        return download.read_bytes()
    # zipfile raises RuntimeError for encrypted files and unknown compression.
    except (EOFError, OSError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as e:
        raise DownloadError(f"damaged ({e})") from None


def _read_member(
    paths: list[str], open_file: Callable[[str], IO[bytes] | None], name: str
) -> bytes:
    found = [path for path in paths if PurePosixPath(path).name == name]
    file = open_file(found[0]) if found else None
    if file is None:
        raise DownloadError(f"no {name} in the archive")
    with file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DownloadError(f"more than {LARGEST:,} bytes")
    return content


def convert_labels(content: bytes, kind: str) -> bytes:
    """Lines of name, TAB, label; names without a label are skipped.

    kind: "json" for an object of name -> {"label": label, ...}; "before comma" for lines of name,
    TAB, label, comma, description.
    """
    if kind == "json":
        labels = {name: about["label"] for name, about in json.loads(content).items()}
    else:
        cells = (line.partition("\t") for line in content.decode().splitlines())
        labels = {name: text.partition(",")[0] for name, _, text in cells}
    tidy = {name: " ".join(label.split()) for name, label in labels.items()}
    return "".join(f"{name}\t{label}\n" for name, label in tidy.items() if label).encode()


def _check(content: bytes, file: File, entry: Entry) -> None:
    """Raise an error if a file does not have the known checksum or size."""
    found = hashlib.sha256(content).hexdigest()
    if found != (known := file.sha256 or found):
        sums = f"SHA-256 {found[:16]}..., expected {known[:16]}..."
        raise DownloadError(f"{file.name} is not the expected file: {sums}")
    sizes = {"train.txt": entry.n_facts, "valid.txt": entry.n_valid, "test.txt": entry.n_test}
    n_lines, expected = len(content.splitlines()), sizes.get(file.name)
    if expected is not None and n_lines != expected:
        raise DownloadError(f"{file.name} has {n_lines:,} lines, expected {expected:,}")
