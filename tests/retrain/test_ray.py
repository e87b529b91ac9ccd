"""Ray: clusters, workers and dying workers."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import whereof
from retrain.helpers import make_subject, never
from whereof.retrain.engine import Job, Recipe, choose_engine
from whereof.retrain.options import EngineOptions
from whereof.training.results import Parameters
from whereof.types import FactIds

pytest.importorskip("ray", reason="ray is not installed")

SCRIPT = """
import signal, sys
import ray
from retrain.helpers import make_subject, never
from pathlib import Path
from whereof.retrain.engine import Job, choose_engine
from whereof.retrain.options import EngineOptions

if __name__ == "__main__":
    before = signal.getsignal(signal.SIGTERM)
    address = sys.argv[2] if len(sys.argv) > 2 else None
    engine = choose_engine(EngineOptions(engine="ray", threads=1, ray_address=address))
    assert signal.getsignal(signal.SIGTERM) is before
    subject, jobs = make_subject(Path(sys.argv[1])), [Job.of([], [0]), Job.of([3], [1])]
    found = dict(engine.retrain(subject.recipe, jobs, subject.predictions, never))
    assert all(found[n].tolist() == subject.stand(job) for n, job in enumerate(jobs))
    print(engine.at_once)
    engine.close()
    assert not ray.is_initialized()
"""


def retrain_elsewhere(folder: Path, *address: str) -> tuple[str, str]:
    """The output of another process that retrains on a cluster."""
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join([str(tests), str(Path(whereof.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), *address],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
def test_a_cluster_is_started_quietly_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert retrain_elsewhere(tmp_path) == ("1\n", "")


@pytest.mark.slow
def test_a_running_cluster_is_joined_and_left_alone(cluster: Any, tmp_path: Path) -> None:
    address = cluster.get_runtime_context().gcs_address
    assert retrain_elsewhere(tmp_path, address)[0] == "1\n"
    assert choose_engine(EngineOptions(engine="ray")).identity.startswith("ray ")


def test_a_cluster_of_this_process_is_left_alone(cluster: Any) -> None:
    choose_engine(EngineOptions(engine="ray")).close()
    assert cluster.is_initialized()


def test_another_cluster_than_that_of_this_process_is_refused(cluster: Any) -> None:
    with pytest.raises(whereof.WhereofError, match=r"connected to .*; leave it out"):
        choose_engine(EngineOptions(engine="ray", ray_address="10.0.0.5:6379"))


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_no_more_run_at_once_than_there_are_cores(cluster: Any, threads: int) -> None:
    engine = choose_engine(EngineOptions(engine="ray", threads=threads))
    assert engine.at_once == min(threads, 2)


def test_a_retraining_survives_the_death_of_its_worker(cluster: Any, tmp_path: Path) -> None:
    class Mortal(Recipe):
        """Kills the worker at every first attempt, after its work is done."""

        def retrain(self, removed: FactIds, *rest: Any, **options: Any) -> Parameters:
            rows = super().retrain(removed, **options)
            marker = tmp_path / f"died-{removed.tolist()}"
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return rows

    subject, jobs = make_subject(tmp_path), [Job.of([fact], [0, 1]) for fact in range(3)]
    mortal = Mortal(subject.recipe.problem, subject.recipe.n_facts)
    engine = choose_engine(EngineOptions(engine="ray"))
    found = dict(engine.retrain(mortal, jobs, subject.predictions, never))
    assert len(list(tmp_path.glob("died-*"))) == len(jobs)
    assert {n: found[n].tolist() for n in found} == dict(enumerate(map(subject.stand, jobs)))


def test_machines_that_differ_are_refused(cluster: Any, tmp_path: Path) -> None:
    subject = make_subject(tmp_path)
    engine = choose_engine(EngineOptions(engine="ray"))
    vars(engine)["_machine"] = "other kernels"
    with pytest.raises(whereof.WhereofError, match="machines of the Ray cluster differ"):
        list(engine.retrain(subject.recipe, [Job.of([], [0])], subject.predictions, never))


ADDRESSES = ("127.0.0.1:1", "nowhere.invalid:6379", "rubbish", "")


def test_an_address_without_a_cluster_is_one_line() -> None:
    code = (
        "from whereof.retrain.engine import choose_engine\n"
        "from whereof.retrain.options import EngineOptions\n"
        "from whereof.errors import WhereofError\n"
        f"for address in {ADDRESSES}:\n"
        "    try: choose_engine(EngineOptions(engine='ray', ray_address=address))\n"
        "    except WhereofError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for address, line in zip(ADDRESSES, done.stdout.splitlines(), strict=True):
        assert line.startswith(f"no Ray cluster at {address!r} (")
        assert line.endswith("or none to start one on this machine")


def test_a_missing_ray_is_said_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(whereof.WhereofError) as caught:
        choose_engine(EngineOptions(engine="ray"))
    assert (
        str(caught.value) == 'engine ray requires ray; install it with: pip install "whereof[ray]"'
    )
