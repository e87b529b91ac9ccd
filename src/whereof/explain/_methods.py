"""Every method by name: what it is, and where it comes from."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whereof.explain._options import ExplainOptions
    from whereof.explain._situation import Aim, Situation
    from whereof.types import FactIds, Numbers


@dataclass(frozen=True)
class Method:
    """A way to estimate influence."""

    name: str
    title: str
    citation: str
    module: str | None = None
    """Where its function is; None where it also tells how the prediction stands without a fact."""
    retrains: bool = False

    @property
    def rolls_back(self) -> bool:
        return self.module is None and not self.retrains

    def estimate(
        self,
        situation: "Situation",
        aim: "Aim",
        fact_ids: "FactIds",
        options: "ExplainOptions",
    ) -> "Numbers":
        """(n_facts,) influence of facts on what is explained."""
        module = import_module(f"whereof.explain.{self.module}")
        function = getattr(module, "estimate_" + self.name.replace("-", "_"))
        influences: Numbers = function(situation, aim, fact_ids, options)
        return influences


_PAPER = (
    "Lawrence, Sztyler and Niepert, Explaining Neural Matrix Factorization with Gradient "
    "Rollback, AAAI 2021"
)
_SIMILARITY = "Charpiat et al., Input Similarity from the Neural Network Perspective, NeurIPS 2019"

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("rollback", "Gradient rollback", _PAPER),
        Method("rollback-o", "Gradient rollback, facts with the same answer only", _PAPER),
        Method("random", "Random adjacent facts", _PAPER, "_random"),
        Method("gradient-dot", "Dot product of gradients", _SIMILARITY, "_gradients"),
        Method("gradient-cos", "Cosine of gradients", _SIMILARITY, "_gradients"),
        Method(
            "tracin",
            "TracIn over kept checkpoints",
            "Pruthi et al., Estimating Training Data Influence by Tracing Gradient Descent, "
            "NeurIPS 2020",
            "_gradients",
        ),
        Method(
            "influence-function",
            "Influence function",
            "Koh and Liang, Understanding Black-box Predictions via Influence Functions, ICML 2017",
            "_influence_function",
        ),
        Method(
            "criage",
            "CRIAGE",
            "Pezeshkpour, Tian and Singh, Investigating Robustness and Interpretability of Link "
            "Prediction via Adversarial Modifications, NAACL 2019",
            "_criage",
        ),
        Method(
            "retrain",
            "Retraining without each fact",
            "Feldman and Zhang, What Neural Networks Memorize and Why: Discovering the Long Tail "
            "via Influence Estimation, NeurIPS 2020",
            retrains=True,
        ),
    )
}
"""By name."""
