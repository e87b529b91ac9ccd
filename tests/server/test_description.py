"""The OpenAPI description is true: requests made from it get the answers that it describes."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

pytest.importorskip("schemathesis")

import schemathesis
from httpx import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyStrategyDefinition
from schemathesis import checks
from schemathesis.generation import GenerationMode

import whereof
from server.conftest import serving
from whereof.server.app import create_app

SCHEMA = schemathesis.openapi.from_dict(create_app({}).openapi())
OPERATIONS = {each.ok().label: each.ok() for each in SCHEMA.get_all_operations()}
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
SIDE = "run=nations&subject=india&relation=students&object=usa&method=rollback"
LABELS = {
    "GET /api/runs": {},
    "GET /api/runs/{run}": {},
    "GET /api/runs/{run}/report": {},
    "GET /api/runs/{run}/names": {"text": "in"},
    "GET /api/runs/{run}/answers": {"subject": "india", "relation": "students"},
    "GET /api/runs/{run}/interesting": {"kind": "unstable"},
    "GET /api/runs/{run}/entity": {"name": "egypt"},
    "GET /api/runs/{run}/explanation": {
        "subject": "india",
        "relation": "students",
        "object": "usa",
        "method": "rollback",
        "graph": "true",
    },
    "GET /api/compare": {"a": SIDE, "b": SIDE.replace("india", "china")},
    "GET /api/jobs": {},
    "GET /api/jobs/{job}": {},
    "GET /api/jobs/{job}/events": {},
}
"""Queries that have an answer."""
KNOWN = {"subject": "india", "relation": "students", "object": "usa", "name": "egypt"}
KNOWN |= {"method": "rollback", "kind": "verify"}


@pytest.fixture(scope="module")
def served(nations: whereof.Run) -> Iterator[tuple[str, str]]:
    """The address, and the id of a job that is over."""
    with serving({"nations": nations}) as address, Client(base_url=address) as client:
        job = client.post("/api/runs/nations/jobs", json={"kind": "verify", "subject": "none"})
        client.get(f"/api/jobs/{job.json()['id']}/events")
        yield address, job.json()["id"]


def with_known_names(parameters: Any) -> Any:
    """Parameters with names that the run knows, where they have such names."""
    if not isinstance(parameters, dict):
        return parameters
    return {key: KNOWN.get(key, value) for key, value in parameters.items()}


def paths_of(operation: Any, job: str) -> dict[str, str]:
    known = {"run": "nations", "job": job}
    return {name: known[name] for name in known if f"{{{name}}}" in operation.path}


@pytest.mark.parametrize("label", LABELS)
def test_good_answers_are_as_described(label: str, served: tuple[str, str]) -> None:
    address, job = served
    operation = OPERATIONS[label]
    case = operation.Case(path_parameters=paths_of(operation, job), query=LABELS[label])
    answer = case.call_and_validate(base_url=address, checks=CHECKS)
    assert answer.status_code == 200


@pytest.mark.parametrize("mode", [*GenerationMode], ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", OPERATIONS)
def test_answers_are_as_described(label: str, mode: Any, served: tuple[str, str]) -> None:
    address, job = served
    operation = OPERATIONS[label]
    wanted = paths_of(operation, job)

    @settings(max_examples=20, suppress_health_check=[*HealthCheck], database=None)
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(mode, path_parameters=wanted or None))
        if data.draw(st.booleans()):
            case.query, case.body = with_known_names(case.query), with_known_names(case.body)
        case.call_and_validate(base_url=address, checks=CHECKS)

    if mode is GenerationMode.POSITIVE or _can_be_wrong(operation):
        ask()


def _can_be_wrong(operation: Any) -> bool:
    return bool([*operation.query] or [*operation.body])


def test_any_order_of_requests_is_answered_as_described(served: tuple[str, str]) -> None:
    """Jobs are started, read, followed and cancelled in any order, each by the id it got."""
    address, _ = served

    class Clients(SCHEMA.as_state_machine()):  # type: ignore[misc]
        def before_call(self, case: Any) -> None:
            case.path_parameters |= {"run": "nations"} if "{run}" in case.operation.path else {}
            case.query, case.body = with_known_names(case.query), with_known_names(case.body)

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"base_url": address}

        def validate_response(self, response: Any, case: Any, **_: Any) -> None:
            case.validate_response(response, checks=CHECKS)

    asked = settings(
        max_examples=15, stateful_step_count=6, suppress_health_check=[*HealthCheck], database=None
    )
    # Jobs end at other moments when Hypothesis repeats requests; it then gives up.
    with suppress(FlakyStrategyDefinition):
        Clients.run(settings=asked)
