"""Sends what webhooks and people are owed, again after a while where it fails.

A webhook is called signed, at an address that was checked; e-mails are written here too.
"""

from __future__ import annotations

import json
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any

from sqlalchemy import Row, Select, Table, select, update

import treewarden
from treewarden.service.database.run_tables import delivery, mail, webhook
from treewarden.service.database.tables import account
from treewarden.service.errors import InvalidError
from treewarden.service.ledger.log import HEADER, Event, signature
from treewarden.service.settings import Settings
from treewarden.service.site import Site
from treewarden.service.vault.addresses import CallTarget, Resolve, resolved, target

# One attempt to send something: what came of it, and the clock that it is held against.

TIMEOUT_SECONDS = 10.0
"""How long each may take: to connect, to agree on keys, and all of the request with its answer."""


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """What came of one attempt: the status of the answer, or why there was none.

    ``is_final``: it is not tried again, as nothing else would come of it.
    """

    status: int | None
    problem: str = ""
    is_final: bool = False

    @property
    def is_done(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and 200 <= self.status < 300


@contextmanager
def hung_up_after(current: Callable[[], socket.socket | None], seconds: float) -> Iterator[None]:
    """Hang up after a while: a timeout is for each read, so that an answer that drips would never end.

    ``current`` returns the socket as it is then: to agree on keys puts another one in its place.
    """
    timer = threading.Timer(seconds, lambda: _hang_up(current()))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(sock: socket.socket | None) -> None:
    if sock is None:
        return
    with suppress(OSError):  # closed already
        # not the method of a TLS socket: it forgets its keys, and another thread reads with them
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


# One e-mail by SMTP: what happened and a link, over a connection that is checked and does not last.

SAYS = {
    Event.AUDIT_FINISHED: "An audit that you requested has ended",
    Event.WAIVER_REQUESTED: "A waiver waits for a decision",
    Event.WAIVER_DECIDED: "A waiver that you requested was decided",
    Event.RELEASE_OPENED: "A release waits for a decision",
    Event.RELEASE_DECIDED: "A release that you requested was decided",
    Event.RELEASE_RELEASED: "A release that you requested was published",
    Event.PING: "This is a test message",
}
OK, PERMANENT = 250, 500


def compose(
    settings: Settings, mail_id: str, address: str, event: str, path: str, at: datetime
) -> EmailMessage:
    """Return the e-mail about an event: nothing of a model, table or report is in it."""
    base, said = settings.base_url.rstrip("/"), SAYS[Event(event)]
    message = EmailMessage()
    message["Subject"] = f"treewarden: {said[:1].lower()}{said[1:]}"
    message["From"], message["To"] = settings.mail_from, address
    message["Date"] = format_datetime(at)
    message["Message-ID"] = f"<{mail_id}@{settings.mail_from.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(
        f"{said}.\n\n{base}{path}\n\n-- \nYou chose to receive this message. To change "
        f"that: {base}/account\n"
    )
    return message


def send_mail(
    settings: Settings, message: EmailMessage, seconds: float = TIMEOUT_SECONDS
) -> DeliveryResult:
    """Send an e-mail; a recipient whom the server refuses for good is not tried again."""
    try:
        password = _password(settings)
    except (OSError, UnicodeDecodeError):
        return DeliveryResult(None, "TREEWARDEN_MAIL_PASSWORD_FILE cannot be read")
    server = _server(settings, seconds)
    try:
        with hung_up_after(lambda: server.sock, seconds), server:
            server.connect(settings.mail_host, settings.smtp_port)
            if settings.mail_tls == "starttls":
                server.starttls(context=ssl.create_default_context())
            if password is not None:
                server.login(settings.mail_user, password)
            server.send_message(message)
    except smtplib.SMTPRecipientsRefused as error:
        code = max((code for code, _ in error.recipients.values()), default=0)
        return DeliveryResult(
            None, f"the recipient is refused ({code})", is_final=code >= PERMANENT
        )
    except smtplib.SMTPResponseException as error:
        return DeliveryResult(None, f"the mail server answered {error.smtp_code}")
    except (OSError, ValueError, smtplib.SMTPException) as error:
        return DeliveryResult(None, f"the mail server was not reached ({type(error).__name__})")
    return DeliveryResult(OK)


def _server(settings: Settings, seconds: float) -> smtplib.SMTP:
    """Return what is not connected yet, so that its greeting is held against the clock too."""
    server: smtplib.SMTP
    if settings.mail_tls == "tls":
        server = smtplib.SMTP_SSL(timeout=seconds, context=ssl.create_default_context())
    else:
        server = smtplib.SMTP(timeout=seconds)
    # certificates are checked for this name, which smtplib takes from a constructor that connects at once
    vars(server)["_host"] = settings.mail_host
    return server


def _password(settings: Settings) -> str | None:
    if settings.mail_password_file is None:
        return None
    return settings.mail_password_file.read_text("utf-8").strip("\r\n")


ROUND_SECONDS = 10.0
"""After how long no further delivery is begun: whoever calls has other chores."""
AGAIN = tuple(timedelta(minutes=each) for each in (1, 5, 30, 120, 720))
"""How long after each failure it is tried again; after the last one the delivery has failed."""
TAKEN = timedelta(minutes=2)
"""How long nobody else tries what somebody is sending."""
MOST = 20


