"""Questions about paths that a user typed, which may be names that no file can have."""

from pathlib import Path


def is_folder(path: Path) -> bool:
    """Whether a folder is there; False for a name that is too long or has a NUL in it."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether something other than a folder is there: a file, a pipe, /dev/stdin."""
    try:
        return path.exists() and not path.is_dir()
    except (OSError, ValueError):
        return False
