"""What holds before a route is reached, and in every answer."""

import pytest
from sqlalchemy import func, insert, select

from tests.kit.service.sites import add_account, add_organisation, open_client
from treewarden.service.database.tables import sign_in_failure
from treewarden.service.errors import InvalidError
from treewarden.service.names import name_key
from treewarden.service.running import PREFIX
from treewarden.service.use_cases.accounts.attempts import ATTEMPTS_FROM_ANYWHERE, Limit
from treewarden.service.use_cases.accounts.people import create_administrator


@pytest.fixture
def client(site):
    return open_client(site, add_account(site, add_organisation(site), "Ada"))


def chunks(count):
    for _ in range(count):
        yield b"x" * 65536


def test_a_body_that_is_too_large_is_refused_however_it_is_sent(client):
    assert client.post(f"{PREFIX}/tokens", content=b"x" * (2**20 + 1)).status_code == 413
    assert client.post(f"{PREFIX}/tokens", content=chunks(17)).status_code == 413


def test_a_packed_body_is_refused(client):
    headers = {"Content-Encoding": "gzip"}
    assert client.post(f"{PREFIX}/tokens", content=b"", headers=headers).status_code == 415


def test_every_answer_binds_browsers(client):
    for path in (f"{PREFIX}/me", "/nowhere", "/sign-in", f"{PREFIX}/nowhere"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_refusal_repeats_nothing_that_was_sent(client):
    answer = client.post(f"{PREFIX}/tokens", json={"name": "CANARY\n", "canary": 1})
    assert answer.status_code == 422
    assert "CANARY" not in answer.text


def test_what_another_site_sends_is_refused(client):
    del client.headers["authorization"]
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        assert client.post("/sign-in", headers=headers).status_code == 403


def test_a_one_time_password_is_changed_before_it_lets_anybody_in(site):
    with site.unit() as unit:
        _, password = create_administrator(unit, "root")
    client = open_client(site, follow_redirects=False)
    form = {"name": "root", "password": password, "next": "//evil.example"}
    assert client.post("/sign-in", data=form).status_code == 409
    answer = client.post("/sign-in", data=form | {"new_password": "correct horse battery"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert client.get(f"{PREFIX}/me").json()["name"] == "root"
    assert client.post("/sign-out", headers={"Origin": "http://testserver"}).status_code == 303
    assert client.get(f"{PREFIX}/me").status_code == 401


def test_the_sixth_wrong_password_is_not_looked_at(site):
    client = open_client(site)
    form = {"name": "nobody", "password": "guess"}
    found = [client.post("/sign-in", data=form).status_code for _ in range(6)]
    assert found == [401] * 5 + [429]


ANYWHERE = Limit(f"unknown {name_key('')}\n{name_key('nobody')}\nanywhere", ATTEMPTS_FROM_ANYWHERE)
"""Where there is no organisation yet."""


def test_whoever_says_himself_where_he_is_does_not_guess_without_end(site):
    client = open_client(site)
    form = {"name": "nobody", "password": "guess"}
    with site.unit() as unit:
        for number in range(ATTEMPTS_FROM_ANYWHERE):
            key = ANYWHERE.key
            row = {"id": f"{number:032d}", "name_hash": key, "created_at": unit.now}
            unit.connection.execute(insert(sign_in_failure).values(**row))
    assert client.post("/sign-in", data=form).status_code == 429
    assert client.post("/sign-in", data=form | {"name": "somebody"}).status_code == 401


def test_each_wrong_password_counts_for_the_name_wherever_it_comes_from(site):
    for host in ("192.0.2.1", "192.0.2.2"):
        client = open_client(site, client=(host, 4711))
        for _ in range(5):
            client.post("/sign-in", data={"name": "nobody", "password": "guess"})
    with site.reading() as unit:
        of = sign_in_failure.c.name_hash == ANYWHERE.key
        found = unit.connection.execute(select(func.count()).where(of)).scalar_one()
    assert found == 10


def test_a_right_password_is_no_failure_of_its_name(site):
    with site.unit() as unit:
        _, password = create_administrator(unit, "root")
    form = {"name": "root", "password": password, "new_password": "correct horse battery"}
    client = open_client(site, follow_redirects=False)
    assert client.post("/sign-in", data=form).status_code == 303
    with site.reading() as unit:
        assert unit.connection.execute(select(sign_in_failure)).all() == []


@pytest.mark.parametrize("path", ["/healthz", "/sign-in", "/static/style.css", f"{PREFIX}/me"])
def test_the_head_of_an_answer_may_be_asked_for_alone(client, path):
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]
    assert head.headers["content-type"] == whole.headers["content-type"]


def test_a_refusal_names_the_permission_that_is_missing(site):
    viewer = open_client(site, add_account(site, add_organisation(site), "vic", "viewer"))
    answer = viewer.get(f"{PREFIX}/accounts")
    assert answer.status_code == 403
    assert "because the permission 'admin' is missing" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["Ada\u200b", "\u202eadA", "Ada ", " Ada", "A\u2028da"])
def test_nobody_is_called_what_looks_like_another_name(client, name):
    asked = {"name": name, "role": "reviewer"}
    assert client.post(f"{PREFIX}/accounts", json=asked).status_code == 422


@pytest.mark.parametrize(("name", "organisation"), [("", "Home"), ("a\nb", "Home"), ("ann", "")])
def test_an_administrator_and_an_organisation_have_names(site, name, organisation):
    with (
        site.unit() as unit,
        pytest.raises(InvalidError, match="is empty, too long or contains invisible"),
    ):
        create_administrator(unit, name, organisation)


def test_the_last_administrator_stays(site):
    who = add_account(site, add_organisation(site), "Ada")
    client = open_client(site, who)
    for changed in ({"role": "viewer"}, {"is_disabled": True}):
        path = f"{PREFIX}/accounts/{who.account_id}"
        assert client.patch(path, json=changed).status_code == 409


def test_an_error_of_the_service_says_nothing_and_is_bound_too(site):
    client = open_client(site, raise_server_exceptions=False)

    def broken():
        raise RuntimeError("CANARY")

    client.app.get(f"{PREFIX}/broken")(broken)
    answer = client.get(f"{PREFIX}/broken")
    assert (answer.status_code, answer.json()["status"]) == (500, 500)
    assert "CANARY" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-request-id"]


def test_an_address_with_a_sign_that_databases_refuse_is_refused_before_them(client):
    for path in ("packs-difference?from=%00&to=a", "packs/%00"):
        assert client.get(f"{PREFIX}/{path}").status_code == 422
