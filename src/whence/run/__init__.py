"""What a run is on disk: written atomically, checked on opening."""

from whence.run._arrays import ArrayRun, Arrays, gather_arrays
from whence.run._manifest import FORMAT, Manifest
from whence.run._reading import RunFolder
from whence.run._writing import RunExists, RunWriter, check_memory

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
