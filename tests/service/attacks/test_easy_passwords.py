"""Passwords that anybody would try: refused wherever somebody chooses one."""

import pytest
from argon2 import extract_parameters
from argon2.low_level import Type

from tests.kit.service.accounts import HERE, OWN, browser, one_time_password, owner, sign_in
from treewarden.service.auth import passwords
from treewarden.service.auth.passwords import check_new
from treewarden.service.errors import InvalidError

EASY = ("passwordpassword", "aaaaaaaaaaaaaaaa", "abcabcabcabcabc", "qwertyuiop12345", "x" * 150)
HASHER = passwords._HASHER
"""That of the product, from before the tests' own took its place."""


def test_a_guess_at_a_password_that_is_kept_takes_memory_and_time():
    taken = extract_parameters(HASHER.hash(OWN))
    assert taken.type is Type.ID
    assert taken.memory_cost >= 64 * 1024
    assert taken.time_cost >= 3


@pytest.mark.parametrize("password", EASY)
def test_a_password_that_is_easy_to_guess_is_refused(password):
    with pytest.raises(InvalidError, match="easy to guess"):
        check_new(password, "")


@pytest.mark.parametrize(
    "password", [OWN, "k9#fLz!2pQw7", "vier Ziegen lesen Zeitung", "ü" + OWN * 8]
)
def test_a_password_that_is_hard_to_guess_is_taken(password):
    check_new(password, "")


def test_the_own_name_makes_no_password(site):
    password = one_time_password(site, "wolfgang.weinberger")
    new = "wolfgang.weinberger1"
    answer = sign_in(browser(site), "wolfgang.weinberger", password, new_password=new)
    assert answer.status_code == 422


def test_a_new_password_that_is_refused_costs_no_attempt(site):
    password, client = one_time_password(site), browser(site)
    for new in (*EASY, "short"):
        assert sign_in(client, "root", password, new_password=new).status_code == 422
    assert sign_in(client, "root", password, new_password=OWN).status_code == 303


def test_the_account_page_takes_no_easy_one_either(site):
    client = owner(site)
    for new in (*EASY, "short"):
        form = {"password": OWN, "new_password": new}
        assert client.post("/account", data=form, headers=HERE).status_code == 422
    form = {"password": OWN, "new_password": "another horse battery"}
    assert client.post("/account", data=form, headers=HERE).status_code == 303
