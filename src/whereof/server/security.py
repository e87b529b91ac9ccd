"""Check requests (token, host name, origin, size), and add headers to every response."""

import hmac
import secrets
from asyncio import wait_for
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from whereof.server import limits
from whereof.server.responses import error

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_CLIENT = "whereof-client"
"""The cookie that tells clients apart, so that their jobs take turns."""
_KEPT = "public, max-age=31536000, immutable"
_SAFE = ("GET", "HEAD", "OPTIONS")
_NEEDS_TOKEN = (
    "this server requires its token: open the address that `whereof serve` printed, or send the "
    "header Authorization: Bearer TOKEN"
)
_OTHER_NAME = "this server answers only to localhost and 127.0.0.1; for other names, use --token"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


async def client_of(request: Request) -> str:
    """Who asks: the client's cookie, or its address."""
    address = request.client.host if request.client else ""
    return request.cookies.get(_CLIENT, "")[:64] or address


@dataclass(frozen=True)
class Security:
    """An ASGI middleware in front of all routes.

    With a token, every request needs it. Without one, requests must name this machine in their
    Host header, unless `insecure` is set. Otherwise another site could point its own name to
    127.0.0.1 and read what is served here (DNS rebinding).
    """

    app: ASGIApp
    token: str | None = None
    insecure: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        response = _Response(request, send)
        try:
            await self._answer(request, receive, response.send)
        except Exception:
            if not response.started:
                failed = _error(request, 500, "the server failed on this request; its log says why")
                await failed(scope, receive, response.send)
            raise  # the traceback is for the log

    async def _answer(self, request: Request, receive: Receive, send: Send) -> None:
        answer = self._refuse(request)
        if answer is None and request.method not in _SAFE:
            try:
                body = await wait_for(_read(receive), limits.BODY_SECONDS)
            except TimeoutError:
                late = f"the request took longer than {limits.BODY_SECONDS:g} seconds to arrive"
                answer = _error(request, 408, late)
                answer.headers["connection"] = "close"
            else:
                receive = _replayed(body or b"", receive)
                if body is None:
                    size = limits.BODY_BYTES
                    answer = _error(request, 413, f"the request is larger than {size:,} bytes")
        await (answer or self.app)(request.scope, receive, send)

    def _refuse(self, request: Request) -> Response | None:
        """The answer to a request that is not let through."""
        host = request.headers.get("host", "")
        if sum(len(name) + len(value) for name, value in request.headers.raw) > limits.HEADER_BYTES:
            return _error(request, 431, f"the headers have over {limits.HEADER_BYTES:,} bytes")
        if self.token is None and not self.insecure and not is_loopback(_host_name(host)):
            return _error(request, 403, _OTHER_NAME)
        if self.token is not None and not _is_static(request):
            answer = self._check_token(request, self.token)
            if answer is not None:
                return answer
        if request.method not in _SAFE and not _is_same_origin(request.headers, host):
            return _error(request, 403, "requests from other sites are refused")
        return None

    def _check_token(self, request: Request, token: str) -> Response | None:
        """The answer to a request without the token, or to one with the token in its address.

        The latter is sent to the clean address with a cookie.
        """
        name, value = _cookie_of(token)
        query = parse_qsl(request.url.query, keep_blank_values=True)
        given = [text for key, text in query if key == "token"]
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if not (
            _equal(request.cookies.get(name, ""), value)
            or (scheme.lower() == "bearer" and _equal(bearer.strip(), token))
            or (request.method == "GET" and given and _equal(given[-1], token))
        ):
            found = _error(request, 401, _NEEDS_TOKEN)
            found.headers["www-authenticate"] = "Bearer"
            return found
        if request.method != "GET" or not given:
            return None
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        # One slash: an address that starts with two would lead to another site.
        clean = "/" + quote(request.scope["path"].lstrip("/\\")) + (f"?{rest}" if rest else "")
        answer = RedirectResponse(clean, 303)
        # Lax: the cookie also comes with a link in a mail. Writes must come from our own pages.
        secure = request.url.scheme == "https"
        answer.set_cookie(name, value, httponly=True, samesite="lax", secure=secure)
        return answer


def _cookie_of(token: str) -> tuple[str, str]:
    """The name and the value of the cookie that proves the token, without containing it.

    Cookies do not know ports: the name keeps two servers on one machine apart.
    """
    name = f"whereof-{sha256(token.encode()).hexdigest()[:8]}"
    return name, hmac.new(token.encode(), b"whereof cookie", sha256).hexdigest()


def _equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_static(request: Request) -> bool:
    """Whether it reads a style sheet or script, which say nothing about the runs."""
    return request.method == "GET" and request.scope["path"].startswith("/static/")


def _is_same_origin(headers: Headers, host: str) -> bool:
    """Whether a page of this server sent it. Programs send neither of these headers."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == host


async def _read(receive: Receive) -> bytes | None:
    """The whole body of a request; None if it is too large."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limits.BODY_BYTES:
            return None
    return body


def _replayed(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Receives a body that was read already, then what comes after it."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class _Response:
    """Sends a response, with the headers that every response has."""

    def __init__(self, request: Request, send: Send) -> None:
        self._request, self._send = request, send
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self._add_headers(MutableHeaders(scope=message), message["status"])
        await self._send(message)

    def _add_headers(self, headers: MutableHeaders, status: int) -> None:
        request = self._request
        for name, value in _HEADERS.items():
            headers[name] = value
        # The address of a style sheet or script has a version: it changes with the file.
        keep = status == 200 and _is_static(request)
        headers.setdefault("cache-control", _KEPT if keep else "private, no-cache")
        is_page = headers.get("content-type", "").startswith("text/html")
        if is_page and _CLIENT not in request.cookies:
            cookie = f"{_CLIENT}={secrets.token_urlsafe(12)}; Path=/; HttpOnly; SameSite=Lax"
            headers.append("set-cookie", cookie)


def _error(request: Request, status: int, message: str) -> Response:
    return error(request.scope["path"], request.headers.get("accept", ""), status, message)
