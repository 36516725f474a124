"""One e-mail by SMTP: what happened and a link, over a connection that is checked and does not last."""

from __future__ import annotations

import smtplib
import ssl
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime

from treewarden.service.jobs.sending import TIMEOUT_SECONDS, DeliveryResult, hung_up_after
from treewarden.service.ledger.events import Event
from treewarden.service.settings import Settings

SAYS = {
    Event.AUDIT_FINISHED: "An audit that you asked for has ended",
    Event.WAIVER_REQUESTED: "A waiver waits for a decision",
    Event.WAIVER_DECIDED: "A waiver that you asked for was decided",
    Event.RELEASE_OPENED: "A release waits for a decision",
    Event.RELEASE_DECIDED: "A release that you asked for was decided",
    Event.RELEASE_RELEASED: "A release that you asked for went out",
    Event.PING: "This is a test, and tells of nothing",
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
        f"{said}.\n\n{base}{path}\n\n-- \nYou wished to hear of this. Change that: {base}/account\n"
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
