"""What the page comes to, in a few sentences at its top."""

from collections.abc import Iterator, Sequence

from whereof.drawing._metrics import metric_text, metric_title
from whereof.evaluate.evaluation import Evaluation
from whereof.report._parts import Document, Section, paragraph

_MAIN = ("mrr", "rmse")


def summary(info: Document, evaluations: Sequence[Evaluation]) -> Section:
    """How good the model is, and whether retraining confirms its explanations."""
    said = [*_model(info), *(said for each in evaluations for said in each.headlines())]
    if not evaluations:
        said.append(
            "There is no evaluation of this run here: whether retraining confirms its explanations "
            "is not known. `whereof evaluate` finds out, and a page made after it says so."
        )
    return Section("In short", tuple(paragraph(each, kind="verdict") for each in said), "short")


def _model(info: Document) -> Iterator[str]:
    for split in ("test", "valid"):
        values = (info.get("metrics") or {}).get(split) or {}
        name = next((name for name in _MAIN if name in values), None)
        if name is not None:
            unit = "%" if name == "mrr" else ""
            yield (
                f"{info['model']} has an {metric_title(name)} of "
                f"{metric_text(name, values[name])}{unit} on the {split} facts of "
                f"{info['dataset']}."
            )
            return
