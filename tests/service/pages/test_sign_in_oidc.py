"""Signing in by another service, with a small real one."""

import time

import httpx
import pytest
from sqlalchemy import select, update

from tests.kit.service import sites
from tests.kit.service.provider import CLIENT, SECRET, another_key, provided, shared_secret
from treewarden.service.auth.oidc import check_oidc
from treewarden.service.database.tables import account, organisation
from treewarden.service.errors import SetupError
from treewarden.service.running import PREFIX
from treewarden.service.settings import Settings

BACK = "/sign-in/oidc/back"


@pytest.fixture
def provider():
    with provided() as found:
        yield found


@pytest.fixture(params=sites.KINDS)
def site(request, tmp_path, provider):
    settings = {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SECRET,
        "oidc_organisation": "Hospital",
        "oidc_role": "submitter",
    }
    with sites.make_site(request.param, tmp_path, **settings) as found:
        sites.add_organisation(found)
        yield found


@pytest.fixture
def browser(site):
    return sites.open_client(site, follow_redirects=False)


def there(browser, following="/audits"):
    """Go to the provider, and return where it sends the browser."""
    answer = browser.get("/sign-in/oidc", params={"next": following})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("http://127.0.0.1")
    return httpx.get(answer.headers["location"]).headers["location"]


def accounts(site):
    with site.reading() as unit:
        return unit.connection.execute(select(account)).all()


def test_whom_the_provider_vouches_for_is_signed_in(site, browser):
    answer = browser.get(there(browser))
    assert (answer.status_code, answer.headers["location"]) == (303, "/audits")
    me = browser.get(f"{PREFIX}/me").json()
    assert (me["name"], me["role"], me["organisation"]) == ("ada@hospital", "submitter", "Hospital")
    assert "You have no password here" in browser.get("/account").text


def test_the_same_person_comes_back_to_the_same_account_under_any_name(site, browser, provider):
    browser.get(there(browser))
    provider.claims = {"preferred_username": "ada.lovelace"}
    browser.get(there(browser))
    assert [each.name for each in accounts(site)] == ["ada@hospital"]


@pytest.mark.parametrize("name", ["ada@hospital", "Аda@hospital"])
def test_the_name_of_somebody_else_opens_no_account(site, browser, name):
    with site.reading() as unit:
        home = unit.connection.execute(select(organisation.c.id)).scalar_one()
    sites.add_account(site, home, name)
    answer = browser.get(there(browser))
    assert answer.status_code == 409
    assert browser.get(f"{PREFIX}/me").status_code == 401


def test_who_is_disabled_stays_out(site, browser):
    browser.get(there(browser))
    with site.unit() as unit:
        unit.connection.execute(update(account).values(disabled_at=unit.now))
    assert browser.get(there(browser)).status_code == 401


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another client"},
        {"azp": "another client"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": int(time.time()) - 3600},
        {"sub": ""},
    ],
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(browser, provider, claims):
    provider.claims = claims
    assert browser.get(there(browser)).status_code == 401
    assert browser.get(f"{PREFIX}/me").status_code == 401


@pytest.mark.parametrize("signs", [shared_secret, another_key])
def test_a_token_that_the_provider_did_not_sign_is_refused(browser, provider, signs):
    provider.signs = signs()
    assert browser.get(there(browser)).status_code == 401


def test_what_was_begun_by_another_browser_is_refused(site, browser):
    back = there(browser)
    assert sites.open_client(site, follow_redirects=False).get(back).status_code == 401
    assert browser.get(f"{back}x").status_code == 401
    other = sites.open_client(site, follow_redirects=False)
    other.cookies.set("treewarden_flow", "no cookie of ours")
    assert other.get(back).status_code == 401


def test_a_code_holds_once(browser):
    back = there(browser)
    assert browser.get(back).status_code == 303
    assert browser.get(back).status_code == 401


def test_nobody_is_led_elsewhere(browser):
    answer = browser.get(there(browser, "https://evil.example"))
    assert answer.headers["location"] == "/"


def test_a_provider_that_does_not_answer_is_told_of(tmp_path):
    settings = {"oidc_issuer": "http://127.0.0.1:9", "oidc_client_id": CLIENT}
    with sites.make_site("sqlite", tmp_path, **settings) as site:
        client = sites.open_client(site)
        assert client.get("/sign-in/oidc").status_code == 503
        assert "Sign in with your organisation" in client.get("/sign-in").text


def test_a_provider_that_is_half_set_up_stops_the_start():
    whole = {"oidc_issuer": "https://x", "oidc_client_id": "c", "oidc_organisation": "o"}
    check_oidc(Settings(**whole))
    wrong = ({"oidc_issuer": "http://x"}, {"oidc_client_id": ""}, {"oidc_role": "king"})
    for each in wrong:
        with pytest.raises(SetupError):
            check_oidc(Settings(**whole | each))
