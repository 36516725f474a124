"""What lets somebody in without a password: it is listed, it can be ended, and a reset of the password ends it."""

from datetime import timedelta

import pytest
from sqlalchemy import insert, select, update

from tests.kit.service import sites
from tests.kit.service.accounts import HERE, browser, owner, sign_in
from treewarden.service.auth.passwords import digest_of, random_hash_of
from treewarden.service.database.tables import account, organisation, session
from treewarden.service.running import PREFIX

ONE_TIME = "one time of 120 bits"


@pytest.fixture
def there(site):
    """An administrator, and bob with a token and a session."""
    home = sites.add_organisation(site)
    ann, bob = (sites.add_account(site, home, name) for name in ("ann", "bob"))
    with site.unit() as unit:
        values = {"password_hash": random_hash_of(ONE_TIME), "password_is_temporary": True}
        unit.connection.execute(
            update(account).where(account.c.id == bob.account_id).values(**values)
        )
    bobs = browser(site)
    answer = sign_in(bobs, "bob", ONE_TIME, new_password="correct horse battery")
    assert answer.status_code == 303
    return sites.open_client(site, ann), sites.open_client(site, bob), bobs, bob.account_id


def statuses(*clients):
    return [each.get(f"{PREFIX}/me").status_code for each in clients]


def test_a_reset_of_the_password_ends_tokens_and_sessions(there):
    ann, token, bobs, bob = there
    assert statuses(ann, token, bobs) == [200, 200, 200]
    assert ann.post(f"{PREFIX}/accounts/{bob}/password").status_code == 200
    assert statuses(ann, token, bobs) == [200, 401, 401]


def test_an_administrator_sees_and_ends_all_of_somebody(there):
    ann, token, bobs, bob = there
    (found,) = ann.get(f"{PREFIX}/accounts/{bob}/sessions").json()["items"]
    assert (found["owner"], found["address"], found["is_this"]) == ("bob", "192.0.2.1", False)
    assert len(ann.get(f"{PREFIX}/accounts/{bob}/tokens").json()["items"]) == 1
    ended = ann.delete(f"{PREFIX}/accounts/{bob}/access").json()
    assert ended == {"sessions": 1, "tokens": 1}
    assert statuses(ann, token, bobs) == [200, 401, 401]


def test_somebody_sees_and_ends_his_own_but_for_what_asks(there):
    ann, token, bobs, _ = there
    (found,) = _own(bobs)
    assert found["is_this"]
    assert bobs.delete(f"{PREFIX}/me/access", headers=HERE).json() == {"sessions": 0, "tokens": 1}
    assert statuses(ann, token, bobs) == [200, 401, 200]


def test_one_session_is_ended_and_nobody_elses(site, there):
    ann, token, bobs, _ = there
    vic = sites.open_client(site, sites.add_account(site, _home(site), "vic", "viewer"))
    (found,) = _own(bobs)
    path = f"{PREFIX}/sessions/{found['id']}"
    assert vic.get(f"{PREFIX}/sessions").json()["items"] == []
    assert vic.delete(path).status_code == 404
    assert statuses(bobs) == [200]
    assert token.delete(path).status_code == 200
    assert statuses(ann, token, bobs) == [200, 200, 401]


def test_the_pages_list_and_end_the_same(there):
    ann, token, bobs, bob = there
    own = bobs.get("/account/access").text
    assert "192.0.2.1" in own
    assert "this one" in own
    assert bobs.post("/account/access", headers=HERE).status_code == 303
    assert statuses(ann, token, bobs) == [200, 401, 200]
    path = f"/administration/people/{bob}/access"
    assert "192.0.2.1" in ann.get(path).text
    (found,) = _own(bobs)
    ann.post(f"{path}/sessions/{found['id']}")
    assert statuses(ann, bobs) == [200, 401]


def test_a_session_that_nobody_uses_is_over(tmp_path):
    with sites.make_site("sqlite", tmp_path, session_idle_minutes=30) as site:
        client = owner(site)
        assert statuses(client) == [200]
        _seen(site, timedelta(minutes=29))
        assert statuses(client) == [200]  # and so it was used again
        assert statuses(client) == [200]
        _seen(site, timedelta(minutes=31))
        assert statuses(client) == [401]


def test_a_session_of_before_that_was_never_seen_counts_from_its_beginning(site):
    who = sites.add_account(site, sites.add_organisation(site), "ann")
    client = browser(site)
    answers = []
    for minutes, secret in ((59, "a"), (61, "b")):
        with site.unit() as unit:
            unit.connection.execute(
                insert(session).values(
                    id=secret * 32,
                    hash=digest_of(secret),
                    account_id=who.account_id,
                    created_at=unit.now - timedelta(minutes=minutes),
                    expires_at=unit.now + timedelta(hours=1),
                )
            )
        client.cookies.set("treewarden_session", secret)
        answers += statuses(client)
    assert answers == [200, 401]


def _own(bobs):
    found = bobs.get(f"{PREFIX}/sessions").json()["items"]
    return [each for each in found if each["is_this"]]


def _home(site):
    with site.reading() as unit:
        return unit.connection.execute(select(organisation.c.id)).scalar_one()


def _seen(site, ago):
    with site.unit() as unit:
        unit.connection.execute(update(session).values(seen_at=unit.now - ago))
