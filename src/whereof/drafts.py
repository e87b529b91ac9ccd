"""Drafts: hidden files and folders that get their name when they are complete.

A process that is killed leaves its drafts behind. The next process that writes there removes them.
"""

import contextlib
import functools
import hashlib
import os
import platform
import re
import secrets
import shutil
from pathlib import Path


def draft_name(path: Path) -> Path:
    """A hidden name beside a path. It names the process that uses it, so others leave it alone."""
    return path.with_name(f".{path.name}-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}")


@functools.cache
def _machine() -> str:
    """A digest of the machine or container, because process ids are only valid there."""
    about = platform.node()
    with contextlib.suppress(OSError):
        about += str(Path("/proc/self/ns/pid").readlink())
    return hashlib.blake2b(about.encode(), digest_size=4).hexdigest()


_DRAFT = re.compile(r"\..+-([0-9a-f]{8})-([0-9]+)-[0-9a-f]{8}")
_cleaned: set[Path] = set()
"""Folders from which this process has removed drafts."""


def remove_drafts(folder: Path) -> None:
    """Remove drafts of processes that were killed; each process checks a folder once."""
    folder = folder.absolute()
    if folder in _cleaned or os.name != "posix":  # Windows cannot say whether a process runs
        return
    _cleaned.add(folder)
    with contextlib.suppress(OSError):
        for each in folder.iterdir():
            found = _DRAFT.fullmatch(each.name)
            if found and found[1] == _machine() and not _is_running(int(found[2])):
                remove(each)


def _is_running(process: int) -> bool:
    """Whether a process of this machine is running."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there and may be removed."""
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.unlink()
