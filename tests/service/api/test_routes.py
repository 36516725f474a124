"""What holds for every route, whichever there are: generated from what the application says of itself."""

import re

import pytest

from tests.kit.service.sites import add_account, add_organisation, make_site, open_client
from treewarden.service.auth.principal import ALLOWED, Permission, Role
from treewarden.service.errors import new_id
from treewarden.service.running import PREFIX

METHODS = ("get", "put", "post", "patch", "delete")


@pytest.fixture(scope="module")
def routes(quick):
    """Return method, path and permission of each route."""
    paths = open_client(quick).get(f"{PREFIX}/openapi.json").json()["paths"]
    return [
        (method, path, said.get("x-permission"))
        for path, each in paths.items()
        for method, said in each.items()
        if method in METHODS
    ]


def filled(path):
    return re.sub(r"\{[^}]*\}", lambda _: new_id(), path)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    with make_site("sqlite", tmp_path_factory.mktemp("site")) as found:
        yield found


def test_every_route_says_what_it_needs(routes):
    known = {*Permission, "open"}
    without = [each for each in routes if each[2] not in known]
    assert without == []


def test_nobody_gets_anywhere_without_a_token(quick, routes):
    client = open_client(quick, raise_server_exceptions=False)
    for method, path, permission in routes:
        if permission != "open":
            answer = client.request(method, filled(path))
            assert answer.status_code == 401, (method, path)
            assert answer.headers["content-type"] == "application/problem+json", (method, path)


@pytest.mark.parametrize("role", Role)
def test_a_role_gets_where_it_may_and_nowhere_else(quick, routes, role):
    home = add_organisation(quick, f"home of {role}")
    client = open_client(
        quick, add_account(quick, home, f"a {role}", role), raise_server_exceptions=False
    )
    for method, path, permission in routes:
        if permission == "open":
            continue
        answer = client.request(method, filled(path))
        if Permission(permission) in ALLOWED[role]:
            assert answer.status_code < 500, (method, path, answer.text)
            assert "permission" not in answer.text or answer.status_code != 403, (method, path)
        else:
            assert answer.status_code == 403, (method, path)
