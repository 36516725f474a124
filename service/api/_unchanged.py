"""Answers that say which state they tell of (ETag), and are left out where who asks has that state (If-None-Match)."""

from __future__ import annotations

import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "/api/v1/"
OK, NOT_MODIFIED = 200, 304
SIGNS = 32
DROPPED = ("content-length", "content-type")


class Unchanged:
    """Tags whole JSON answers to GET; streams pass as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_asked = scope["type"] == "http" and scope["method"] == "GET"
        if not is_asked or not scope["path"].startswith(PREFIX):
            await self.app(scope, receive, send)
            return
        wanted = Headers(scope=scope).get("if-none-match", "")
        starts: list[Message] = []

        async def tagged(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_whole(message):
                starts.append(message)
                return
            if not starts:
                await send(message)
                return
            start = starts.pop()
            body = message.get("body", b"")
            headers = MutableHeaders(scope=start)
            headers.setdefault("ETag", f'"{hashlib.sha256(body).hexdigest()[:SIGNS]}"')
            if _matches(wanted, headers["ETag"]):
                for name in DROPPED:
                    del headers[name]
                start["status"], message["body"] = NOT_MODIFIED, b""
            await send(start)
            await send(message)

        await self.app(scope, receive, tagged)


def _is_whole(start: Message) -> bool:
    """Return whether an answer is JSON that follows in one piece: what is streamed says no length."""
    headers = Headers(raw=start["headers"])
    is_json = headers.get("content-type", "").startswith("application/json")
    return start["status"] == OK and is_json and "content-length" in headers


def _matches(wanted: str, tag: str) -> bool:
    told = (each.strip().removeprefix("W/") for each in wanted.split(","))
    return any(each in ("*", tag) for each in told)
