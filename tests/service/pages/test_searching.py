"""Lists that are looked through, ordered and kept as a bookmark, without scripts."""

import re
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.kit.service import sites
from tests.kit.service.browsing import add_session
from tests.kit.service.seeds import seeded
from treewarden.service.api._requests import COOKIE
from treewarden.service.ledger.log import record

ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
OLDER = re.compile(r'href="([^"]+)" rel="next"')


@pytest.fixture
def people(site):
    return seeded(site)


@pytest.fixture
def client(site, people):
    made = sites.open_client(site)
    made.cookies.set(COOKIE, add_session(site, people.rita))
    return made


def rows(answer):
    assert answer.status_code == 200
    return ROW.findall(answer.text.partition("<tbody>")[2])


@pytest.mark.parametrize(
    ("path", "some", "none"),
    [
        ("/audits", "readmission standard", "readmission strict"),
        ("/releases", "REGISTER ann", "register bob"),
        ("/waivers", "weiss PRIV-118", "weiss PRIV-119"),
        ("/log", "release.opened ann", "release.opened bob"),
    ],
)
def test_a_list_shows_what_holds_every_word(client, path, some, none):
    assert rows(client.get(path, params={"text": some}))
    answer = client.get(path, params={"text": none})
    assert rows(answer) == []
    assert "Show all" in answer.text


@pytest.mark.parametrize("path", ["/audits", "/releases", "/waivers", "/log"])
def test_what_was_looked_for_stands_in_the_form_again(client, path):
    text = client.get(path, params={"text": '"><b>', "sort": "oldest"}).text
    assert 'value="&#34;&gt;&lt;b&gt;"' in text
    assert '<option value="oldest" selected>' in text


@pytest.mark.parametrize(
    "query", ["state=&verdict=&model=&text=&sort=newest", "verdict=PASS&text=readmission"]
)
def test_a_form_that_was_left_empty_or_filled_is_an_address_to_keep(client, query):
    assert len(rows(client.get(f"/audits?{query}"))) == 1


@pytest.mark.parametrize(
    "path", ["/audits?sort=price", "/log?since=yesterday", "/audits?state=odd"]
)
def test_an_address_that_cannot_be_is_explained(client, path):
    answer = client.get(path)
    assert answer.status_code == 422
    assert "go back" in answer.text
    assert 'name="viewport"' in answer.text


def test_waivers_that_end_soonest_come_first(client):
    found = rows(client.get("/waivers", params={"sort": "ends", "state": "approved"}))
    assert len(found) == 1
    assert len(rows(client.get("/waivers", params={"sort": "ends"}))) == 3


def test_the_log_is_followed_through_its_parts_as_it_was_asked_for(site, people, client):
    with site.unit() as unit:
        for number in range(120):
            record(unit, people.ann, "model.created", "model", f"{number:032x}")
        today = unit.now.date()
    query = {"text": "model.created", "since": today.isoformat(), "sort": "oldest"}
    answer, seen = client.get("/log", params=query), []
    while True:
        seen += [int(re.search(r'class="num">(\d+)<', row)[1]) for row in rows(answer)]
        more = OLDER.search(answer.text)
        if not more:
            break
        path = more[1].replace("&amp;", "&")
        assert parse_qs(urlsplit(path).query).keys() >= query.keys()
        answer = client.get(path)
    assert seen == list(range(seen[0], seen[0] + 120))
    tomorrow = (today + timedelta(days=1)).isoformat()
    assert rows(client.get("/log", params={"since": tomorrow})) == []
    assert rows(client.get("/log", params={"until": (today - timedelta(days=1)).isoformat()})) == []
    assert rows(client.get("/log", params={"until": "9999-12-31"}))


def test_nobody_finds_what_belongs_to_others(site, client):
    stranger = sites.add_account(site, sites.add_organisation(site, "Elsewhere"), "eve")
    client.cookies.set(COOKIE, add_session(site, stranger))
    for path in ("/audits", "/releases", "/waivers"):
        for text in ("a", ""):
            assert rows(client.get(path, params={"text": text, "sort": "oldest"})) == []
