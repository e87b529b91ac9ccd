"""A Ray cluster of several local nodes that loses one while it evaluates."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trained import train

import whereof

pytest.importorskip("ray", reason="ray is not installed")

SCRIPT = """
import json, sys, threading, time
from pathlib import Path
from ray.cluster_utils import Cluster
import whereof

def lose(cluster, node, journals):
    while not any(path.stat().st_size for path in journals()):
        time.sleep(0.01)
    cluster.remove_node(node, allow_graceful=False)
    print("lost", file=sys.stderr, flush=True)

if __name__ == "__main__":
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = cluster.add_node(num_cpus=1)
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    run = whereof.Run.open(sys.argv[1])
    journals = lambda: list(Path(sys.argv[1]).glob("retrained/*.jsonl"))
    thread = threading.Thread(target=lose, args=(cluster, node, journals))
    thread.start()
    found = run.evaluate(engine="ray", ray_address=cluster.address, **json.loads(sys.argv[2]))
    thread.join()
    print(json.dumps(found.to_dict()["removal"]))
    cluster.shutdown()
"""


@pytest.mark.slow
def test_an_evaluation_finishes_although_a_node_is_lost(tmp_path: Path) -> None:
    train(tmp_path / "run", epochs=200)
    asked = {"limit": 12, "methods": "rollback,random", "protocols": "removal", "k": "1,3"}
    wanted = whereof.Run.open(tmp_path / "run").evaluate(**asked).to_dict()["removal"]
    paths = [str(Path(whereof.__file__).parents[1]), str(Path(__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "run"), json.dumps(asked)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "lost" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == wanted
