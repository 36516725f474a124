"""The cookie of a session: out of reach of scripts, and of other sites but for following a link."""

from __future__ import annotations

from fastapi.responses import Response

from service.api._asking import COOKIE
from service.settings import Settings


def keep_session(answer: Response, settings: Settings, secret: str) -> None:
    """Have a browser keep a session; one that was there before is replaced."""
    answer.set_cookie(COOKIE, secret, httponly=True, samesite="lax", secure=settings.is_secure)


def drop_session(answer: Response, settings: Settings) -> None:
    """Have a browser forget a session."""
    answer.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=settings.is_secure)
