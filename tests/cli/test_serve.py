"""`whereof serve` as a user types it: addresses, bad input, Ctrl-C."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from trained import train

from cli.helpers import whereof
from whereof.server.runs import open_runs

httpx = pytest.importorskip("httpx")
pytest.importorskip("fastapi")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs."""
    folder = tmp_path_factory.mktemp("runs")
    train(folder / "first run")
    train(folder / "second")
    return folder


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server as a process of its own, and the address that it prints."""
    command = [sys.executable, "-m", "whereof", "serve", *arguments, "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        try:
            yield it, it.stdout.readline().strip()
        finally:
            it.kill()


def test_a_folder_of_runs_is_served_until_ctrl_c(runs: Path) -> None:
    with served(str(runs), "--port", "0") as (server, address):
        listed = httpx.get(f"{address}api/runs").json()
        assert [each["id"] for each in listed] == ["first-run", "second"]
        asked = {"kind": "explain", "subject": "uk", "relation": "embassy", "method": "retrain"}
        job = httpx.post(f"{address}api/runs/second/jobs", json=asked).json()["id"]
        opened = threading.Event()

        def follow() -> None:
            with httpx.stream("GET", f"{address}api/jobs/{job}/events", timeout=60) as answer:
                for _ in answer.iter_lines():
                    opened.set()

        thread = threading.Thread(target=follow)
        thread.start()
        assert opened.wait(60)
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        thread.join()
        assert server.stderr is not None
        assert server.stderr.read() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
def test_a_client_that_breaks_off_does_not_end_the_server(runs: Path) -> None:
    with served(str(runs), "--port", "0") as (server, address):
        server.send_signal(signal.SIGPIPE)  # as a write to a closed connection does
        assert httpx.get(f"{address}api/runs").status_code == 200


def test_a_token_is_part_of_the_address(runs: Path) -> None:
    arguments = (str(runs / "second"), "--host", "127.0.0.1", "--token", "a b", "--port", "0")
    with served(*arguments) as (_, address):
        assert address.endswith("/?token=a+b")
        with httpx.Client(follow_redirects=True) as client:
            assert client.get(address.replace("/?", "/api/runs?")).status_code == 200
        assert httpx.get(address.partition("?")[0] + "api/runs").status_code == 401


def test_insecure_lets_no_other_name_in_on_this_machine_alone(runs: Path) -> None:
    with served(str(runs / "second"), "--insecure", "--port", "0") as (_, address):
        statuses = {
            host: httpx.get(f"{address}api/runs", headers={"Host": host}).status_code
            for host in ("localhost", "evil.example")
        }
    assert statuses == {"localhost": 200, "evil.example": 403}


def test_the_next_free_port_is_taken(runs: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with served(str(runs / "second"), "--port", str(port)) as (server, address):
            number = int(address.rpartition(":")[2].strip("/"))
            assert number > port
            assert httpx.get(f"{address}api/runs").status_code == 200  # it listens to signals now
            server.send_signal(signal.SIGINT)
            assert server.stderr is not None
            assert server.stderr.read() == f"port {port} is taken; using {number}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none"], "no run at none; make one with: whereof train DATA -o none"),
        (["."], ". is not a run: it has no manifest.json; name the folder that `train` wrote"),
        (
            ["second", "--host", "0.0.0.0"],
            "--host 0.0.0.0 lets other machines in; protect the page with --token SECRET, or use "
            "--insecure if everybody who reaches this machine may use it",
        ),
        (["second", "--token", " "], "--token is empty; give a secret, or leave it out"),
        (
            ["second", "--token", "a", "--insecure"],
            "--insecure and --token exclude each other; choose one of them",
        ),
        (
            ["second", "--host", "192.0.2.1", "--token", "a"],
            "cannot serve on 192.0.2.1, port 8000: Cannot assign requested address",
        ),
    ],
)
def test_bad_input_is_one_line(
    runs: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    folder = tmp_path if arguments[0] == "." else runs
    done = whereof("serve", *arguments, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"whereof: {message}\n")


def test_a_missing_extra_is_said(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = whereof("serve", str(runs / "second"))
    wanted = 'whereof serve requires uvicorn; install it with: pip install "whereof[web]"'
    assert done.stderr == f"whereof: {wanted}\n"


def test_ids_are_short_and_distinct(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "second").symlink_to(runs / "first run")
    found = open_runs([runs, runs / "second", tmp_path / "second"])
    assert [*found] == ["first-run", "second"]  # each folder once
    os.rename(tmp_path / "second", tmp_path / "other")  # noqa: PTH104
    train(tmp_path / "second")
    assert [*open_runs([runs, tmp_path])] == ["first-run", "second", "second-2"]
