"""The journal answers repeated retrainings, even after a crash."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trained
from listening import Recorded

import whereof
from retrain.helpers import Counting, Subject, make_subject, retrainer, subject_of
from whereof.errors import Interrupted
from whereof.predict.scored import STANDING
from whereof.retrain.engine import Engine, Job, LocalEngine
from whereof.retrain.journal import Journal, open_journal, recipe_key
from whereof.run.files import _line_checksum, read_sealed_line

ALL = [0, 1, 2, 3]
JOBS = [Job.of([fact], [fact % 4]) for fact in range(6)]
SPOTS = np.array([[0, 1, 2], [3, 0, 1]])
STANDINGS = np.array([(0.1, -2.5, 3, 1, 1), (1 / 3, 1e-300, 1, 2, 4)], STANDING)


def fact(number: int) -> Any:
    return np.array([number])


def test_the_control_is_always_there_and_first(engine: Engine, tmp_path: Path) -> None:
    subject, counting = make_subject(tmp_path), Counting(engine)
    found = retrainer(subject, counting).ask(subject.predictions, JOBS)
    assert found.control.tolist() == subject.stand(Job.of([], ALL))
    assert [part.tolist() for part in found.jobs] == [subject.stand(job) for job in JOBS]
    assert counting.jobs[0].removed.tolist() == []
    assert (found.n_retrained, found.n_known) == (7, 0)


def test_jobs_without_the_same_facts_are_one_retraining(tmp_path: Path) -> None:
    subject, counting = make_subject(tmp_path), Counting(LocalEngine(1))
    jobs = [Job.of([4, 2], [3]), Job.of([], [1]), Job.of([2, 4, 2], [0, 3]), Job.of([9], [])]
    found = retrainer(subject, counting).ask(subject.predictions, jobs)
    assert [job.removed.tolist() for job in counting.jobs] == [[], [2, 4]]
    assert counting.jobs[1].which.tolist() == [0, 3]
    assert [part.tolist() for part in found.jobs] == [subject.stand(job) for job in jobs]


def test_a_repeated_question_retrains_nothing(engine: Engine, tmp_path: Path) -> None:
    subject, counting = make_subject(tmp_path), Counting(engine)
    answers = []
    for _ in range(2):
        with open_journal(tmp_path / "journal.jsonl") as journal:
            answers.append(retrainer(subject, counting, journal).ask(subject.predictions, JOBS))
    first, second = answers
    assert len(counting.jobs) == first.n_retrained == second.n_known == 7
    assert second.n_retrained == 0
    assert second.control.tolist() == first.control.tolist()
    assert [part.tolist() for part in second.jobs] == [part.tolist() for part in first.jobs]


def test_only_what_is_missing_is_retrained(tmp_path: Path) -> None:
    subject, journal = make_subject(tmp_path), Journal()
    retrainer(subject, LocalEngine(1), journal).ask(subject.predictions, JOBS[:3])
    counting = Counting(LocalEngine(1))
    jobs = [*JOBS[:2], Job.of([1], [0, 1, 2]), JOBS[4]]
    found = retrainer(subject, counting, journal).ask(subject.predictions, jobs)
    asked = {job.removed[0]: job.which.tolist() for job in counting.jobs}
    assert asked == {1: [0, 2], 4: [0]}  # how prediction 1 stands without fact 1 is known
    assert [part.tolist() for part in found.jobs] == [subject.stand(job) for job in jobs]


def test_a_torn_last_line_is_passed_over_and_the_next_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with open_journal(path) as journal:
        journal.add(fact(1), SPOTS, STANDINGS)
        journal.add(fact(2), SPOTS, STANDINGS)
    path.write_bytes(path.read_bytes()[:-9])
    with open_journal(path) as journal:
        assert len(journal) == 1
        assert journal.lacks(fact(2), SPOTS) == [0, 1]
        journal.add(fact(3), SPOTS, STANDINGS)
    with open_journal(path) as journal:
        assert len(journal) == 2
        assert journal.get(fact(3), SPOTS).tolist() == STANDINGS.tolist()


def test_two_journals_of_one_file_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "journal.jsonl"
    with open_journal(path) as one, open_journal(path) as two:
        for number in range(20):
            (one, two)[number % 2].add(fact(number), SPOTS, STANDINGS)
    with open_journal(path) as journal:
        assert len(journal) == 20
        assert all(journal.lacks(fact(number), SPOTS) == [] for number in range(20))


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"[]",
        b'{"removed": "x"}',
        b'{"removed": "x", "spots": [[0, 1, 2]], "standings": []}',
        b'{"removed": "x", "spots": [[0, 1]], "standings": [[0.5, 1.0, 1, 1, 1]]}',
        b'{"removed": "x", "spots": [[0, 1, 2]], "standings": [[0.5, 1.0]]}',
        b'{"removed": "x", "spots": [[0, 1, 2]], "standings": [["a", 1.0, 1, 1, 1]]}',
        b'{"removed": 5, "spots": [[0, 1, 2]], "standings": [[0.5, 1.0, 1, 1, 1]]}',
        b'{"removed": "x", "spots": 7, "standings": 8}',
    ],
)
def test_lines_that_are_no_records_are_passed_over(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    with open_journal(path) as journal:
        journal.add(fact(1), SPOTS, STANDINGS)
    with path.open("ab") as file:
        file.write(b"\n" + line + b"\t" + _line_checksum(line))
    with open_journal(path) as journal:
        journal.add(fact(2), SPOTS, STANDINGS)
    with open_journal(path) as journal:
        assert len(journal) == 2


def test_a_journal_that_can_no_longer_be_written_is_noted_once(tmp_path: Path) -> None:
    subject, events = make_subject(tmp_path), Recorded()
    (tmp_path / "read-only").touch()
    file = os.open(tmp_path / "read-only", os.O_RDONLY)
    journal = Journal(file)
    found = retrainer(subject, LocalEngine(1), journal, events).ask(subject.predictions, JOBS)
    os.close(file)
    assert [part.tolist() for part in found.jobs] == [subject.stand(job) for job in JOBS]
    assert events.notes == ["retrainings are no longer stored: Bad file descriptor"]


@pytest.mark.parametrize(
    ("removed", "message"),
    [
        ([3, 1592], "no fact 1592 to remove; choose from 0 to 1591"),
        ([-1], "no fact -1 to remove; choose from 0 to 1591"),
        (
            range(1592),
            "without all 1592 facts nothing is left to train on; remove fewer, "
            "by a smaller k or top",
        ),
    ],
)
def test_facts_that_cannot_be_removed_are_refused(
    tmp_path: Path, removed: Any, message: str
) -> None:
    subject, counting = make_subject(tmp_path), Counting(LocalEngine(1))
    with pytest.raises(whereof.WhereofError) as caught:
        retrainer(subject, counting).ask(subject.predictions, [Job.of(removed, [0])])
    assert str(caught.value) == message
    with pytest.raises(whereof.WhereofError) as caught:
        list(retrainer(subject, counting).rows([np.array(removed)]))
    assert str(caught.value) == message
    assert counting.jobs == []


def test_rows_have_the_control_among_them(engine: Engine, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    found = list(retrainer(subject, engine).rows([fact(3), fact(5)]))
    for rows, removed in zip(found, (np.zeros(0, np.int64), fact(3), fact(5)), strict=True):
        wanted = subject.recipe.retrain(removed)
        assert np.array_equal(rows.entity_rows, wanted.entity_rows)


def test_an_interruption_keeps_what_is_finished(engine: Engine, tmp_path: Path) -> None:
    subject, path = make_subject(tmp_path), tmp_path / "journal.jsonl"
    jobs, events = [Job.of([number], [0]) for number in range(30)], Recorded(stop_after=3)
    with open_journal(path) as journal, pytest.raises(Interrupted):
        retrainer(subject, engine, journal, events).ask(subject.predictions, jobs)
    counting = Counting(engine)
    with open_journal(path) as journal:
        n_kept = len(journal)
        found = retrainer(subject, counting, journal).ask(subject.predictions, jobs)
    assert 3 <= n_kept == len(events.done) < 31
    assert found.n_known == n_kept
    assert len(counting.jobs) == 31 - n_kept


def test_the_journal_is_named_after_what_is_repeated(tmp_path: Path) -> None:
    def key(subject: Subject, engine: Engine) -> str:
        return recipe_key(subject.recipe, engine)

    local = LocalEngine(1)
    (tmp_path / "other").mkdir()
    first, other = make_subject(tmp_path), make_subject(tmp_path / "other", seed=4)
    again = subject_of(whereof.Run.open(tmp_path / "run"))
    elsewhere = Counting(local)
    elsewhere.machine = "another machine"
    assert key(first, local) == key(again, LocalEngine(2))
    assert len({key(first, local), key(other, local), key(first, elsewhere)}) == 3
    changed = [
        first.recipe.problem.config.replace(**it) for it in ({"credit": "step"}, {"rate": 1})
    ]
    keys = [
        recipe_key(replace(first.recipe, problem=replace(first.recipe.problem, config=it)), local)
        for it in changed
    ]
    assert [it == key(first, local) for it in keys] == [True, False]


SCRIPT = """
import json, sys
from pathlib import Path
from retrain.helpers import subject_of, retrainer
import whereof
from whereof.events import Advanced, Events
from whereof.retrain.engine import Job
from whereof.retrain.journal import open_journal
from whereof.retrain.engine import LocalEngine

