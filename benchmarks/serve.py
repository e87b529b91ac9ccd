"""Load on `whereof serve`: concurrent readers, their waiting times, errors, and memory.

    python benchmarks/serve.py RUN [--clients 50] [--retraining 0] [--minutes 1] [--pause 1]

--retraining of the clients ask for jobs that retrain, one after the other, and cancel every third.
Only they may get an error: 429, if too many jobs wait. Every other client asks, opens Why, looks
at an entity, types a name and removes facts, with a pause after each of them (uniform, from half to
one and a half of --pause; 0: none). Clients and server share this machine.
"""

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import whereof
from whereof.present.html import static_root

WAIT = 30.0


def clicks(run: whereof.Run, rng: random.Random) -> list[tuple[str, str, dict[str, Any]]]:
    """What one reader does with one prediction: a name, the path and the query or body."""
    data = run.dataset
    fact = data.train[rng.randrange(data.n_facts)].tolist()
    named = {"subject": data.entities.name(fact[0]), "object": data.entities.name(fact[2])}
    if not data.two_way:
        named["relation"] = data.relations.name(fact[1])
    question = {key: name for key, name in named.items() if key != "object"}
    quick, removed = named | {"method": "rollback"}, sorted(rng.sample(range(data.n_facts), 3))
    return [
        ("names", "/names", {"text": named["subject"][: rng.randint(0, 3)]}),
        ("ask page", "ask", question),
        ("answers", "/answers", question),
        ("why page", "why", quick),
        ("explanation", "/explanation", quick | {"graph": "true"}),
        ("estimate", "/estimate", quick | {"facts": removed}),
        ("entity", "/entity", {"name": named["object"], "place": "object"}),
        ("static", "", {}),
    ]


async def read(
    address: str, run: whereof.Run, name: str, until: float, pause: float, seed: int
) -> list[tuple[str, float, int]]:
    """One reader: the name, seconds and status of every request; 0 if it failed."""
    rng, found = random.Random(seed), list[tuple[str, float, int]]()
    async with httpx.AsyncClient(base_url=address, timeout=WAIT) as client:
        # Readers do not click in step: each starts at another time and at another click.
        await asyncio.sleep(rng.uniform(0, 8 * pause))
        first = rng.randrange(8)
        while time.monotonic() < until:
            for kind, path, query in clicks(run, rng)[first:]:
                first = 0
                place = f"/runs/{name}/{path}" if path[:1] != "/" else f"/api/runs/{name}{path}"
                start, status = time.perf_counter(), 0
                try:
                    if kind == "static":
                        answer = await client.get(f"{static_root()}/style.css")
                    elif kind == "estimate":
                        answer = await client.post(place, json=query)
                    else:
                        answer = await client.get(place, params=query)
                    status = answer.status_code
                except httpx.HTTPError as error:
                    print(f"{kind}: {error!r}", file=sys.stderr)
                found.append((kind, time.perf_counter() - start, status))
                await asyncio.sleep(rng.uniform(pause / 2, 1.5 * pause))
    return found


async def retrain(
    address: str, run: whereof.Run, name: str, until: float, pause: float, seed: int
) -> list[tuple[str, float, int]]:
    """One client that asks for verdicts: the status of every request, and how its jobs ended."""
    rng, found = random.Random(seed), list[tuple[str, float, int]]()
    async with httpx.AsyncClient(base_url=address, timeout=WAIT) as client:
        while time.monotonic() < until:
            named = next(query for kind, _, query in clicks(run, rng) if kind == "why page")
            start, state = time.perf_counter(), "running"
            asked = {"kind": "verify", **named, "top": rng.randint(1, 5)}
            answer = await client.post(f"/api/runs/{name}/jobs", json=asked)
            found.append(("job asked", time.perf_counter() - start, answer.status_code))
            if answer.status_code == 202 and rng.random() < 1 / 3:
                await client.delete(f"/api/jobs/{answer.json()['id']}")
            while answer.status_code == 202 and state in ("waiting", "running"):
                await asyncio.sleep(pause / 2)
                job = await client.get(f"/api/jobs/{answer.json()['id']}")
                state = job.json().get("state", f"{job.status_code}")
                if time.monotonic() > until + WAIT:
                    break
            if answer.status_code == 202:
                ended = 200 if state in ("done", "cancelled", "waiting", "running") else 500
                found.append((f"job {state}", time.perf_counter() - start, ended))
            await asyncio.sleep(rng.uniform(pause / 2, 1.5 * pause))
    return found


def memory(process: int) -> float:
    """Megabytes of memory of a process."""
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else float("nan")


def cpu_seconds(process: int) -> float:
    """CPU time of a process so far, which other work on the machine hardly changes."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(options: argparse.Namespace, address: str, process: int) -> None:
    run, name = whereof.Run.open(options.run), ""
    async with httpx.AsyncClient() as client:
        name = (await client.get(f"{address}/api/runs")).json()[0]["id"]

    async def readers(seconds: float, seed: int) -> list[tuple[str, float, int]]:
        until = time.monotonic() + seconds
        tasks = (
            (retrain if number < options.retraining else read)(
                address, run, name, until, options.pause, seed + number
            )
            for number in range(options.clients)
        )
        return [each for found in await asyncio.gather(*tasks) for each in found]

    await readers(min(5, 60 * options.minutes), 10_000)  # warm caches: memory is measured from here
    before, cpu = memory(process), cpu_seconds(process)
    found = await readers(60 * options.minutes, 0)
    after, cpu = memory(process), cpu_seconds(process) - cpu
    by_kind = defaultdict[str, list[float]](list)
    for kind, seconds, _ in found:
        by_kind[kind].append(1000 * seconds)
    allowed = {"job asked": (202, 429)}
    bad = [(kind, status) for kind, _, status in found if status not in allowed.get(kind, (200,))]
    n_full = sum(status == 429 for _, _, status in found)
    print("| request | number | median | p99 | slowest |\n|---|--:|--:|--:|--:|")
    for kind, times in [*by_kind.items(), ("all", [1000 * each for _, each, _ in found])]:
        half, most, worst = np.percentile(times, [50, 99, 100])
        print(f"| {kind} | {len(times):,} | {half:.0f} ms | {most:.0f} ms | {worst:.0f} ms |")
    print(f"\n{options.clients} clients, {options.retraining} of them with retrainings, for "
          f"{options.minutes:g} min: {len(bad)} errors {bad[:10]}, {n_full} times 429")  # fmt: skip
    print(f"CPU time of the server: {1000 * cpu / len(found):.1f} ms a request")
    print(f"memory: {before:.0f} MB before, {after:.0f} MB after")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--retraining", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--pause", type=float, default=1.0)
    options = parser.parse_args()
    command = [sys.executable, "-m", "whereof", "serve", options.run, "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip().rstrip("/")
            asyncio.run(load(options, address, server.pid))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
