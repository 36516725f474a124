"""The same request with the same key changes things once."""

import threading
from datetime import timedelta

import pytest
from sqlalchemy import func, select, update

from tests.kit.service.sites import add_account, add_organisation, add_token, open_client
from treewarden.service.api._answers import GIVEN_UP, StoredAnswer, claim, keep
from treewarden.service.database.run_tables import idempotency
from treewarden.service.database.tables import model
from treewarden.service.errors import ConflictError
from treewarden.service.running import PREFIX

PATH = f"{PREFIX}/models"
KEY = {"Idempotency-Key": "one"}


@pytest.fixture
def who(site):
    return add_account(site, add_organisation(site), "Ada")


def models(site):
    with site.reading() as unit:
        return unit.connection.execute(select(func.count()).select_from(model)).scalar_one()


def keys(site):
    with site.reading() as unit:
        return unit.connection.execute(select(idempotency)).all()


def test_the_same_request_again_is_answered_the_same_and_not_done_twice(site, who):
    client = open_client(site, who)
    first, again = (client.post(PATH, json={"name": "m"}, headers=KEY) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again.headers["location"] == first.headers["location"]
    assert models(site) == 1


def test_another_request_with_the_same_key_is_refused(site, who):
    client = open_client(site, who)
    client.post(PATH, json={"name": "m"}, headers=KEY)
    answer = client.post(PATH, json={"name": "n"}, headers=KEY)
    assert answer.status_code == 422
    assert models(site) == 1


def test_a_key_is_ones_own(site, who):
    other = open_client(site, add_account(site, who.organisation_id, "Bea"))
    open_client(site, who).post(PATH, json={"name": "m"}, headers=KEY)
    assert other.post(PATH, json={"name": "n"}, headers=KEY).status_code == 201


def test_a_refused_request_leaves_its_key_free(site, who):
    client = open_client(site, who)
    assert client.post(PATH, json={"nam": "m"}, headers=KEY).status_code == 422
    assert keys(site) == []
    assert client.post(PATH, json={"name": "m"}, headers=KEY).status_code == 201


def test_a_request_that_is_being_answered_is_not_begun_again(site, who):
    client = open_client(site, who)
    made = client.post(PATH, json={"name": "m"}, headers=KEY)
    with site.unit() as unit:
        unit.connection.execute(update(idempotency).values(status=None))
    answer = client.post(PATH, json={"name": "m"}, headers=KEY)
    assert (made.status_code, answer.status_code) == (201, 409)


def test_who_took_too_long_changes_nothing_any_more(site, who):
    slow = claim(site, who, "one", "0" * 64)
    with site.unit() as unit:
        unit.connection.execute(
            update(idempotency).values(created_at=unit.now - GIVEN_UP - timedelta(seconds=1))
        )
    claim(site, who, "one", "0" * 64)
    with pytest.raises(ConflictError), site.unit() as unit:
        keep(unit, slow, StoredAnswer(201, {}, b""))


def test_many_at_once_change_things_once(site, who):
    client, found = open_client(site, who), []

    def send():
        found.append(client.post(PATH, json={"name": "m"}, headers=KEY).status_code)

    threads = [threading.Thread(target=send) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert set(found) <= {201, 409}
    assert 201 in found
    assert models(site) == 1


@pytest.mark.parametrize("path", ["tokens", "accounts", "webhooks"])
def test_no_key_is_taken_where_the_answer_holds_a_secret(site, who, path):
    answer = open_client(site, who).post(f"{PREFIX}/{path}", json={}, headers=KEY)
    assert "Idempotency-Key" in answer.json()["detail"]
    assert keys(site) == []


def test_a_key_that_cannot_be_one_is_refused(site, who):
    for key in ("", "x" * 201, "a\tb"):
        answer = open_client(site, who).post(
            PATH, json={"name": "m"}, headers={"Idempotency-Key": key}
        )
        assert answer.status_code == 422


def test_what_is_kept_is_told_to_nobody_who_may_not_ask_for_it(site, who):
    client = open_client(site, who)
    client.post(PATH, json={"name": "m"}, headers=KEY)
    limited = {"Authorization": f"Bearer {add_token(site, who, ['gate'])}"}
    answer = client.post(PATH, json={"name": "m"}, headers=KEY | limited)
    assert answer.status_code == 403
