"""What a click costs: the jobs that pages start, and about how long they take here."""

import math
import os
from dataclasses import dataclass
from typing import Any

from whereof.evaluate.options import EvaluateOptions
from whereof.evaluate.protocol import SampleSize, count_retrainings
from whereof.retrain.options import SmallestOptions
from whereof.units import show

MEASURE: dict[str, Any] = {"kind": "evaluate", "protocols": ["steadiness"], "limit": 12}
"""The job that measures how reliable estimates are in a run."""
EVALUATE: dict[str, Any] = {"kind": "evaluate", "protocols": ["removal"], "limit": 20}
"""The job that removes the strongest facts of some predictions."""
RETRAININGS = {"check": 2, "smallest": int(SmallestOptions.budget), "measure": 100}
"""The largest number of retrainings of a check, with the control; of a search; and of measuring."""
_NO_BREAK = "\N{NO-BREAK SPACE}"
_COMPILING = "the first time, compiling takes some minutes more"


@dataclass(frozen=True)
class Price:
    """What a click costs, in words; and why it is off, if it takes longer than a job may."""

    text: str = ""
    off: str = ""


@dataclass(frozen=True)
class Prices:
    """What retraining costs on this machine."""

    retraining_seconds: float | None = None
    """Of one retraining on one core; None if it is not known."""
    job_seconds: float = math.inf
    """The time after which the server stops a job."""
    compiles: bool = False
    """Whether the kernels that follow training are not compiled yet."""

    def of(self, n_retrainings: float, *, up_to: bool = False, follows: bool = False) -> Price:
        """The price of retrainings. follows: whether some method also follows training."""
        if self.retraining_seconds is None:
            return Price()
        seconds = max(-(-n_retrainings // (os.cpu_count() or 1)) * self.retraining_seconds, 0.1)
        # Times below a second would be in milliseconds, which claims too much.
        time = show(seconds, "seconds") if seconds >= 1 else f"{seconds:.1f} s"
        text = f"about {time}".replace(" ", _NO_BREAK)
        if up_to:
            text = f"up to {n_retrainings:,.0f} retrainings, {text}"
        return Price(f"{text}{self.compiling(follows)}", self.too_long(seconds))

    def compiling(self, follows: bool) -> str:
        """What to say of compiling, if a method that follows training has to wait for it."""
        return f"; {_COMPILING}" if self.compiles and follows else ""

    def too_long(self, seconds: float | None) -> str:
        """Why work is not offered; empty if it is."""
        if (seconds or 0.0) <= self.job_seconds:
            return ""
        return f"this server stops work after {show(self.job_seconds, 'seconds')}"


def evaluation_retrainings(default_method: str, n_facts: int) -> int:
    """The largest number of retrainings of `EVALUATE` in a run."""
    methods = ",".join(dict.fromkeys([default_method, *str(EvaluateOptions.methods).split(",")]))
    names, limit = EVALUATE["protocols"], EVALUATE["limit"]
    asked = EvaluateOptions.from_dict({"methods": methods, "protocols": names, "limit": limit})
    return count_retrainings(names, asked, SampleSize(limit, n_facts, n_facts, default_method))
