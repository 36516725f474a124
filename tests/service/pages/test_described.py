"""The page about the API: all of it, with lines that can be copied, and nothing that a script has to fetch."""

import json
import re
import shlex

import pytest

from tests.kit.service import sites
from tests.kit.service.browsing import add_session
from treewarden.service.api._requests import COOKIE
from treewarden.service.auth.principal import Role
from treewarden.service.pages.api import described
from treewarden.service.running import PREFIX, application

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    """What the service says of its routes, whatever its database is."""
    with sites.make_site("sqlite", tmp_path_factory.mktemp("described")) as site:
        return application(site).openapi()


@pytest.fixture
def viewer(site):
    return sites.add_account(site, sites.add_organisation(site), "vera", Role.VIEWER)


def all_of(api):
    return [each for several in api.operations.values() for each in several]


def test_every_route_is_there_once(document):
    said = [(path, method) for path, found in document["paths"].items() for method in found]
    found = [(each.path, each.method.lower()) for each in all_of(described(document))]
    assert sorted(found) == sorted(said)
    assert {method for _, method in said} <= METHODS
    assert len({each.anchor for each in all_of(described(document))}) == len(found)


def test_every_body_has_its_fields_and_every_new_one_an_example(document):
    api = described(document)
    assert all(each.fields or each.words for each in api.schemas.values())
    bodies = [each.body for each in all_of(api) if each.body]
    assert bodies
    assert all(json.loads(api.schemas[name].example) for name in bodies)


def test_every_line_is_one_that_a_shell_understands(document):
    for each in all_of(described(document)):
        words = shlex.split(each.curl.replace("\\\n", ""))
        assert words[:4] == [
            "curl",
            "--fail-with-body",
            "-H",
            "Authorization: Bearer $TREEWARDEN_TOKEN",
        ]
        address = re.sub(r"\$\{(\w+):\?\}", lambda found: f"{{{found[1].lower()}}}", words[-1])
        path = address.partition("?")[0].removeprefix("$TREEWARDEN_URL")
        assert path == each.path
        if "--json" in words:
            assert json.loads(words[words.index("--json") + 1])
        sent = (
            words[words.index("-X") + 1]
            if "-X" in words
            else "POST"
            if "--json" in words
            else "GET"
        )
        assert ("PUT" if "-T" in words else sent) == each.method


def test_what_a_query_needs_is_in_the_line(document):
    lines = {(each.method, each.path): each.curl for each in all_of(described(document))}
    assert (
        '/compare?from=${FROM:?}&to=${TO:?}"'
        in lines["GET", f"{PREFIX}/models/{{model_id}}/compare"]
    )
    assert '?kind=model"' in lines["PUT", f"{PREFIX}/blobs/{{sha256}}"]


def test_the_page_says_what_a_parameter_may_be(document):
    api = described(document)
    audits = next(
        each for each in all_of(api) if (each.method, each.path) == ("GET", f"{PREFIX}/audits")
    )
    limit, verdict = (
        next(v for v in audits.values if v.name == name) for name in ("limit", "verdict")
    )
    assert (limit.kind, limit.is_required) == ("integer", False)
    assert limit.limits == "at least 1; at most 200; 50 by default"
    assert verdict.kind == "PASS or UNDETERMINED or FAIL or nothing"
    model = next(each for each in api.schemas["NewWaiver"].fields if each.name == "model")
    assert model.kind == "string or null"


def test_the_page_stands_under_the_same_policy_as_all_others(site, viewer):
    client = sites.open_client(site)
    client.cookies.set(COOKIE, add_session(site, viewer))
    answer = client.get("/api")
    assert answer.status_code == 200
    assert "'unsafe" not in answer.headers["content-security-policy"]
    assert "<script" not in answer.text
    assert "export TREEWARDEN_URL=http://testserver" in answer.text
    assert '<a href="/api">API</a>' in answer.text


def test_nobody_who_is_not_signed_in_sees_it(site):
    answer = sites.open_client(site).get("/api", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/api")


def test_a_host_that_somebody_made_up_is_quoted_for_the_shell(site, viewer):
    client = sites.open_client(site)
    client.cookies.set(COOKIE, add_session(site, viewer))
    text = client.get("/api", headers={"host": "a$(id)b"}).text
    assert "export TREEWARDEN_URL=&#39;http://a$(id)b&#39;" in text
