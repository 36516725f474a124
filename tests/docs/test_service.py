"""The pages about the service name what its code has."""

from __future__ import annotations

import re
import time

import pytest

from tests.docs import pages

SETTINGS = (pages.DOCS / "engineering" / "service-settings.md").read_text("utf-8")
ADMINISTRATOR = (pages.DOCS / "service-administrator.md").read_text("utf-8")
WEBHOOKS = (pages.DOCS / "engineering" / "service-webhooks.md").read_text("utf-8")
SECRET, BODY = "twh_secret", b'{"event": "ping"}'


def test_every_setting_is_documented_and_no_others():
    settings = pytest.importorskip(
        "treewarden.service.settings", reason="the serve extra is not installed"
    )
    known = {f"TREEWARDEN_{name.upper()}" for name in settings.Settings.model_fields}
    assert named_settings(SETTINGS) == known
    assert named_settings(ADMINISTRATOR) < known


def named_settings(page):
    named, first = set(), ""
    for sign in re.findall(r"`(TREEWARDEN_\w+|_[A-Z_]+)`", page):
        first = sign if sign.startswith("TREEWARDEN_") else first
        named.add(sign if sign == first else f"{first.rpartition('_')[0]}{sign}")
    return named


def test_the_receiver_on_the_page_knows_what_is_genuine():
    signing = pytest.importorskip("treewarden.service.ledger.log")
    (receiver,) = re.findall(r"```python\n(.*?)```", WEBHOOKS, re.DOTALL)
    known: dict[str, object] = {}
    exec(receiver, known)  # noqa: S102  # our own page
    is_genuine, now = known["is_genuine"], int(time.time())
    header = signing.signature(SECRET, BODY, now)
    assert is_genuine(SECRET, header, BODY)
    assert not is_genuine("another", header, BODY)
    assert not is_genuine(SECRET, header, BODY + b" ")
    assert not is_genuine(SECRET, signing.signature(SECRET, BODY, now - 400), BODY)
    for other in ("", "t=,v1=", f"t={now}", f"t={now},v1=ü", "t=x,v1=y", f"t={'9' * 5000},v1=0"):
        assert not is_genuine(SECRET, other, BODY)
