"""Jobs: to their end, cancelled, shared, in turns, followed by server-sent events."""

import csv
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from httpx import Client
from pydantic import TypeAdapter

import whereof
from server.conftest import serving
from whereof import events
from whereof.errors import Interrupted, WhereofError
from whereof.server import limits
from whereof.server.queue import BackgroundJob, JobEvents, JobQueue, TooManyJobs
from whereof.server.tasks import Task

ASKED = {"subject": "india", "relation": "students", "object": "usa"}
VERIFY = {"kind": "verify", **ASKED, "facts": [3, 5]}


def start(client: Client, **asked: Any) -> Any:
    answer = client.post("/api/runs/nations/jobs", json=asked)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/jobs/{answer.json()['id']}"
    return answer.json()


def follow(client: Client, job: str) -> list[tuple[str, Any]]:
    """The events of a job to its end."""
    found, kind = list[tuple[str, Any]](), ""
    with client.stream("GET", f"/api/jobs/{job}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((kind, json.loads(line.removeprefix("data: "))))
    return found


def ended(client: Client, job: str) -> Any:
    follow(client, job)
    return client.get(f"/api/jobs/{job}").json()


def plain(document: Any) -> Any:
    return json.loads(json.dumps(document))


def test_a_check_gives_the_verdict(client: Client, nations: whereof.Run) -> None:
    checked = [11, 13]  # no other test retrains without these
    job = start(client, **VERIFY | {"facts": checked})
    seen = follow(client, job["id"])
    assert seen[0][0] == "state"
    assert seen[-1][0] == "done"
    assert seen[-1][1]["progress"]["share"] == 1
    found = client.get(f"/api/jobs/{job['id']}").json()
    verdict = plain(nations.verify(*ASKED.values(), facts=checked).to_dict())
    different = {name for name in verdict if found["result"][name] != verdict[name]}
    assert different <= {"seconds", "n_retrained", "n_known", "notes"}
    assert found["state"] == "done"
    assert job["id"] in [each["id"] for each in client.get("/api/jobs").json()]


@pytest.mark.parametrize("asked", [VERIFY, {"kind": "smallest", **ASKED, "budget": 4}])
def test_a_result_of_retraining_is_a_table(client: Client, asked: dict[str, Any]) -> None:
    job = ended(client, start(client, **asked)["id"])
    saved = client.get(f"/api/jobs/{job['id']}/result", params={"format": "csv"})
    assert saved.headers["content-type"] == "text/csv; charset=utf-8"
    name = "-".join([asked["kind"], *ASKED.values()])
    assert saved.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    rows, found = [*csv.DictReader(saved.text.splitlines())], job["result"]
    values = {row["standing"]: row["value"] for row in rows if row["table"] == "standings"}
    assert float(values["actual"]) == found["actual"]["probability"]
    removed = [int(row["fact_id"]) for row in rows if row["table"] == "facts"]
    assert sorted(removed) == sorted(found["removed"])


def test_an_evaluation_is_no_table(client: Client) -> None:
    asked = {"kind": "evaluate", "limit": 1, "k": [1], "protocols": ["removal"]}
    job = ended(client, start(client, **asked)["id"])
    answer = client.get(f"/api/jobs/{job['id']}/result", params={"format": "csv"})
    assert answer.status_code == 409
    wanted = "this result is not written as csv; take the format json"
    assert answer.json()["message"] == wanted


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"kind": "explain", **ASKED, "method": "verified", "budget": 4, "top": 2}, "facts"),
        ({"kind": "smallest", **ASKED, "budget": 4}, "prediction"),
        (
            {"kind": "evaluate", "limit": 1, "k": [1], "protocols": ["removal"]},
            "options",
        ),
    ],
)
def test_every_kind_ends_with_its_document(
    client: Client, asked: dict[str, Any], field: str
) -> None:
    found = ended(client, start(client, **asked)["id"])
    assert (found["state"], found["message"]) == ("done", None)
    assert field in found["result"]
    assert found["options"] == {name: asked[name] for name in asked if name != "kind"}


