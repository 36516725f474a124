"""Browsers that somebody signed in with before: a sealed cookie for each account says so.

Such a browser is not locked out by what others try: only its own attempts count. The cookie alone lets nobody in.
"""

from __future__ import annotations

import base64
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass

from treewarden.service.errors import ServiceError
from treewarden.service.site import Site

SECONDS = 365 * 24 * 3600
MARK = "browser"
"""What else is sealed by the same key begins otherwise."""


@dataclass(frozen=True, slots=True)
class KnownBrowser:
    """A browser in which an account was signed in; ``id`` is one of its own for each account."""

    account_id: str
    id: str


def new_browser(account_id: str) -> KnownBrowser:
    """Return a browser that is new to an account."""
    return KnownBrowser(account_id, secrets.token_hex(16))


def seal_browser(site: Site, browser: KnownBrowser) -> str:
    """Return the value of the cookie."""
    told = "\n".join((MARK, browser.account_id, browser.id, str(int(time.time()))))
    return base64.urlsafe_b64encode(site.vault.seal(told.encode())).decode()


def read_browsers(site: Site, values: Iterable[str]) -> tuple[KnownBrowser, ...]:
    """Return what cookies say, but for those that are not ours or too old."""
    found = (_read(site, value) for value in values)
    return tuple(each for each in found if each is not None)


def _read(site: Site, value: str) -> KnownBrowser | None:
    try:
        told = site.vault.unseal(base64.urlsafe_b64decode(value.encode())).decode()
        mark, account_id, browser_id, since = told.split("\n")
        is_young = time.time() - int(since) < SECONDS
    except (ServiceError, ValueError):
        return None
    return KnownBrowser(account_id, browser_id) if mark == MARK and is_young else None
