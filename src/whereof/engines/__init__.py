"""Where many retrainings run: one protocol, one journal, several engines."""

from typing import TYPE_CHECKING

from whereof._lazy import lazily

if TYPE_CHECKING:
    from whereof.engines._choosing import EngineOptions, choose_engine, settle_engine
    from whereof.engines._journal import Journal, open_journal, recipe_key
    from whereof.engines._protocol import Engine, Job, Plan, RetrainWatch
    from whereof.engines._retrainer import Outcomes, Retrainer

__all__ = [
    "Engine",
    "EngineOptions",
    "Job",
    "Journal",
    "Outcomes",
    "Plan",
    "RetrainWatch",
    "Retrainer",
    "choose_engine",
    "open_journal",
    "recipe_key",
    "settle_engine",
]

__getattr__ = lazily(
    __name__,
    {
        **dict.fromkeys(
            ("EngineOptions", "choose_engine", "settle_engine"), "whereof.engines._choosing"
        ),
        **dict.fromkeys(("Journal", "open_journal", "recipe_key"), "whereof.engines._journal"),
        **dict.fromkeys(("Engine", "Job", "Plan", "RetrainWatch"), "whereof.engines._protocol"),
        **dict.fromkeys(("Outcomes", "Retrainer"), "whereof.engines._retrainer"),
    },
)