class Hang(Events):
    def emit(self, event):
        if sys.argv[2] == "hang" and isinstance(event, Advanced) and event.n_done == 5:
            print("ready", flush=True)
            sys.stdin.read()

subject = subject_of(whereof.Run.open(sys.argv[1]))
jobs = [Job.of([number, number + 1], [number % 4]) for number in range(30)]
with open_journal(Path(sys.argv[1]) / "j.jsonl") as journal:
    found = retrainer(subject, LocalEngine(2), journal, Hang()).ask(subject.predictions, jobs)
standings = [part.tolist() for part in (found.control, *found.jobs)]
print(json.dumps([found.n_retrained, found.n_known, standings]))
"""


def start(run: Path, how: str) -> subprocess.Popen[str]:
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests), str(Path(whereof.__file__).parents[1])])
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(run), how],
        env=os.environ | {"PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_killed_process_goes_on_where_it_was(tmp_path: Path) -> None:
    run = trained.train(tmp_path / "run")
    with start(tmp_path / "run", "hang") as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "ready\n"
        killed.send_signal(signal.SIGKILL)
    with start(tmp_path / "run", "on") as second:
        n_retrained, n_known, standings = json.loads(second.communicate()[0])
    assert (n_retrained, n_known) == (26, 5)
    lines = (tmp_path / "run" / "j.jsonl").read_text().split("\n")
    removed = [read_sealed_line(line.encode())["removed"] for line in lines if line]
    assert len(removed) == len(set(removed)) == 31
    subject = subject_of(run)
    jobs = [Job.of([], ALL)]
    jobs += [Job.of([number, number + 1], [number % 4]) for number in range(30)]
    assert [[*map(tuple, part)] for part in standings] == [subject.stand(job) for job in jobs]