def test_what_a_job_has_prepared_is_then_there_at_once(client: Client) -> None:
    query = ASKED | {"subject": "egypt", "method": "unrolled", "top": 3}
    assert client.get("/api/runs/nations/explanation", params=query).status_code == 409
    job = ended(client, start(client, kind="explain", **query)["id"])
    answer = client.get("/api/runs/nations/explanation", params=query).json()
    assert answer["facts"] == job["result"]["facts"]


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "verify", **ASKED, "top": 20, "each": True, "method": "rollback"},
        {"kind": "explain", "subject": "uk", "relation": "embassy", "method": "retrain"},
        {"kind": "evaluate", "limit": 3, "k": [1, 2], "methods": ["random"]},
    ],
    ids=lambda asked: asked["kind"],
)
def test_a_job_that_would_retrain_too_often_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    monkeypatch.setattr(limits, "RETRAININGS", 5)
    seen = follow(client, start(client, **asked)["id"])
    assert seen[-1][0] == "failed"
    wanted = r"this takes up to \d+ retrainings, and this server retrains at most 5 times"
    assert re.match(wanted, seen[-1][1]["message"])
    few = {"kind": "verify", **ASKED, "facts": [7, 8], "each": True}
    assert follow(client, start(client, **few)["id"])[-1][0] == "done"


