"""The paper's claim in numbers, and in words."""

from collections.abc import Iterator, Sequence

from whereof.drawing._axes import is_number as known
from whereof.report._parts import Document, Section, count, items, number, paragraph, table
from whereof.report._worth import PROBABILITY, Worth, worth_of


def theory(evaluation: Document) -> Section:
    """Rollback beside retraining, and beside its bounds."""
    found: Document | None = evaluation.get("theory")
    if not found:
        return Section("Theory", (), "theory")
    parts = (
        *(paragraph(said, kind="verdict") for said in claim(evaluation)),
        *map(paragraph, _bounds(evaluation)),
        items(_constants(found)),
    )
    return Section("Theory", parts, "theory")


def claim(evaluation: Document) -> Iterator[str]:
    """Whether rolling back comes nearer to retraining than doing nothing."""
    found, worth = evaluation["theory"], worth_of(evaluation).one
    near, far = found["rollback_error"], found["original_error"]
    if not known(near) or not known(far):
        return
    said = (
        f"Over {count(found['n_pairs'], 'pair')} of a prediction and a removed fact, the "
        f"{worth} by rollback is {number(near)} away from that of the retrained model on "
        f"average, and the {worth} of the model as it was {number(far)}. "
    )
    if near < far:
        yield f"{said}So rolling back comes nearer to retraining than doing nothing."
    else:
        yield f"{said}So here rolling back comes no nearer to retraining than doing nothing."


def _bounds(evaluation: Document) -> Iterator[str]:
    found, worth = evaluation["theory"], worth_of(evaluation)
    if known(found["lipschitz"]) and known(found["smoothness"]):
        yield (
            f"The largest norm that a row had in training is C = {number(found['largest_norm'])}. "
            "By the paper's lemmas the score's slope is at most 2 C² = "
            f"{number(found['lipschitz'])}, and the slope changes at most by 4 C = "
            f"{number(found['smoothness'])}; the steepest slope that training met is "
            f"{number(found['lipschitz_met'])}."
        )
    bound, unrolled = found["stability_bound"], found["recurrence_bound"]
    if known(bound):
        more = f" Unrolled with the rates that were used, it is {number(unrolled)}."
        yield (
            f"The stability bound (Lambda-stab-nc) for {count(found['n_facts'], 'fact')} and "
            f"{count(found['n_steps'], 'step')} is {number(bound)}: {_told(bound, worth)}."
            + (more if known(unrolled) else "")
        )
    else:
        yield _unbounded(evaluation)
    if known(found["normaliser_std"]) and known(found["score_std"]):
        steady = found["normaliser_std"] < found["score_std"] / 2
        yield (
            "The paper takes the softmax's normaliser as constant over facts. Its log has the mean "
            f"{number(found['normaliser_mean'])} and the standard deviation "
            f"{number(found['normaliser_std'])}; the scores of the facts have "
            f"{number(found['score_std'])}: "
            + ("nearly constant beside them." if steady else "not so constant beside them.")
        )


def _told(bound: float, worth: Worth) -> str:
    """What the bound says, which is proved of what lies between 0 and 1."""
    if worth != PROBABILITY:
        return f"it holds of what lies between 0 and 1, which {worth.several} need not"
    return "above 1, so it says nothing of a probability" if bound > 1 else "below 1"


def _unbounded(evaluation: Document) -> str:
    """Why there is no bound."""
    found, size = evaluation["theory"], evaluation["config"].get("batch_size", 1)
    if found["lipschitz"] is None and known(found["largest_norm"]):
        return (
            f"The paper's lemmas do not hold for {found['model']}, so there are no constants and "
            "no stability bound."
        )
    if size > 1:
        return (
            f"There is no stability bound: it is proved of one fact a step, and here a batch has "
            f"{size:,}."
        )
    return "The stability bound is not finite for this training, so it says nothing."


def _constants(found: Document) -> list[tuple[str, str]]:
    names = {
        "largest_norm": "largest norm C",
        "lipschitz": "slope by the lemma, 2 C²",
        "lipschitz_met": "steepest slope met",
        "smoothness": "smoothness, 4 C",
        "rate": "rate constant c",
        "stability_bound": "stability bound",
        "recurrence_bound": "bound by recurrence",
        "rollback_error": "mean |rollback − retrained|",
        "original_error": "mean |original − retrained|",
    }
    return [(title, number(found[name])) for name, title in names.items()]


def seconds(evaluation: Document) -> Section:
    """How long one explanation takes, by method."""
    times: Document = evaluation.get("explain_seconds") or {}
    if not times:
        return Section("Time of an explanation", (), "seconds")
    rows: Sequence[tuple[str, str]] = [(name, _time(value)) for name, value in times.items()]
    about = "Of one explanation, on average."
    return Section("Time of an explanation", (table(("method", "time"), rows, about),), "seconds")


def _time(value: float | None) -> str:
    if not known(value):
        return number(None)
    return f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s"
