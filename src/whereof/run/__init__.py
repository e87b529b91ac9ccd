"""A run on disk: written atomically, checked on opening."""

from whereof.run.arrays import ArrayRun, Arrays, gather_arrays
from whereof.run.folder import RunFolder
from whereof.run.manifest import FORMAT, Manifest
from whereof.run.writer import RunExists, RunWriter, check_memory

__all__ = [
    "FORMAT",
    "ArrayRun",
    "Arrays",
    "Manifest",
    "RunExists",
    "RunFolder",
    "RunWriter",
    "check_memory",
    "gather_arrays",
]