@dataclass(frozen=True, slots=True)
class DeliveryChannel:
    """A way to deliver: what waits in which table, and one attempt."""

    table: Table
    due: Select[Any]
    attempt: Callable[[Site, Row[Any]], DeliveryResult]


def deliver_due(site: Site, resolve: Resolve = resolved) -> int:
    """Send what is due, one after the other, and return how many attempts were made.

    Raises:
        UnavailableError: the database cannot be reached.
    """
    channels, tried = _channels(site, resolve), 0
    ends = time.monotonic() + ROUND_SECONDS
    while channels and tried < MOST:
        for channel in tuple(channels):  # in turn, so that none waits for all that another one owes
            found = _taken(site, channel) if time.monotonic() < ends else None
            if found is None:
                channels.remove(channel)
                continue
            tried += 1
            _write_down(site, channel.table, found, channel.attempt(site, found))
    return tried


def _channels(site: Site, resolve: Resolve) -> list[DeliveryChannel]:
    """Return the ways to deliver; e-mails wait where none are sent."""
    hooks = (
        select(delivery, webhook.c.url, webhook.c.sealed_secret)
        .join(webhook, webhook.c.id == delivery.c.webhook_id)
        .where(webhook.c.disabled_at.is_(None))
    )
    delivery_channels = [
        DeliveryChannel(delivery, hooks, lambda site, row: _call(site, row, resolve))
    ]
    if site.settings.mail_host:
        mails = select(mail, account.c.mail_address, account.c.disabled_at).join(
            account, account.c.id == mail.c.account_id
        )
        delivery_channels.append(DeliveryChannel(mail, mails, _mail))
    return delivery_channels


def _taken(site: Site, channel: DeliveryChannel) -> Row[Any] | None:
    """Take what is due longest, so that no other worker sends it meanwhile."""
    table = channel.table
    with site.unit() as unit:
        found = unit.connection.execute(
            channel.due.where(table.c.state == "pending", table.c.next_at <= unit.now)
            .order_by(table.c.next_at)
            .limit(1)
            .with_for_update(skip_locked=True, of=table)
        ).first()
        if found is not None:
            unit.connection.execute(
                update(table)
                .where(table.c.id == found.id)
                .values(attempts=found.attempts + 1, next_at=unit.now + TAKEN)
            )
        return found


def _mail(site: Site, row: Row[Any]) -> DeliveryResult:
    if row.disabled_at is not None or not row.mail_address:
        return DeliveryResult(None, "no person receives it any more", is_final=True)
    message = compose(site.settings, row.id, row.mail_address, row.event, row.path, row.created_at)
    return send_mail(site.settings, message)


def _call(site: Site, row: Row[Any], resolve: Resolve) -> DeliveryResult:
    body = json.dumps(row.payload, sort_keys=True).encode()
    with site.reading() as unit:
        at = int(unit.now.timestamp())
    secret = site.vault.unseal(row.sealed_secret).decode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"treewarden/{treewarden.__version__}",
        "Treewarden-Delivery": row.id,
        "Treewarden-Event": row.event,
        HEADER: signature(secret, body, at),
    }
    try:
        to = target(row.url, site.settings.webhook_hosts, resolve)
    except InvalidError as error:
        return DeliveryResult(None, str(error))
    return post(to, body, headers)


def post(
    to: CallTarget, body: bytes, headers: dict[str, str], seconds: float = TIMEOUT_SECONDS
) -> DeliveryResult:
    """Send a body to the address that was checked; a redirect is an answer like any other, and not followed."""
    connection = _connection(to, seconds)
    try:
        connection.connect()
        with hung_up_after(lambda: connection.sock, seconds):
            connection.request("POST", to.path, body, {**headers, "Host": to.authority})
            status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        return DeliveryResult(None, f"not reached ({type(error).__name__})")
    finally:
        connection.close()
    if 200 <= status < 300:
        return DeliveryResult(status)
    return DeliveryResult(status, f"answered {status}")


def _connection(to: CallTarget, seconds: float) -> HTTPConnection:
    if to.scheme == "http":
        return HTTPConnection(to.address, to.port, timeout=seconds)
    return _CheckedConnection(to, seconds)


class _CheckedConnection(HTTPSConnection):
    """A connection to an address, whose certificate has to be that of the host."""

    def __init__(self, to: CallTarget, seconds: float) -> None:
        super().__init__(to.address, to.port, timeout=seconds)
        self.to, self.context = to, ssl.create_default_context()

    def connect(self) -> None:
        HTTPConnection.connect(self)
        self.sock = self.context.wrap_socket(self.sock, server_hostname=self.to.host)


def _write_down(site: Site, table: Table, row: Row[Any], sent: DeliveryResult) -> None:
    number = row.attempts + 1
    with site.unit() as unit:
        values: dict[str, Any]
        if sent.is_done:
            values = {"state": "done", "next_at": None, "delivered_at": unit.now}
        elif sent.is_final or number > len(AGAIN):
            values = {"state": "failed", "next_at": None}
        else:
            values = {"state": "pending", "next_at": unit.now + AGAIN[number - 1]}
        if "status_code" in table.c:
            values["status_code"] = sent.status
        unit.connection.execute(
            update(table)
            .where(table.c.id == row.id, table.c.attempts == number, table.c.state == "pending")
            .values(**values, problem=sent.problem)
        )
