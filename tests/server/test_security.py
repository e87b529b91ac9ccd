"""Who may ask what: token, host names, origin and sizes; headers of every response."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from httpx import Client, Headers, get

import whereof
from server.conftest import serving, serving_app
from whereof.present.html import static_root
from whereof.server import limits
from whereof.server.app import create_app
from whereof.server.serve import listen

TOKEN = "a secret & more"
JOBS = "/api/runs/nations/jobs"


@pytest.fixture(scope="module")
def guarded(nations: whereof.Run) -> Iterator[str]:
    with serving({"nations": nations}, token=TOKEN) as address:
        yield address


@pytest.fixture
def stranger(guarded: str) -> Iterator[Client]:
    with Client(base_url=guarded) as found:
        yield found


def test_without_the_token_nothing_is_shown(stranger: Client) -> None:
    for path in ("/", "/api/runs", "/runs/nations/ask", "/api/openapi.json", "/nothing"):
        answer = stranger.get(path)
        assert answer.status_code == 401
        assert answer.json()["message"].startswith("this server requires its token")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_style_and_scripts_are_public_and_kept_by_version(stranger: Client) -> None:
    for name in ("style.css", "why.js", "vendor/cytoscape.esm.min.mjs"):
        found = stranger.get(f"{static_root()}/{name}")
        assert (found.status_code, found.headers["cache-control"][-9:]) == (200, "immutable")
    for path in (f"{static_root()}/none", "/static/0/style.css"):
        missing = stranger.get(path)
        assert (missing.status_code, missing.headers["cache-control"][-8:]) == (404, "no-cache")
    assert stranger.get("/static/../api/runs").status_code == 401
    assert stranger.get("/static/%2e%2e/api/runs").status_code == 404


def test_the_token_is_exchanged_for_a_cookie_once(stranger: Client) -> None:
    answer = stranger.get("/api/runs", params={"token": TOKEN, "x": "1 2"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/api/runs?x=1+2")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert TOKEN not in cookie
    assert stranger.get("/api/runs").status_code == 200
    (name,) = stranger.cookies
    stranger.cookies.clear()
    forged = {"Cookie": f"{name}=\xe9; whereof=1".encode("latin-1")}
    assert stranger.get("/api/runs", headers=forged).status_code == 401


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example/", "/%2F/evil.example"])
def test_the_exchange_never_leads_to_another_site(stranger: Client, path: str) -> None:
    answer = stranger.get(f"{stranger.base_url}".rstrip("/") + path, params={"token": TOKEN})
    assert answer.headers["location"].startswith("/")
    assert answer.headers["location"][1:2] not in ("/", "\\")


def test_programs_send_the_token_as_a_header(stranger: Client) -> None:
    sent = {f"Bearer {TOKEN}": 200, "Bearer another": 401, "Bearer": 401, f"Basic {TOKEN}": 401}
    for value, status in sent.items():
        header = {"Authorization": value}
        assert stranger.get("/api/runs", headers=header).status_code == status
    assert stranger.get("/api/runs", params={"token": "another"}).status_code == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:8000", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("10.0.0.1:8000", 403),
        ("[", 403),
        ("", 403),
    ],
)
def test_only_names_of_this_machine_are_answered(client: Client, host: str, status: int) -> None:
    assert client.get("/api/runs", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({}, False),
        ({"Sec-Fetch-Site": "same-origin"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Origin": "http://evil.example"}, True),
        ({"Origin": "null"}, True),
        ({"Origin": "http://["}, True),
        ({"Origin": "http://localhost", "Host": "localhost"}, False),
        ({"Origin": "http://localhost:9", "Host": "localhost"}, True),
    ],
)
def test_other_sites_cannot_start_or_cancel_jobs(
    client: Client, headers: dict[str, str], refused: bool
) -> None:
    for method, path in (("POST", JOBS), ("DELETE", "/api/jobs/none")):
        answer = client.request(method, path, headers=headers, json={})
        assert (answer.status_code == 403) == refused


def test_large_bodies_are_refused(client: Client) -> None:
    body = b" " * (limits.BODY_BYTES + 1)
    for content in (body, iter([body[:1000], body])):  # with a length, and in chunks
        answer = client.post(JOBS, content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        assert answer.json() == {"message": "the request is larger than 65,536 bytes"}


@contextmanager
def connected(address: str, text: bytes) -> Iterator[socket.socket]:
    """A connection that has sent some bytes."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as found:
        found.sendall(text)
        yield found


START = b"POST /api/runs/nations/jobs HTTP/1.1\r\nHost: localhost\r\n"


