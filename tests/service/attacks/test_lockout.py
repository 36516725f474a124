"""Wrong passwords of strangers: they lock nobody out who signed in before, and the logs tell of them within bounds."""

import json

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from tests.kit.service import sites
from tests.kit.service.accounts import HERE, browser, owner, sign_in
from treewarden.service.database.tables import organisation
from treewarden.service.errors import SetupError
from treewarden.service.schemas.base import PageRequest
from treewarden.service.settings import Settings, settings_from
from treewarden.service.use_cases.accounts import attempts
from treewarden.service.use_cases.accounts.attempts import (
    ATTEMPTS,
    LINES_A_MINUTE,
    LOGGED_OF_ORGANISATION,
    FailedAttempt,
    log_failure,
)
from treewarden.service.use_cases.log import list_log

PROXY, STRANGER = "10.0.0.9", "198.51.100.1"


@pytest.fixture(autouse=True)
def no_lines_of_other_tests(monkeypatch):
    """Count the lines of a minute anew: the process has one count, and a test may use it up for the next."""
    monkeypatch.setattr(attempts, "_LINES", attempts._LogLineBudget())


@pytest.fixture(params=sites.KINDS)
def behind_a_proxy(request, tmp_path):
    with sites.make_site(request.param, tmp_path, trusted_proxies="10.0.0.0/24") as found:
        yield found


def wrong(client, times=ATTEMPTS, name="root"):
    return [sign_in(client, name, "guess").status_code for _ in range(times)]


def refusals(site):
    with site.reading() as unit:
        home = unit.connection.execute(select(organisation.c.id)).scalar_one()
    olga = sites.add_account(site, home, "olga")
    with site.reading() as unit:
        rows = list_log(unit, olga, PageRequest(limit=200)).items
    return [each for each in rows if each.action.startswith(("sign_in.", "password_change."))]


def test_a_stranger_behind_the_same_proxy_locks_nobody_out(behind_a_proxy):
    owner(behind_a_proxy)
    stranger = browser(behind_a_proxy, PROXY, headers={"X-Forwarded-For": STRANGER})
    assert wrong(stranger, ATTEMPTS + 1)[-1] == 429
    new = browser(behind_a_proxy, PROXY, headers={"X-Forwarded-For": "203.0.113.5"})
    assert sign_in(new).status_code == 303


def test_what_a_stranger_says_of_his_address_counts_only_behind_a_trusted_proxy(behind_a_proxy):
    owner(behind_a_proxy)
    found = []
    for number in range(ATTEMPTS + 1):
        headers = {"X-Forwarded-For": f"203.0.113.{number}"}
        found += wrong(browser(behind_a_proxy, STRANGER, headers=headers), 1)
    assert found == [401] * ATTEMPTS + [429]
    spoofed = [f"203.0.113.{number}, {STRANGER}" for number in range(2)]
    for each in spoofed:  # the proxy adds where the request came from at the end
        client = browser(behind_a_proxy, PROXY, headers={"X-Forwarded-For": each})
        assert wrong(client, 1) == [429]


def test_a_proxy_that_is_not_trusted_is_told_of_once(site):
    client = browser(site, PROXY, headers={"X-Forwarded-For": STRANGER})
    with capture_logs() as lines:
        wrong(client, 2)
    told = [each for each in lines if each.get("setting") == "TREEWARDEN_TRUSTED_PROXIES"]
    assert [each["address"] for each in told] == [PROXY]


def test_a_browser_that_signed_in_before_is_not_locked_out_by_others(site):
    client = owner(site)
    assert wrong(browser(site), ATTEMPTS + 1)[-1] == 429
    assert sign_in(browser(site)).status_code == 429
    assert sign_in(client).status_code == 303


def test_a_browser_that_signed_in_before_has_a_limit_of_its_own(site):
    client = owner(site)
    assert wrong(client, ATTEMPTS + 1) == [401] * ATTEMPTS + [429]
    assert sign_in(browser(site)).status_code == 303


def test_the_cookie_of_a_browser_is_of_no_use_for_another_account_or_when_changed(site):
    owner(site)
    other = owner(site, "eve")
    wrong(other, name="root", times=ATTEMPTS)
    assert sign_in(other, "root").status_code == 429
    (name,) = [each for each in other.cookies if each.startswith("treewarden_browser_")]
    forged = browser(site)
    forged.cookies.set(name, other.cookies[name][:-4] + "AAAA")
    assert sign_in(forged, "root").status_code == 429


def test_failed_sign_ins_are_in_both_logs_without_what_was_typed(site):
    owner(site)
    with capture_logs() as lines:
        for password in ("canary-7f3-one", "canary-7f3-two"):
            sign_in(browser(site, STRANGER), "root", password)
        sign_in(browser(site, STRANGER), "canary-7f3-name", "canary-7f3-three")
        wrong(browser(site, STRANGER), ATTEMPTS - 1)
    found = refusals(site)
    assert [each.action for each in found] == ["sign_in.locked", "sign_in.refused"]
    assert {each.detail["address"] for each in found} == {STRANGER}
    told = [each for each in lines if each["event"] == "sign-in refused"]
    assert 0 < len(told) <= LINES_A_MINUTE
    assert "canary" not in json.dumps(lines, default=str) + str(found)


def test_who_guesses_the_password_in_a_session_of_somebody_is_in_the_log(site):
    client = owner(site)
    form = {"password": "canary-7f3", "new_password": "another horse battery"}
    for _ in range(2):
        assert client.post("/account", data=form, headers=HERE).status_code == 422
    (found,) = refusals(site)
    assert found.action == "password_change.refused"
    assert "canary" not in str(found)


def test_strangers_fill_neither_log(site):
    home = sites.add_organisation(site)
    olga = sites.add_account(site, home, "olga")
    with capture_logs() as lines:
        for number in range(LINES_A_MINUTE + 20):
            log_failure(
                site, FailedAttempt(f"name {number}", "sign_in.refused", "x", home, olga.account_id)
            )
    assert len(lines) <= LINES_A_MINUTE + 1
    with site.reading() as unit:
        rows = list_log(unit, olga, PageRequest(limit=200)).items
    assert len(rows) == LOGGED_OF_ORGANISATION
    assert "left out" in rows[0].detail["next"]


@pytest.mark.parametrize("value", ["*", "proxy.example", "0.0.0.0/0", "10.0.0.9/24"])
def test_not_everybody_can_be_a_trusted_proxy(value):
    with pytest.raises(SetupError, match="TREEWARDEN_TRUSTED_PROXIES"):
        settings_from({"trusted_proxies": value})


def test_nobody_may_be_a_trusted_proxy_too():
    assert Settings(trusted_proxies="").trusted_proxies == ()
