"""Who has the state of a thing is not told it again."""

import pytest

from tests.kit.service.sites import add_account, add_organisation, open_client
from treewarden.service.running import PREFIX


@pytest.fixture
def client(site):
    return open_client(site, add_account(site, add_organisation(site), "Ada"))


def test_what_did_not_change_is_left_out(client):
    tag = client.get(f"{PREFIX}/me").headers["etag"]
    for wanted in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = client.get(f"{PREFIX}/me", headers={"If-None-Match": wanted})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == tag


def test_what_changed_is_told_whole(client):
    path = f"{PREFIX}/models"
    tag = client.get(path).headers["etag"]
    client.post(path, json={"name": "m"})
    answer = client.get(path, headers={"If-None-Match": tag})
    assert answer.status_code == 200
    assert answer.headers["etag"] != tag
    assert len(answer.json()["items"]) == 1


def test_streams_and_refusals_have_no_tag(client):
    for path in ("audit-log.json", "audit-log.csv", "nowhere"):
        answer = client.get(f"{PREFIX}/{path}", headers={"If-None-Match": "*"})
        assert answer.status_code in (200, 404)
        assert "etag" not in answer.headers
