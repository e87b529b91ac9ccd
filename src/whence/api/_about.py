"""What a run says of itself."""

from typing import Any

from whence.api._opened import Opened
from whence.run import ArrayRun


def summarize(run: Opened) -> dict[str, Any]:
    """Data, model, training and metrics."""
    dataset = run._folder.about
    sizes = {name: dataset[name] for name in ("n_facts", "n_entities", "n_relations")}
    return {
        "run": None if run.path is None else str(run.path),
        "dataset": dataset["name"],
        "model": run.config.model,
        **sizes,
        **run._folder.result,
        "metrics": run.metrics,
    }


def describe(run: Opened) -> dict[str, Any]:
    """The summary, the config and the files."""
    if isinstance(run._folder, ArrayRun):
        return {**summarize(run), "config": run._folder.known_settings}
    manifest = run._folder.manifest
    return {
        "format": manifest.format,
        "whence": manifest.whence,
        "created": manifest.created,
        "finished": manifest.finished,
        **summarize(run),
        "n_valid": manifest.dataset["n_valid"],
        "n_test": manifest.dataset["n_test"],
        "dataset_hash": manifest.dataset["hash"],
        "notes": manifest.dataset["notes"],
        "read": manifest.dataset.get("read", {}),
        "config": manifest.config,
        "history": run.history,
        "files": manifest.files,
    }
