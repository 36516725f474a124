"""What holds for every request: its id, size and origin; for every answer: headers that bind browsers.

The queue before the form to sign in: whoever finds no place is refused before a thread or the database is asked.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treewarden.service.api._answers import problem_of
from treewarden.service.api._requests import COOKIE, address_of, cookie_name
from treewarden.service.errors import (
    ForbiddenError,
    InvalidError,
    ServiceError,
    TooLargeError,
    TooManyError,
    WrongKindError,
)
from treewarden.service.settings import Settings
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.attempts import KnownBrowser, network_of, read_browsers

PATH = "/sign-in"
BROWSER = "treewarden_browser_"
"""What the cookies of a browser begin with that somebody signed in with before: one for each account."""
MOST_BROWSERS = 10


def browsers_of(site: Site, cookies: Mapping[str, str]) -> tuple[KnownBrowser, ...]:
    """Return what the cookies of a browser say of who signed in with it before."""
    begin = cookie_name(site.settings, BROWSER)
    values = [value for name, value in cookies.items() if name.startswith(begin)]
    return read_browsers(site, values[:MOST_BROWSERS])


class SignInQueue:
    """Has a request to sign in hold a place while it is answered; its body was read before."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_asked = scope["type"] == "http" and (scope["method"], scope["path"]) == ("POST", PATH)
        if not is_asked:
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        browsers = browsers_of(self.site, request.cookies)
        whose = browsers[0].account_id if browsers else network_of(address_of(request))
        try:
            place = self.site.hashing.take(whose, is_known=bool(browsers))
        except TooManyError as error:
            await problem_of(PATH, error)(scope, receive, send)
            return
        with place:
            await self.app(scope, receive, send)


SAFE = ("GET", "HEAD", "OPTIONS")
STREAMED = re.compile(r"PUT /api/v1/blobs/[^/]*|POST /submit")
"""What takes files, and bounds them itself while they are read."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What an answer has that says nothing else itself."""
TLS_ALONE = {"Strict-Transport-Security": "max-age=31536000"}
"""Beside them where people come over TLS: a browser then never asks in clear again, for a year."""
REQUEST_ID = "X-Request-Id"


class Guard:
    """Stands before the application; a refusal here reaches no route."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings
        self.headers = HEADERS | TLS_ALONE if settings.is_secure else HEADERS
        self.hosts = {urlsplit(settings.base_url).netloc.lower()} if settings.base_url else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
                headers[REQUEST_ID] = request_id
            await send(message)

        try:
            body = await self._checked(scope, receive)
        except ServiceError as error:
            answer = problem_of(scope["path"], error)
            await answer(scope, receive, marked)
            return
        if scope["method"] == "HEAD":
            await self.app({**scope, "method": "GET"}, body, _without_body(marked))
            return
        await self.app(scope, body, marked)

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if self.hosts and host not in self.hosts and not _is_health(scope["path"]):
            raise InvalidError("host", "is not the address of this service; use its base URL")
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            raise InvalidError(
                "address", "contains a character that is not allowed in a name; remove it"
            )
        if scope["method"] not in SAFE:
            _check_origin(headers, host)
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise WrongKindError("content-encoding", "is not accepted; send the bytes unchanged")
        if STREAMED.fullmatch(f"{scope['method']} {scope['path']}"):
            return receive
        return await _read(headers, receive, self.settings.max_body)


def _without_body(send: Send) -> Send:
    """Return what sends the head of an answer alone; what would follow it is dropped."""

    async def head(message: Message) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return head


def _is_health(path: str) -> bool:
    return path in ("/healthz", "/readyz", "/metrics")


def _check_origin(headers: Headers, host: str) -> None:
    """Refuse what another site has a browser send; a token in the header is nothing that browsers add."""
    if headers.get("authorization"):
        return
    site = headers.get("sec-fetch-site")
    if site in ("same-origin", "none"):
        return
    origin = headers.get("origin")
    if site is None and origin is not None and urlsplit(origin).netloc.lower() == host:
        return
    if site is None and origin is None and COOKIE not in headers.get("cookie", ""):
        return
    raise ForbiddenError(
        "origin", "the request came from another site; use the pages of this service"
    )


async def _read(headers: Headers, receive: Receive, most: int) -> Receive:
    """Return the body, read whole and no further than its limit, whatever its length is said to be."""
    too_large = TooLargeError("body", f"has more than {most} bytes; send a shorter one")
    said = headers.get("content-length", "")
    if said.isdecimal() and (len(said) > 18 or int(said) > most):
        raise too_large
    if not said and "transfer-encoding" not in headers:
        return receive
    data = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return _once(message, receive)
        data += message.get("body", b"")
        if len(data) > most:
            raise too_large
        if not message.get("more_body", False):
            whole = {"type": "http.request", "body": bytes(data), "more_body": False}
            return _once(whole, receive)


def _once(first: Message, receive: Receive) -> Receive:
    left = [first]

    async def next_message() -> Message:
        return left.pop() if left else await receive()

    return next_message
