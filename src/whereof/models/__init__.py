"""Scoring functions: one file each, found here by name; third-party ones by entry point."""

from whereof.errors import WhereofError
from whereof.models import complex as complex_
from whereof.models import distmult, mf, rescal, rotate, simple, transe
from whereof.models._model import Match, Model, Widths

ENTRY_POINTS = "whereof.models"

MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        complex_.MODEL,
        distmult.MODEL,
        mf.MODEL,
        mf.BIASED,
        rescal.MODEL,
        rotate.MODEL,
        simple.MODEL,
        transe.MODEL,
        transe.L2,
    )
}


def find_model(name: str) -> Model:
    """The model of that name, built in or installed under the entry point `whereof.models`."""
    if name in MODELS:
        return MODELS[name]
    from importlib.metadata import entry_points  # slow to import, and rarely needed

    installed = entry_points(group=ENTRY_POINTS)
    if name in installed.names:
        model = installed[name].load()
        if not isinstance(model, Model):
            raise WhereofError(f"the entry point of model {name!r} is not a whereof.models.Model")
        return model
    known = sorted({*MODELS, *installed.names})
    raise WhereofError(f"unknown model {name!r}; choose from {', '.join(known)}")


__all__ = ["MODELS", "Match", "Model", "Widths", "find_model"]
