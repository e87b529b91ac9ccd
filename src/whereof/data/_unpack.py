"""The plain bytes of a file that came gzipped or in an archive."""

import gzip
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, Final

LARGEST: Final = 1 << 30
"""In bytes. No file of the catalogue comes near it, but a few bytes may unpack to any number."""


class DownloadError(Exception):
    """A download did not bring what it should."""


def unpack(download: Path, url: str, name: str) -> bytes:
    """A download's plain content; of an archive, that of the file with this name.

    Archive members are found by the last part of their path and only read, so no path in an
    archive leads anywhere.
    """
    try:
        if url.endswith(".zip"):
            return _from_zip(download, name)
        if url.endswith(".tar.gz"):
            return _from_tar(download, name)
        if url.endswith(".gz"):
            with gzip.open(download) as file:
                return _read(file)
        return download.read_bytes()
    # zipfile raises RuntimeError where a file is encrypted or packed in a way unknown to it.
    except (EOFError, OSError, RuntimeError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as e:
        raise DownloadError(f"damaged ({e})") from None


def _from_zip(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            if PurePosixPath(member).name == name:
                with archive.open(member) as file:
                    return _read(file)
    raise DownloadError(f"no {name} in the archive")


def _from_tar(path: Path, name: str) -> bytes:
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if PurePosixPath(member.name).name == name and member.isfile():
                file = archive.extractfile(member)
                assert file is not None
                return _read(file)
    raise DownloadError(f"no {name} in the archive")


def _read(file: IO[bytes] | gzip.GzipFile) -> bytes:
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DownloadError(f"more than {LARGEST:,} bytes")
    return content
