from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from tests.kit.service import sites
from treewarden.service.database.tables import token


def test_a_token_says_who_asks(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann", "reviewer")
    answer = sites.open_client(site, ann).get("/api/v1/me")
    assert answer.status_code == 200
    assert answer.json()["name"] == "ann"
    assert answer.json()["permissions"] == ["gate", "internal", "read", "review"]


def test_the_use_of_a_token_is_noted_once_a_minute(site):
    client = sites.open_client(site, sites.add_account(site, sites.add_organisation(site), "ann"))
    for _ in range(2):
        client.get("/api/v1/me")
    noted = used_at(site)
    assert noted is not None
    client.get("/api/v1/me")
    assert used_at(site) == noted
    earlier = noted - timedelta(minutes=2)
    with site.unit() as unit:
        unit.connection.execute(update(token).values(used_at=earlier))
    client.get("/api/v1/me")
    assert used_at(site) >= noted


@pytest.mark.parametrize("days", [1, 3660, None])
def test_a_token_made_with_a_token_ends_no_later(site, days):
    client = sites.open_client(site, sites.add_account(site, sites.add_organisation(site), "ann"))
    with site.unit() as unit:
        ends = unit.now + timedelta(days=7)
        unit.connection.execute(update(token).values(expires_at=ends))
    asked = {"name": "pipeline", "permissions": ["gate"], "days": days}
    made = client.post("/api/v1/tokens", json=asked).json()["token"]
    found = datetime.fromisoformat(made["expires_at"])
    assert found == ends if days != 1 else found < ends


def used_at(site):
    with site.reading() as unit:
        return unit.connection.execute(select(token.c.used_at)).scalar_one()
