"""Retraining without facts: engines, the journal of retrainings, and verdicts."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.retrain.case import Case
    from whereof.retrain.engine import Engine, Job, choose_engine, settle_engine
    from whereof.retrain.journal import Journal, open_journal, recipe_key
    from whereof.retrain.options import EngineOptions, VerifyOptions
    from whereof.retrain.retrainer import Outcomes, Retrainer
    from whereof.retrain.verdict import Verdict

__all__ = [
    "Case",
    "Engine",
    "EngineOptions",
    "Job",
    "Journal",
    "Outcomes",
    "Retrainer",
    "Verdict",
    "VerifyOptions",
    "choose_engine",
    "open_journal",
    "recipe_key",
    "settle_engine",
]

__getattr__ = lazily(
    __name__,
    {
        "Case": "whereof.retrain.case",
        **dict.fromkeys(
            ("Engine", "Job", "choose_engine", "settle_engine"), "whereof.retrain.engine"
        ),
        **dict.fromkeys(("Journal", "open_journal", "recipe_key"), "whereof.retrain.journal"),
        **dict.fromkeys(("EngineOptions", "VerifyOptions"), "whereof.retrain.options"),
        **dict.fromkeys(("Outcomes", "Retrainer"), "whereof.retrain.retrainer"),
        "Verdict": "whereof.retrain.verdict",
    },
)
