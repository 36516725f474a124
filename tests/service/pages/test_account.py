"""One's own password, as the pages change it."""

import re

import pytest

from tests.kit.service import sites
from treewarden.service.running import PREFIX
from treewarden.service.use_cases.accounts.people import create_administrator

OWN, NEXT = "correct horse battery", "another horse battery"
HERE = {"Origin": "http://testserver"}


@pytest.fixture
def one_time(site):
    with site.unit() as unit:
        return create_administrator(unit, "root")[1]


def signed_in(site, password, new_password=""):
    client = sites.open_client(site, follow_redirects=False)
    form = {"name": "root", "password": password, "new_password": new_password}
    assert client.post("/sign-in", data=form).status_code == 303
    return client


def change(client, password, new_password):
    form = {"password": password, "new_password": new_password}
    return client.post("/account", data=form, headers=HERE)


def test_a_new_password_ends_the_other_sessions_and_keeps_this_one(site, one_time):
    ours, other = signed_in(site, one_time, OWN), signed_in(site, OWN)
    assert "Your account" in ours.get("/account").text
    answer = change(ours, OWN, NEXT)
    assert answer.headers["location"] == "/account?changed=true"
    assert "is changed" in ours.get("/account?changed=true").text
    assert other.get(f"{PREFIX}/me").status_code == 401
    signed_in(site, NEXT)


@pytest.mark.parametrize(("password", "new"), [("guess", NEXT), (OWN, OWN), (OWN, "short")])
def test_a_password_that_cannot_be_taken_changes_nothing(site, one_time, password, new):
    client = signed_in(site, one_time, OWN)
    answer = change(client, password, new)
    assert answer.status_code == 422
    assert new not in answer.text.replace("12 characters or more", "")
    signed_in(site, OWN)


def test_who_guesses_in_a_session_is_stopped(site, one_time):
    client = signed_in(site, one_time, OWN)
    found = [change(client, "guess", NEXT).status_code for _ in range(6)]
    assert found == [422] * 5 + [429]


def test_a_token_changes_no_password(site):
    who = sites.add_account(site, sites.add_organisation(site), "Ada")
    assert change(sites.open_client(site, who), "guess", NEXT).status_code == 403


def test_the_form_to_sign_in_asks_for_a_new_password_where_one_is_needed(site, one_time):
    client = sites.open_client(site)
    assert "new_password" not in client.get("/sign-in").text
    form = {"name": 'root"><b>', "password": one_time}
    assert "<b>" not in client.post("/sign-in", data=form).text
    answer = client.post("/sign-in", data=form | {"name": "root"})
    assert re.search(r'name="new_password" type="password"', answer.text)
    assert one_time not in answer.text