def test_slow_clients_are_dropped(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    with connected(address, START + b"Content-Length: 100\r\n\r\nab") as slow:
        answer = slow.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"took longer than 0.2 seconds" in answer + slow.recv(10_000)
        assert not slow.recv(100)  # closed
    again = b"GET /api/runs HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api"
    for text in (b"", b"GET", START, again):
        with connected(address, text) as slow:
            answer = b"".join(iter(lambda: slow.recv(10_000), b""))  # until it is closed
            assert answer.count(b"HTTP/1.1 200 OK") == (text == again)


def test_fast_clients_may_stay(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)
    for _ in range(5):
        assert client.get("/api/runs").status_code == 200
        time.sleep(0.1)


def test_connections_are_limited(nations: whereof.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS", 5)
    with serving({"nations": nations}) as address, ExitStack() as held:
        assert get(f"{address}/api/runs").status_code == 200
        for _ in range(5):
            held.enter_context(connected(address, b"GET"))
        assert get(f"{address}/api/runs").status_code == 503
        held.close()
        while get(f"{address}/api/runs").status_code == 503:
            time.sleep(0.01)


def test_no_other_origin_is_allowed(client: Client) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for answer in (
        client.get("/api/runs", headers=asked),
        client.options(JOBS, headers=asked),
        client.post(JOBS, headers=asked, json={}),
    ):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_the_token_is_never_logged(
    nations: whereof.Run, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    app = create_app({"nations": nations}, token="very-secret")

    @app.get("/broken")
    async def broken() -> None:
        raise RuntimeError("broken")

    with serving_app(app) as address:
        for header in ({"Authorization": "Bearer very-secret"}, {"Cookie": "x=very-secret"}):
            get(f"{address}/broken", headers=header)
        get(f"{address}/broken?token=very-secret", follow_redirects=True)
        get(f"{address}/api/runs?token=very-secret-not")
    out, err = capfd.readouterr()
    own = [each.getMessage() for each in caplog.records if not each.name.startswith("http")]
    assert "RuntimeError" in err + "".join(each.exc_text or "" for each in caplog.records)
    assert "very-secret" not in "\n".join([out, err, *own])


def test_large_headers_are_refused(client: Client) -> None:
    answer = client.get("/api/runs", headers={"X": "a" * (limits.HEADER_BYTES + 1)})
    assert (answer.status_code, "bytes" in answer.json()["message"]) == (431, True)
    assert client.get("/api/runs", headers={"X": "a" * 1000}).status_code == 200


def check_headers(headers: Headers) -> None:
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_every_response_has_the_headers(client: Client) -> None:
    style = f"{static_root()}/style.css"
    for path in ("/api/runs", "/nothing", "/api/runs/none", "/static/none", style):
        check_headers(client.get(path).headers)


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_a_failure_of_the_server_says_nothing_about_it(
    nations: whereof.Run, accept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise RuntimeError("private")

    app = create_app({"nations": nations})
    app.add_api_route("/broken", fail)
    with serving_app(app) as address:
        answer = get(f"{address}/broken", headers={"Accept": accept})
    assert answer.status_code == 500
    assert "the server failed on this request; its log says why" in answer.text
    assert answer.headers["content-type"].startswith(accept)
    assert "private" not in answer.text
    assert "private" in capsys.readouterr().err
    check_headers(answer.headers)


def test_files_outside_the_static_folder_are_not_served(client: Client) -> None:
    for path in ("../html.py", "..%2fhtml.py", "%2e%2e/html.py", "/etc/passwd", "vendor"):
        assert client.get(f"{static_root()}/{path}").status_code == 404


@pytest.mark.parametrize("run", ["..", "%2e%2e", "%2Ftmp", ".", "nations%2f..%2fratings"])
def test_a_run_is_found_by_id_only(client: Client, run: str) -> None:
    assert client.get(f"/api/runs/{run}/answers").status_code == 404


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "explain", "candidates": "/etc/passwd"},
        {"kind": "verify", "engine": "ray", "ray_address": "evil.example:1"},
        {"kind": "evaluate", "predictions": "/etc/passwd"},
        {"kind": "explain", "budget": 10_000},
        {"kind": "explain", "budget": limits.RETRAININGS + 1},
        {"kind": "smallest", "budget": "3h"},
        {"kind": "smallest", "budget": "-1"},
        {"kind": "verify", "seeds": 1000},
        {"kind": "verify", "facts": [0] * (limits.FACTS + 1)},
        {"kind": "evaluate", "limit": 100_000},
        {"kind": "explain", "top": 100_000},
        {"kind": "explain", "subject": "a" * (limits.NAME_LETTERS + 1)},
        {"kind": "delete"},
    ],
    ids=lambda asked: "-".join(map(str, asked)),
)
def test_jobs_beyond_the_limits_are_refused(client: Client, asked: dict[str, object]) -> None:
    answer = client.post(JOBS, json=asked)
    assert answer.status_code == 422
    assert "\n" not in answer.json()["message"]
    assert len(answer.json()["message"]) < 300


def test_small_packets_are_sent_at_once() -> None:
    with listen("127.0.0.1", 0) as found:  # asyncio looks at the protocol
        assert found.proto == socket.IPPROTO_TCP
