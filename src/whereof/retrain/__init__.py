"""Retraining without facts: engines, the journal of retrainings, and verdicts."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.retrain._choosing import EngineOptions, choose_engine, settle_engine
    from whereof.retrain._journal import Journal, open_journal, recipe_key
    from whereof.retrain._protocol import Engine, Job
    from whereof.retrain._retrainer import Outcomes, Retrainer
    from whereof.retrain.case import Case
    from whereof.retrain.options import VerifyOptions
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
            ("EngineOptions", "choose_engine", "settle_engine"), "whereof.retrain._choosing"
        ),
        **dict.fromkeys(("Journal", "open_journal", "recipe_key"), "whereof.retrain._journal"),
        "VerifyOptions": "whereof.retrain.options",
        **dict.fromkeys(("Engine", "Job"), "whereof.retrain._protocol"),
        **dict.fromkeys(("Outcomes", "Retrainer"), "whereof.retrain._retrainer"),
        "Verdict": "whereof.retrain.verdict",
    },
)
