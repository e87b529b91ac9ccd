"""Read factories and datasets of PyKEEN, and its datasets by name, such as pykeen:nations."""

from typing import Any

from whereof.errors import WhereofError, need
from whereof.types import PLACES

PREFIX = "pykeen:"
_SPLITS = {"train": "training", "valid": "validation", "test": "testing"}


def is_pykeen(source: Any) -> bool:
    """Whether the data is a factory or a dataset of PyKEEN, or the name of one."""
    if isinstance(source, str):
        return source.startswith(PREFIX)
    return any(each.__module__.startswith("pykeen.") for each in type(source).__mro__)


def pykeen_columns(source: Any) -> tuple[str, dict[str, dict[str, list[str]]]]:
    """A name for the data, and columns by split."""
    name = "pykeen"
    if isinstance(source, str):
        name, source = source.removeprefix(PREFIX), _find_dataset(source.removeprefix(PREFIX))
    if hasattr(source, "mapped_triples"):
        return name, {"train": _columns(source)}
    if name == "pykeen":
        name = type(source).__name__.lower()
    splits = {split: getattr(source, attribute) for split, attribute in _SPLITS.items()}
    return name, {split: _columns(it) for split, it in splits.items() if it is not None}


def _find_dataset(name: str) -> Any:
    datasets = need("pykeen.datasets", "pykeen", f"{PREFIX}{name}")
    try:
        return datasets.get_dataset(dataset=name)
    except Exception as error:  # an unknown name, or a download that failed
        reason = str(error).partition("\n")[0]
        raise WhereofError(f"PyKEEN cannot provide the dataset {name!r}: {reason}") from None


def _columns(factory: Any) -> dict[str, list[str]]:
    """Names of subjects, relations and objects; a factory without names has numbers."""
    ids, named = factory.mapped_triples.cpu(), hasattr(factory, "label_triples")
    rows = factory.label_triples(ids) if named else ids.numpy().astype(str)
    places = zip(PLACES[3], rows.T, strict=True)
    return {place: column.tolist() for place, column in places}
