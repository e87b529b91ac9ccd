"""The predictions that an evaluation looks at, and what methods say of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from whence.explain import Asked, ExplainOptions, Explanation, Failed, Question, Situation
from whence.explain import explain_many as explain_questions
from whence.predict import Predictions, Standings
from whence.verify import Case

_Asking = tuple[str, int | str | None]
"""A method, and how many facts of each explanation."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Predictions in one case; every protocol looks at the same ones."""

    case: Case
    situations: tuple[Situation, ...]
    threads: int | None = None
    _explained: dict[_Asking, tuple[Explanation, ...]] = field(
        init=False, repr=False, default_factory=dict
    )

    @cached_property
    def predictions(self) -> Predictions:
        return self.case.predictions(self.situations)

    @cached_property
    def stored(self) -> Standings:
        """(n_predictions,) how they stand in the run as it was stored."""
        return self.case.stand(self.predictions)

    def explain(self, method: str, top: int | str | None) -> Sequence[Explanation]:
        """What a method says of every prediction, worked out once; None is every adjacent fact."""
        if (method, top) not in self._explained:
            options = ExplainOptions(method=method, top=top, seed=self.case.seed)
            questions = (
                Question(number, _asked(situation))
                for number, situation in enumerate(self.situations, 1)
            )
            found = explain_questions(self.case.trained, questions, options, self.threads)
            self._explained[method, top] = tuple(map(_expect, found))
        return self._explained[method, top]


def _asked(situation: Situation) -> Asked:
    contest = situation.contest
    return Asked(contest.given, contest.relation, contest.asks, situation.target)


def _expect(found: Explanation | Failed) -> Explanation:
    assert isinstance(found, Explanation), found
    return found
