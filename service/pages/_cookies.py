"""Cookies: out of reach of scripts, and of other sites but for following a link; bound to this host by https."""

from __future__ import annotations

from fastapi.responses import Response

from treewarden.service.api._queueing import BROWSER
from treewarden.service.api._requests import COOKIE, cookie_name
from treewarden.service.auth.tokens import digest_of
from treewarden.service.settings import Settings
from treewarden.service.site import Site
from treewarden.service.use_cases.accounts.attempts import (
    SECONDS,
    KnownBrowser,
    new_browser,
    seal_browser,
)


def keep_cookie(
    answer: Response, settings: Settings, name: str, value: str, seconds: int | None = None
) -> None:
    """Have a browser keep a cookie, until it is closed where nothing is said; one of that name is replaced."""
    answer.set_cookie(
        cookie_name(settings, name),
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=settings.is_secure,
    )


def drop_cookie(answer: Response, settings: Settings, name: str) -> None:
    """Have a browser forget a cookie."""
    answer.delete_cookie(
        cookie_name(settings, name), httponly=True, samesite="lax", secure=settings.is_secure
    )


def keep_session(answer: Response, settings: Settings, secret: str) -> None:
    """Have a browser keep a session; one that was there before is replaced."""
    keep_cookie(answer, settings, COOKIE, secret)


def drop_session(answer: Response, settings: Settings) -> None:
    """Have a browser forget a session."""
    drop_cookie(answer, settings, COOKIE)


def keep_browser(
    answer: Response, site: Site, known: tuple[KnownBrowser, ...], account_id: str
) -> None:
    """Have a browser keep that an account signed in with it."""
    mine = next(
        (known_browser for known_browser in known if known_browser.account_id == account_id), None
    )
    name = BROWSER + digest_of(account_id)[:12]
    value = seal_browser(site, mine or new_browser(account_id))
    keep_cookie(answer, site.settings, name, value, SECONDS)
