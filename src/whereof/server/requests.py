"""Requests about one prediction: what a client may ask for, checked."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from whereof.api.run import Run
from whereof.present.names import Words
from whereof.present.pages.address import WhyAddress
from whereof.present.pages.price import Prices
from whereof.server import limits

Word = Annotated[str, Field(max_length=100)]
FactId = Annotated[int, Field(ge=0)]
FactIds = Annotated[list[FactId], Field(min_length=1, max_length=limits.FACTS)]
FactTop = Annotated[int, Field(ge=1, le=limits.FACTS)]
Names = tuple[str | None, ...]
_Name = Annotated[str, Field(max_length=limits.NAME_LETTERS)]
_FactIdText = Annotated[str, Field(max_length=8000, pattern=r"^([0-9]{1,9}(,[0-9]{1,9})*)?$")]
"""Ids of facts in an address, such as 3,5,8."""


class PredictionRequest(BaseModel):
    """A prediction by names; an empty name, or `_`, is open. Two-way runs have no relation."""

    model_config = ConfigDict(extra="forbid")

    subject: _Name = ""
    relation: _Name = ""
    object: _Name = ""
    asks: Literal["object", "subject"] = "object"

    def names(self, run: Run) -> Names:
        """The names as methods of `Run` take them."""
        return given_names(run, self.subject, self.relation, self.object)


class MethodRequest(PredictionRequest):
    """A prediction, the method of its explanation, and what the influence is measured on."""

    method: Word = ""
    of: Literal["", "probability", "score", "loss"] = ""

    def options(self) -> dict[str, Any]:
        """Options for `Run.explain`; what is empty is left to its defaults."""
        given = {"method": self.method, "of": self.of, "asks": self.asks}
        return {name: value for name, value in given.items() if value}


class EstimateRequest(MethodRequest):
    """A prediction, and the facts to leave out."""

    facts: FactIds


class ExplanationRequest(MethodRequest):
    """A prediction, which facts to list, and the format."""

    top: FactTop = 10
    opposing: bool | Literal["both"] = False
    graph: bool = False
    format: Literal["json", "csv", "svg", "html"] = "json"
    without: _FactIdText = ""


class WhyRequest(MethodRequest):
    """The address of a Why page. Its script adds values of its own."""

    model_config = ConfigDict(extra="ignore")

    top: FactTop = 10
    opposing: Literal["both", "true", "false"] = "both"
    without: _FactIdText = ""
    job: Word = ""
    result: Literal["", "verify", "smallest", "evaluate"] = ""
    """The kind of the job, for a server that no longer knows it."""

    def address(self) -> WhyAddress:
        """The same, for links."""
        given = self.model_dump(exclude={"job", "result", "without"})
        return WhyAddress(**given, without=tuple(read_fact_ids(self.without)))


def given_names(run: Run, subject: str, relation: str, object_: str) -> Names:
    """The names of a request as methods of `Run` take them; an empty one is open."""
    names: tuple[str, ...] = (subject, relation, object_)
    if (data := run.dataset).two_way:
        names = tuple(
            name if data.entities.matches(name, among) else without_noun(run, name, place) or name
            for name, place, among in (
                (subject, "subject", data.subjects),
                (object_, "object", data.objects),
            )
        )
    return tuple(name or None for name in names)


def without_noun(run: Run, text: str, place: str) -> str:
    """A name without the noun that pages write before it: `user 405` is 405 in two-way data."""
    noun, _, name = text.partition(" ")
    return name if noun.lower() == Words.of(two_way=run.dataset.two_way).place(place) else text


def rating_scale(run: Run) -> tuple[float, float] | None:
    """The lowest and the highest rating of the data, if it has ratings."""
    ratings = run.dataset.ratings
    return None if ratings is None else ratings.scale


def run_prices(run: Run) -> Prices:
    """What retraining costs here."""
    return Prices(run.retraining_seconds, limits.JOB_SECONDS, run.compiles_first)


def read_fact_ids(text: str) -> list[int]:
    """The ids of an address, each once."""
    return [*dict.fromkeys(int(each) for each in text.split(",") if each)]
