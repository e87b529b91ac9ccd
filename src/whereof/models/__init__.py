"""Scoring functions: one file each, found by name through the registry."""

from whereof import registry
from whereof.errors import WhereofError
from whereof.models.model import OWN, OWN_FORMULA, CudaCode, Match, Model, Widths, own_model


def find_model(name: str) -> Model:
    """The model of that name: ours, an installed one, or one that was registered."""
    if _is_missing(name):
        score = name.removeprefix(OWN)
        raise WhereofError(
            f"this run is scored by a function of your own, {score}, which is not stored with it; "
            f"open it in Python: whereof.torch.open_run(folder, model, {score})"
        )
    model: Model = registry.load(registry.MODELS, name, Model)
    return model


def describe_model(name: str) -> str:
    """Title and formula of a model, even if its scoring function is not there."""
    if _is_missing(name):
        return f"{name}: {OWN_FORMULA}"
    model = find_model(name)
    return f"{model.title}: {model.formula}"


def _is_missing(name: str) -> bool:
    return name.startswith(OWN) and name not in registry.names(registry.MODELS)


def register(model: Model) -> None:
    """Let commands of this process find a model under its name."""
    registry.add(registry.MODELS, model.name, model)


MODELS: dict[str, Model] = {name: find_model(name) for name in registry.ours(registry.MODELS)}
"""Those that come with Whereof."""

__all__ = [
    "MODELS",
    "CudaCode",
    "Match",
    "Model",
    "Widths",
    "describe_model",
    "find_model",
    "own_model",
    "register",
]
