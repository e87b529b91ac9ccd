"""Serve a run, ask for a job as a browser does, and print its result: python served_job.py RUN."""

import json
import sys
import threading
import time
from pathlib import Path

import httpx

import whereof
from whereof.server.app import create_app
from whereof.server.serve import StoppableServer, listen

ASKED = {"subject": "egypt", "relation": "embassy", "object": "usa", "method": "rollback"}


def main(run: Path) -> None:
    listening = listen("127.0.0.1", 0)
    server = StoppableServer(create_app({"nations": whereof.Run.open(run)}))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with httpx.Client(base_url=address, timeout=60) as client:
        asked = {"kind": "verify", **ASKED, "top": 5, "each": True}
        job = client.post("/api/runs/nations/jobs", json=asked).json()
        while job["state"] in ("waiting", "running"):
            time.sleep(0.02)
            job = client.get(f"/api/jobs/{job['id']}").json()
    server.end()
    thread.join()
    sys.stdout.write(json.dumps(job["result"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
