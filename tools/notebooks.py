"""Execute the tutorials of the documentation in place: python tools/notebooks.py [NOTEBOOK ...]."""

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).resolve().parents[1] / "docs" / "tutorials"


def main() -> None:
    for path in [*map(Path, sys.argv[1:])] or sorted(TUTORIALS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:  # runs are written there
            NotebookClient(
                notebook, timeout=600, resources={"metadata": {"path": folder}}
            ).execute()
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times, which differ
        nbformat.write(notebook, path)
        print(f"{path} is executed")


if __name__ == "__main__":
    main()
