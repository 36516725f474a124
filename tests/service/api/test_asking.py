"""What a request takes of the database's connections, of which there are not many."""

import asyncio

import httpx
import pytest
from sqlalchemy import event

from tests.kit.service import sites
from treewarden.service.database.engine import KEPT_CONNECTIONS, MORE_CONNECTIONS
from treewarden.service.running import PREFIX, application

AT_ONCE = 2 * (KEPT_CONNECTIONS + MORE_CONNECTIONS)
PAGES = ("/", "/models", "/audits", "/releases", "/waivers", "/packs", "/log")
LISTS = ("/me", "/models", "/audits", "/releases", "/waivers", "/packs", "/audit-log")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    with sites.make_site("sqlite", tmp_path_factory.mktemp("site")) as site:
        yield (
            site,
            sites.open_client(site, sites.add_account(site, sites.add_organisation(site), "ann")),
        )


def all_at_once(site, who, method, path, bodies):
    """Return the statuses of requests that are sent before the first of them is answered."""

    async def send():
        through = httpx.ASGITransport(application(site))
        headers = {"Authorization": f"Bearer {sites.add_token(site, who)}"}
        async with httpx.AsyncClient(
            transport=through, base_url="http://testserver", headers=headers
        ) as client:
            return await asyncio.gather(
                *(client.request(method, path, json=each) for each in bodies)
            )

    return {each.status_code for each in asyncio.run(send())}


def test_more_who_read_than_there_are_connections_are_all_answered(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    assert all_at_once(site, ann, "GET", "/audits", [None] * AT_ONCE) == {200}


def test_more_who_write_than_there_are_connections_are_all_answered(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann")
    models = [{"name": f"model {number}"} for number in range(AT_ONCE)]
    assert all_at_once(site, ann, "POST", f"{PREFIX}/models", models) == {201}


@pytest.mark.parametrize("path", [*PAGES, *(PREFIX + each for each in LISTS)])
def test_who_only_reads_takes_one_connection_once(quick, path):
    site, client = quick
    client.get(path)  # the use of a token is written down once a minute
    taken = []
    event.listen(site.engine, "checkout", lambda *_: taken.append(path))
    answer = client.get(path, follow_redirects=False)
    assert (answer.status_code, taken) == (200, [path])
