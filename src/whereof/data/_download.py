"""Fetching a dataset into the cache: whole and checked, or not at all."""

import hashlib
import http.client
import secrets
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from whereof._version import __version__
from whereof.data._cache import write_checksums
from whereof.data._entry import Entry, File
from whereof.data._unpack import LARGEST, DownloadError, unpack
from whereof.errors import WhereofError
from whereof.events import Downloading, Events

_SECONDS: Final = 30
"""Without a byte, after which a server is given up."""
_CHUNK: Final = 1 << 16


def fetch(entry: Entry, cache: Path, events: Events | None = None) -> Path:
    """Download all files of a dataset; its folder appears in the cache once they are there."""
    # In the cache itself, so that moving the draft to its name is one step.
    draft = cache / f".{entry.name}-{secrets.token_hex(4)}"
    try:
        draft.mkdir(parents=True)
        for url in dict.fromkeys(file.url for file in entry.files):
            _fetch_files([file for file in entry.files if file.url == url], entry, draft, events)
        write_checksums(entry, draft)
        return _move(draft, cache / entry.name)
    except DownloadError as error:
        raise WhereofError(
            f"{error}; nothing was kept: try again, or put the files of {entry.name} into "
            f"DIR/{entry.name} and say --data-dir DIR or WHEREOF_DATA=DIR"
        ) from None
    except OSError as error:
        raise WhereofError(
            f"cannot write {cache}: {error.strerror or error}; "
            "make room, or choose another folder with WHEREOF_CACHE"
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _move(draft: Path, folder: Path) -> Path:
    """Give a draft its name, unless another process was faster."""
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    return folder


def _fetch_files(files: list[File], entry: Entry, draft: Path, events: Events | None) -> None:
    """The files of one address."""
    url, download = files[0].url, draft / "download"
    with download.open("wb") as stream:
        for chunk in _read(url, events):
            stream.write(chunk)
    for file in files:
        try:
            content = unpack(download, url, file.name)
            content = file.convert(content) if file.convert else content
            _check(content, file, entry)
        except DownloadError as error:
            raise DownloadError(f"{url}: {error}") from None
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise DownloadError(f"{url}: no labels as expected ({error!r})") from None
        (draft / file.name).write_bytes(content)
    download.unlink()


def _read(url: str, events: Events | None) -> Iterator[bytes]:
    """The bytes at an address, a stretch at a time, as many as the server says there are."""
    assert url.startswith(("https://", "http://"))
    request = urllib.request.Request(url, headers={"User-Agent": f"whereof/{__version__}"})
    done = 0
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            length = response.headers["Content-Length"]
            total = int(length) if length else None
            while chunk := response.read(_CHUNK):
                done += len(chunk)
                if done > LARGEST:
                    raise DownloadError(f"{url}: more than {LARGEST:,} bytes")
                if events is not None:
                    events.emit(Downloading(url, done, total))
                yield chunk
    except urllib.error.HTTPError as error:
        with error:
            raise DownloadError(f"{url}: HTTP {error.code} {error.reason}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(f"{url}: the download failed ({reason})") from None
    if total is not None and done < total:
        raise DownloadError(f"{url}: cut off after {done:,} of {total:,} bytes")


def _check(content: bytes, file: File, entry: Entry) -> None:
    """Refuse a file that is not the one that is known, or does not have its size."""
    found = hashlib.sha256(content).hexdigest()
    if file.sha256 is not None and found != file.sha256:
        raise DownloadError(
            f"{file.name} is not the file that is known: SHA-256 {found[:16]}..., "
            f"expected {file.sha256[:16]}..."
        )
    n_lines, expected = len(content.splitlines()), entry.n_lines(file.name)
    if expected is not None and n_lines != expected:
        raise DownloadError(f"{file.name} has {n_lines:,} lines, expected {expected:,}")
