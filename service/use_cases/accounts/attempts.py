"""Attempts to sign in: counted before the password is checked; those that fail are logged, within bounds."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import structlog
from sqlalchemy import Insert, delete, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from treewarden.service.auth.passwords import digest_of
from treewarden.service.database.tables import sign_in_failure
from treewarden.service.errors import ServiceError, TooManyError, new_id
from treewarden.service.ledger.log import record
from treewarden.service.site import Site, Unit

LOG = structlog.get_logger(__name__)
ATTEMPTS = 5
"""For one name from one address, and for one account from one browser that signed in before."""
ATTEMPTS_FROM_ADDRESS = 50
"""From one address, whatever names are tried."""
ATTEMPTS_FROM_ANYWHERE = 100
"""For one name, whatever addresses they come from."""
WITHIN = timedelta(minutes=15)
LOGGED_OF_ORGANISATION = 50
"""Rows about failed attempts that one organisation's log takes within that time."""
LINES_A_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Limit:
    """How many attempts something may have within ``WITHIN``; ``what`` says what is counted."""

    what: str
    most: int = ATTEMPTS

    @property
    def key(self) -> str:
        """What stands for it in the database."""
        return digest_of(self.what)


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that failed: ``subject`` is the name that was tried as it is counted, ``action`` what was refused.

    Both ids are None where there is no account of that name; then only the log of the process tells of it.
    """

    subject: str
    action: str
    address: str
    organisation_id: str | None = None
    account_id: str | None = None


def network_of(address: str) -> str:
    """Return what counts as one address: that of IPv4, the network of 64 bits of IPv6, which one customer has."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False))


def count_attempt(unit: Unit, limits: tuple[Limit, ...]) -> tuple[str, ...]:
    """Write an attempt down under each limit, and return the ids of the rows.

    Raises:
        TooManyError: there were as many as a limit allows; nothing is written down then.
    """
    for limit in sorted(limits, key=lambda limit: limit.key):  # all lock in one order
        _lock(unit, limit.key)
        if _number(unit, limit.key) >= limit.most:
            seconds = int(WITHIN.total_seconds())
            raise TooManyError("sign-in", "failed too often; wait 15 minutes", seconds)
    return tuple(_write(unit, limit.key) for limit in limits)


def take_back(unit: Unit, attempts: tuple[str, ...]) -> None:
    """Forget attempts that were none to guess: the password was right."""
    unit.connection.execute(delete(sign_in_failure).where(sign_in_failure.c.id.in_(attempts)))


def forget_attempts(unit: Unit, limit: Limit) -> None:
    """Forget all attempts under a limit."""
    unit.connection.execute(delete(sign_in_failure).where(sign_in_failure.c.name_hash == limit.key))


def log_failure(site: Site, failed: FailedAttempt) -> None:
    """Tell the log of the process, and the organisation's the first time within ``WITHIN`` for each account.

    The same is written, but for that row, where there is no such account: the time that it takes tells nothing.
    """
    _LINES.warn(failed)
    first = Limit(f"{failed.subject}\n{failed.action}\nlogged", 1)
    with site.unit() as unit:
        _lock(unit, first.key)
        if _number(unit, first.key) >= first.most:
            return
        _write(unit, first.key)
        if failed.organisation_id is None or failed.account_id is None:
            return
        all_rows = Limit(f"{failed.organisation_id}\nlogged", LOGGED_OF_ORGANISATION)
        left = all_rows.most - _number(unit, all_rows.key)
        if left > 0:
            _write(unit, all_rows.key)
            detail = {"address": failed.address}
            if left == 1:
                detail["next"] = "further rows are left out for 15 minutes"
            home, account_id = failed.organisation_id, failed.account_id
            record(unit, home, failed.action, "account", account_id, detail)


class _LogLineBudget:
    """Bounds the lines that strangers can have written into the log of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute, self._written, self._left_out = 0, 0, 0

    def warn(self, failed: FailedAttempt) -> None:
        minute = int(time.monotonic() // 60)
        with self._lock:
            left_out = 0
            if minute != self._minute:
                left_out, self._left_out = self._left_out, 0
                self._minute, self._written = minute, 0
            self._written += 1
            is_told = self._written <= LINES_A_MINUTE
            self._left_out += not is_told
        if left_out:
            LOG.warning("sign-in refused, lines left out", lines=left_out)
        if is_told:
            account = failed.account_id or ""  # no name: a password may have been typed there
            LOG.warning(
                "sign-in refused", action=failed.action, account=account, address=failed.address
            )


_LINES = _LogLineBudget()


def _lock(unit: Unit, key: str) -> None:
    """Wait until nobody else counts the same; SQLite has one writer anyway."""
    if unit.connection.dialect.name == "postgresql":
        lock = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], signed=True)
        unit.connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": lock})


def _number(unit: Unit, key: str) -> int:
    found: int = unit.connection.execute(
        select(func.count()).where(
            sign_in_failure.c.name_hash == key, sign_in_failure.c.created_at > unit.now - WITHIN
        )
    ).scalar_one()
    return found


def _write(unit: Unit, key: str) -> str:
    made = new_id()
    unit.connection.execute(
        insert(sign_in_failure).values(id=made, name_hash=key, created_at=unit.now)
    )
    return made


# Browsers that somebody signed in with before: a sealed cookie for each account says so.
#
# Such a browser is not locked out by what others try: only its own attempts count. The cookie alone lets nobody in.

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
    return tuple(known_browser for known_browser in found if known_browser is not None)


def _read(site: Site, value: str) -> KnownBrowser | None:
    try:
        told = site.vault.unseal(base64.urlsafe_b64decode(value.encode())).decode()
        mark, account_id, browser_id, since = told.split("\n")
        is_young = time.time() - int(since) < SECONDS
    except (ServiceError, ValueError):
        return None
    return KnownBrowser(account_id, browser_id) if mark == MARK and is_young else None


# What a database cannot keep: signs that are none, and a second row of one name.


def is_text(text: str) -> bool:
    """Return whether a database can keep a text: no NUL, no half of a character."""
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


def was_added(unit: Unit, row: Insert) -> bool:
    """Add a row, and return whether that was possible: not where somebody else added one of the same name."""
    try:
        with unit.connection.begin_nested():
            unit.connection.execute(row)
    except IntegrityError as error:
        if "unique" not in f"{type(error.orig).__name__} {error.orig}".lower():
            raise
        return False
    return True
