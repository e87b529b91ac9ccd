"""What a run is on disk: written atomically, checked on opening."""

from whereof.run._arrays import ArrayRun, Arrays, gather_arrays
from whereof.run._manifest import FORMAT, Manifest
from whereof.run._reading import RunFolder
from whereof.run._writing import RunExists, RunWriter, check_memory

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
