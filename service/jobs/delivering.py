"""Sends what webhooks are owed: signed, to an address that was checked, again after a while where it fails."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

from sqlalchemy import Row, select, update

import treewarden
from service.database.tables import delivery, webhook
from service.errors import InvalidError
from service.ledger.signing import HEADER, signature
from service.site import Site
from service.vault.addresses import Resolve, Target, resolved, target

TIMEOUT_SECONDS = 10.0
"""How long each may take: to connect, to agree on keys, and all of the request with its answer."""
ROUND_SECONDS = 10.0
"""After how long no further delivery is begun: whoever calls has other chores."""
AGAIN = tuple(timedelta(minutes=each) for each in (1, 5, 30, 120, 720))
"""How long after each failure it is tried again; after the last one the delivery has failed."""
TAKEN = timedelta(minutes=2)
"""How long nobody else tries what somebody is sending."""
MOST = 20


@dataclass(frozen=True, slots=True)
class Sent:
    """What came of one attempt: the status of the answer, or why there was none."""

    status: int | None
    problem: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and 200 <= self.status < 300


Send = Callable[[Target, bytes, dict[str, str]], Sent]


def deliver_due(site: Site, resolve: Resolve = resolved) -> int:
    """Send what is due, one after the other, and return how many attempts were made.

    Raises:
        UnavailableError: the database cannot be reached.
    """
    tried, ends = 0, time.monotonic() + ROUND_SECONDS
    while tried < MOST and time.monotonic() < ends:
        found = _taken(site)
        if found is None:
            break
        tried += 1
        _write_down(site, found, _attempt(site, found, resolve))
    return tried


def _taken(site: Site) -> Row[Any] | None:
    """Take the delivery that is due longest, so that no other worker sends it meanwhile."""
    with site.unit() as unit:
        found = unit.connection.execute(
            select(delivery, webhook.c.url, webhook.c.sealed_secret)
            .join(webhook, webhook.c.id == delivery.c.webhook_id)
            .where(
                delivery.c.state == "pending",
                delivery.c.next_at <= unit.now,
                webhook.c.disabled_at.is_(None),
            )
            .order_by(delivery.c.next_at)
            .limit(1)
            .with_for_update(skip_locked=True, of=delivery)
        ).first()
        if found is not None:
            unit.connection.execute(
                update(delivery)
                .where(delivery.c.id == found.id)
                .values(attempts=found.attempts + 1, next_at=unit.now + TAKEN)
            )
        return found


def _attempt(site: Site, found: Row[Any], resolve: Resolve) -> Sent:
    body = json.dumps(found.payload, sort_keys=True).encode()
    with site.reading() as unit:
        at = int(unit.now.timestamp())
    secret = site.vault.unseal(found.sealed_secret).decode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"treewarden/{treewarden.__version__}",
        "Treewarden-Delivery": found.id,
        "Treewarden-Event": found.event,
        HEADER: signature(secret, body, at),
    }
    try:
        to = target(found.url, site.settings.webhook_hosts, resolve)
    except InvalidError as error:
        return Sent(None, str(error))
    return post(to, body, headers)


def post(
    to: Target, body: bytes, headers: dict[str, str], seconds: float = TIMEOUT_SECONDS
) -> Sent:
    """Send a body to the address that was checked; a redirect is an answer like any other, and not followed."""
    connection = _connection(to, seconds)
    try:
        connection.connect()
        with _hung_up_after(connection.sock, seconds):
            connection.request("POST", to.path, body, {**headers, "Host": to.authority})
            status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        return Sent(None, f"not reached ({type(error).__name__})")
    finally:
        connection.close()
    if 200 <= status < 300:
        return Sent(status)
    return Sent(status, f"answered {status}")


@contextmanager
def _hung_up_after(sock: socket.socket, seconds: float) -> Iterator[None]:
    """Hang up after a while: a timeout is for each read, so that an answer that drips would never end."""
    timer = threading.Timer(seconds, _hang_up, (sock,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(sock: socket.socket) -> None:
    with suppress(OSError):  # closed already
        # not the method of a TLS socket: it forgets its keys, and another thread reads with them
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _connection(to: Target, seconds: float) -> HTTPConnection:
    if to.scheme == "http":
        return HTTPConnection(to.address, to.port, timeout=seconds)
    return _Checked(to, seconds)


class _Checked(HTTPSConnection):
    """A connection to an address, whose certificate has to be that of the host."""

    def __init__(self, to: Target, seconds: float) -> None:
        super().__init__(to.address, to.port, timeout=seconds)
        self.to, self.context = to, ssl.create_default_context()

    def connect(self) -> None:
        HTTPConnection.connect(self)
        self.sock = self.context.wrap_socket(self.sock, server_hostname=self.to.host)


def _write_down(site: Site, found: Row[Any], sent: Sent) -> None:
    number = found.attempts + 1
    with site.unit() as unit:
        if sent.is_done:
            values = {"state": "done", "next_at": None, "delivered_at": unit.now}
        elif number > len(AGAIN):
            values = {"state": "failed", "next_at": None}
        else:
            values = {"state": "pending", "next_at": unit.now + AGAIN[number - 1]}
        unit.connection.execute(
            update(delivery)
            .where(
                delivery.c.id == found.id,
                delivery.c.attempts == number,
                delivery.c.state == "pending",
            )
            .values(**values, status_code=sent.status, problem=sent.problem)
        )
