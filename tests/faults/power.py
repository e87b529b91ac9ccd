"""What is left on a disk after a power cut, at any moment of some work.

The model is the worst that POSIX allows. The content of a file survives as it was when the file was
last synced; a file that never was is empty. A name survives if its folder was synced since; else
the folder has the name's former file, or none. What was deleted is gone.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch


class Disk:
    """Watches what work syncs, and keeps what a power cut before each change would leave."""

    def __init__(self, root: Path, images: Path) -> None:
        self.root, self.images = root, images
        self.n_images = 0
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._fsync(root)

    def _fsync(self, path: Path) -> None:
        about = path.stat()
        if path.is_dir():
            self._names[about.st_ino] = {each.name: each.stat().st_ino for each in path.iterdir()}
        else:
            self._contents[about.st_ino] = path.read_bytes()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take an image before every sync, rename and deletion."""
        fsync = os.fsync

        def synced(file: int) -> None:
            self._cut()
            fsync(file)
            self._fsync(Path(f"/proc/self/fd/{file}").readlink())

        def before(do: Callable[..., object]) -> Callable[..., object]:
            def done(*arguments: object, **more: object) -> object:
                self._cut()
                return do(*arguments, **more)

            return done

        with (
            patch("os.fsync", synced),
            patch("os.replace", before(os.replace)),
            patch("os.link", before(os.link)),
            patch("shutil.rmtree", before(shutil.rmtree)),
        ):
            yield
        self._cut()

    def _cut(self) -> None:
        """Keep two images: in one, new names survive although their folder was not synced."""
        for keep_names in (False, True):
            self.n_images += 1
            self._copy(self.root, self.images / f"{self.n_images:04d}", keep_names)

    def _copy(self, folder: Path, target: Path, keep_names: bool) -> None:
        target.mkdir(parents=True)
        found = {path.name: path for path in folder.iterdir()}
        synced = self._names.get(folder.stat().st_ino, {})
        for name, path in found.items():
            inode = path.stat().st_ino
            if not keep_names:
                if name not in synced:
                    continue
                inode = inode if path.is_dir() else synced[name]
            if path.is_dir():
                self._copy(path, target / name, keep_names)
            else:
                (target / name).write_bytes(self._contents.get(inode, b""))