def test_a_budget_in_time_has_no_limit_of_retrainings(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RETRAININGS", 2)
    asked = {"kind": "smallest", "subject": "uk", "relation": "embassy", "budget": "2s"}
    assert follow(client, start(client, **asked)["id"])[-1][0] == "done"


@pytest.mark.parametrize(
    ("asked", "long"),
    [
        ({"kind": "explain", "method": "retrain"}, True),
        ({"kind": "explain", "method": "unrolled"}, False),
        ({"kind": "explain", "method": "verified", "budget": 10}, False),
        ({"kind": "explain", "method": "verified", "budget": 900}, True),
        ({"kind": "explain", "method": "verified", "budget": "2m"}, True),
        ({"kind": "explain", "method": "verified", "budget": "50s"}, False),
        ({"kind": "verify", "facts": [3]}, False),
        ({"kind": "verify", "facts": [*range(900)], "each": True}, True),
        ({"kind": "verify", "method": "retrain"}, True),
        ({"kind": "smallest", "budget": 10}, False),
        ({"kind": "smallest", "budget": 900}, True),
        ({"kind": "evaluate", "limit": 1}, True),
    ],
)
def test_a_job_is_long_by_its_cost(
    nations: whereof.Run, asked: dict[str, Any], long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whereof.Run, "retraining_seconds", 0.2 * (os.cpu_count() or 1))
    task = TypeAdapter[Any](Task).validate_python(asked)
    assert task.is_long(nations) == long


def test_a_job_that_fails_says_why(client: Client) -> None:
    seen = follow(client, start(client, kind="verify", subject="indja", relation="students")["id"])
    assert seen[-1][0] == "failed"
    assert seen[-1][1]["message"].startswith("unknown entity 'indja'; did you mean")


def test_jobs_that_are_over_can_be_left_out(client: Client) -> None:
    over = start(client, kind="verify", subject="none")["id"]
    follow(client, over)
    asked = {"kind": "explain", "subject": "egypt", "relation": "embassy", "method": "retrain"}
    job = start(client, **asked)["id"]
    listed = [client.get("/api/jobs", params={"over": value}).json() for value in (True, False)]
    assert {over, job} <= {each["id"] for each in listed[0]}
    assert [each["id"] for each in listed[1]] == [job]
    client.delete(f"/api/jobs/{job}")
    follow(client, job)
    assert client.get("/api/jobs", params={"over": False}).json() == []


def test_a_stream_starts_with_what_was_missed(client: Client) -> None:
    job = start(client, **VERIFY)["id"]
    follow(client, job)
    again = follow(client, job)
    assert [kind for kind, _ in again] == ["state", "done"]
    assert again[0][1]["state"] == "done"


def test_a_long_job_is_cancelled_by_its_client_alone(client: Client, address: str) -> None:
    asked = {"kind": "explain", "subject": "usa", "relation": "embassy", "method": "retrain"}
    job = start(client, **asked)["id"]
    with Client(base_url=address, cookies={"whereof-client": "another"}) as other:
        answer = other.delete(f"/api/jobs/{job}")
        assert answer.status_code == 409
        assert "another client started this job" in answer.json()["message"]
    assert client.delete(f"/api/jobs/{job}").status_code == 200
    assert follow(client, job)[-1][0] == "cancelled"
    assert client.delete(f"/api/jobs/{job}").json()["state"] == "cancelled"


def test_a_server_that_stops_cancels_jobs_and_ends_streams(nations: whereof.Run) -> None:
    asked = {"kind": "explain", "subject": "uk", "relation": "embassy", "method": "retrain"}
    seen = list[str]()
    with Client(timeout=60) as client:
        with serving({"nations": nations}) as address:
            client.base_url = address  # type: ignore[assignment]
            job = start(client, **asked)["id"]
            first = threading.Event()

            def read() -> None:
                with client.stream("GET", f"/api/jobs/{job}/events") as answer:
                    for line in answer.iter_lines():
                        seen.append(line)
                        first.set()

            thread = threading.Thread(target=read)
            thread.start()
            assert first.wait(60)
        thread.join(60)
    assert not thread.is_alive()
    assert seen[0] == "event: state"


# The queue by itself, with work that waits until it is let go.


@pytest.fixture
def queue() -> Iterator[JobQueue]:
    with JobQueue(at_once=1) as found:
        yield found


class Held:
    """Work that waits, and notes when it starts."""

    def __init__(self) -> None:
        self.go, self.started = threading.Event(), list[str]()

    def work(self, name: str) -> Callable[[events.Events], Any]:
        def run(listener: events.Events) -> str:
            self.started.append(name)
            while not self.go.wait(0.01):
                if listener.should_stop():
                    raise Interrupted("stopped")
            return name

        return run

    def add(self, queue: JobQueue, client: str, name: str, **more: Any) -> BackgroundJob:
        return queue.add(BackgroundJob("n", "verify", {"n": name}, **more), client, self.work(name))


def wait_for(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.002)


def test_clients_take_turns(queue: JobQueue) -> None:
    held = Held()
    first = held.add(queue, "a", "a1")
    wait_for(lambda: first.state == "running")
    jobs = [held.add(queue, client, f"{client}{n}") for client in "abc" for n in (2, 3)]
    assert [queue.positions()[job.id] for job in jobs] == [1, 4, 2, 5, 3, 6]
    held.go.set()
    wait_for(lambda: all(job.over for job in jobs))
    assert held.started == ["a1", "a2", "b2", "c2", "a3", "b3", "c3"]
    assert queue.positions() == {}


def test_the_same_job_is_shared_while_it_is_under_way(queue: JobQueue) -> None:
    held = Held()
    one = held.add(queue, "a", "same")
    assert held.add(queue, "b", "same") is one
    assert queue.cancel(one, "a")
    assert not one.stop.is_set()  # b waits for it
    assert queue.cancel(one, "b")
    wait_for(lambda: one.state == "cancelled")
    held.go.set()
    again = held.add(queue, "a", "same")
    assert again is not one
    wait_for(lambda: again.state == "done")
    assert again.found == "same"


def test_jobs_that_pages_start_by_themselves_come_last_and_replace_each_other(
    queue: JobQueue,
) -> None:
    held = Held()
    first = held.add(queue, "a", "first")
    wait_for(lambda: first.state == "running")
    old = held.add(queue, "a", "page 1", unasked=True)
    shared = held.add(queue, "b", "page 2", unasked=True)
    page = held.add(queue, "a", "page 3", unasked=True)
    check = held.add(queue, "a", "check")
    assert (old.state, shared.state, page.state) == ("cancelled", "waiting", "waiting")
    positions = queue.positions()
    assert positions[check.id] < positions[page.id]
    assert held.add(queue, "a", "page 3") is page  # now the reader asks for it
    held.add(queue, "a", "page 4", unasked=True)
    assert page.state == "waiting"


def test_a_waiting_job_of_a_client_that_joined_runs(queue: JobQueue) -> None:
    held = Held()
    first = held.add(queue, "a", "first")
    wait_for(lambda: first.state == "running")
    waiting = held.add(queue, "a", "second")
    assert held.add(queue, "b", "second") is waiting
    queue.cancel(waiting, "a")
    assert queue.positions() == {waiting.id: 1}
    held.go.set()
    wait_for(lambda: waiting.state == "done")


def test_a_long_job_leaves_room_for_a_short_one() -> None:
    held = Held()
    with JobQueue(at_once=2) as queue:
        first, second = (held.add(queue, "a", name, long=True) for name in ("long", "longer"))
        short = held.add(queue, "a", "short")
        wait_for(lambda: first.state == short.state == "running")
        assert second.state == "waiting"
        held.go.set()
        wait_for(lambda: second.state == "done")


def test_who_watches_is_told_of_every_change(queue: JobQueue) -> None:
    held, told = Held(), list[str]()
    with queue.watched(lambda: told.append(job.state)):
        job = BackgroundJob("n", "verify", {})
        queue.add(job, "a", held.work("a"))
        wait_for(lambda: "running" in told)
        held.go.set()
        wait_for(lambda: told[-1] == "done")
    n_told = len(told)
    other = held.add(queue, "a", "later")
    wait_for(lambda: other.over)
    assert len(told) == n_told


def test_jobs_wait_until_the_queue_is_started() -> None:
    queue, held = JobQueue(at_once=1), Held()
    held.go.set()
    job = held.add(queue, "a", "early")
    assert job.state == "waiting"
    with queue:
        wait_for(lambda: job.state == "done")


def test_too_many_jobs_are_refused(queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held()
    for number in range(limits.JOBS_OF_A_CLIENT):
        held.add(queue, "a", str(number))
    with pytest.raises(TooManyJobs, match="you have 5 jobs under way; wait for one, or cancel one"):
        held.add(queue, "a", "more")
    wait_for(lambda: held.started == ["0"])
    monkeypatch.setattr(limits, "JOBS_WAITING", limits.JOBS_OF_A_CLIENT)
    held.add(queue, "b", "fits")
    with pytest.raises(TooManyJobs, match="too many jobs are waiting"):
        held.add(queue, "c", "more")
    queue.stop()
    with pytest.raises(TooManyJobs, match="the server is stopping"):
        held.add(queue, "c", "late")
    assert {job.state for job in queue if job.state != "running"} == {"cancelled"}


def test_only_the_latest_jobs_are_kept(queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOBS_KEPT", 3)
    held = Held()
    held.go.set()
    jobs = [held.add(queue, "a", "0")]
    for number in range(1, 8):
        wait_for(lambda: jobs[-1].over)
        jobs.append(held.add(queue, "a", str(number)))
    assert [*queue] == jobs[:3:-1]
    assert queue.get(jobs[0].id) is None


def test_a_job_that_takes_too_long_is_stopped(
    queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "JOB_SECONDS", 0)
    job = Held().add(queue, "a", "endless")
    wait_for(lambda: job.over)
    wanted = "stopped after 0 minutes; start it again to continue"
    assert (job.state, job.message) == ("failed", wanted)


def test_an_error_of_the_server_is_not_shown(
    queue: JobQueue, caplog: pytest.LogCaptureFixture
) -> None:
    def work(listener: events.Events) -> None:
        raise RuntimeError("private")

    job = queue.add(BackgroundJob("n", "verify", {}), "a", work)
    wait_for(lambda: job.over)
    assert job.message == "the server failed on this job; its log says why"
    assert "private" in caplog.text


def test_events_become_progress() -> None:
    job = BackgroundJob("n", "smallest", {})
    listener = JobEvents(job)
    listener.emit(events.Foreseen(10, others=10.0))
    shown = list[Any]()
    for event in (
        events.Planned(1, 0, 1.0, 2),
        events.Advanced(1, 1, "retrainings"),
        events.Advanced(50, 100, "facts, training again"),
        events.Advanced(100, 100, "facts, training again"),
        events.Advanced(50, 100, "facts, going back through training"),
        events.Planned(2, 1, 3.0, 2),
        events.Advanced(1, 2, "retrainings"),
        events.Planned(4, 0, 3.0, 2),
        events.Advanced(2, 4, "retrainings"),
        events.Advanced(1, 5, "predictions"),
    ):
        listener.emit(event)
        assert job.progress is not None
        shown.append((job.progress.text, job.progress.share))
    assert shown == [
        ("at most 10 retrainings, 2 at a time, about 10.0 s", 0.0),
        ("1 of at most 10 retrainings", 0.05),
        ("training again", 0.175),
        ("training again", 0.3),
        ("going back through training", 0.3625),
        ("1 of at most 10 retrainings", 0.55),
        ("2 of at most 10 retrainings", 0.6),
        ("3 of at most 10 retrainings", 0.65),
        ("5 of at most 10 retrainings", 0.75),
        ("1 of 5 predictions", 0.75),
    ]
    listener.emit(events.Note("a note"))
    listener.emit(events.StageStarted(1, 2, "removal"))
    assert [*job.notes] == ["a note", "1 of 2: removal"]
    assert issubclass(TooManyJobs, WhereofError)


def test_progress_never_falls_if_nobody_foresaw_the_work() -> None:
    job = BackgroundJob("n", "explain", {})
    listener, shares = JobEvents(job), [0.0]
    for event in (
        *(events.Advanced(each, 4, "facts, training again") for each in (1, 4)),
        *(events.Advanced(each, 4, "facts, going back through training") for each in (1, 4)),
        *(events.Advanced(each, 4, "facts, training again") for each in (1, 4)),  # once more
        events.Foreseen(4),
        events.Planned(4, 0, 1.0, 2),
        *(events.Advanced(each, 4, "retrainings") for each in (2, 4)),
    ):
        listener.emit(event)
        assert job.progress is not None
        assert job.progress.share is not None
        shares.append(job.progress.share)
    assert shares == sorted(shares)
    assert max(shares[:-1]) < shares[-1] == 1
