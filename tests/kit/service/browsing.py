"""A service as browsers meet it: a real server on a port of its own, and somebody who is signed in."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import contextmanager
from datetime import timedelta

import uvicorn
from sqlalchemy import insert

from tests.kit.service.serving import answered
from treewarden.service.api._requests import COOKIE
from treewarden.service.auth.passwords import digest_of, new_secret
from treewarden.service.database.tables import session
from treewarden.service.errors import new_id
from treewarden.service.running import application

DEADLINE = 30
REFUSED = re.compile("status of (409|422)")
"""What a browser says of a form that comes back with why it was not taken."""


@contextmanager
def served(site):
    """Serve a site on a free port, and give its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application(site), log_level="warning", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    port = listening.getsockname()[1]
    answered(port)  # who calls before it listens waits for its turn
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(DEADLINE)


def add_session(site, who):
    """Return the secret of a new session of somebody."""
    secret = new_secret()
    with site.unit() as unit:
        unit.connection.execute(
            insert(session).values(
                id=new_id(),
                hash=digest_of(secret),
                account_id=who.account_id,
                created_at=unit.now,
                expires_at=unit.now + timedelta(hours=1),
            )
        )
    return secret


@contextmanager
def signed_in(browser, address, site, who, width=1280, **options):
    """Give a page of a browser in which somebody is signed in; errors in its console fail, refused forms do not."""
    context = browser.new_context(
        base_url=address, viewport={"width": width, "height": 900}, **options
    )
    context.add_cookies([{"name": COOKIE, "value": add_session(site, who), "url": address}])
    page = context.new_page()
    page.set_default_timeout(DEADLINE * 1000)
    wrong = []
    page.on("console", lambda said: wrong.append(said.text) if _is_wrong(said) else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    context.close()
    assert wrong == []


def _is_wrong(said):
    return said.type == "error" and not REFUSED.search(said.text)
