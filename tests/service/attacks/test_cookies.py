"""Cookies on https: bound to this very host, so that no neighbour under the same domain can set or get one."""

import pytest

from tests.kit.service import sites
from tests.kit.service.accounts import OWN, one_time_password
from treewarden.service.running import PREFIX

ADDRESS = "https://audits.example.org"


@pytest.fixture
def secure(tmp_path):
    with sites.make_site("sqlite", tmp_path, base_url=ADDRESS) as found:
        yield found


def signed_in(site):
    client = sites.open_client(site, base_url=ADDRESS, follow_redirects=False)
    form = {"name": "root", "password": one_time_password(site), "new_password": OWN}
    return client, client.post("/sign-in", data=form)


def test_each_cookie_is_bound_to_the_host(secure):
    client, answer = signed_in(secure)
    cookies = answer.headers.get_list("set-cookie")
    assert len(cookies) == 2
    for each in cookies:
        assert each.startswith("__Host-treewarden_")
        assert {"Path=/", "Secure", "HttpOnly"} <= {part.strip() for part in each.split(";")}
        assert "domain" not in each.lower()
    assert client.get(f"{PREFIX}/me").status_code == 200


def test_a_cookie_that_a_neighbour_could_have_set_is_not_taken(secure):
    client, _ = signed_in(secure)
    other = sites.open_client(secure, base_url=ADDRESS, follow_redirects=False)
    other.cookies.set("treewarden_session", client.cookies["__Host-treewarden_session"])
    assert other.get(f"{PREFIX}/me").status_code == 401


def test_without_https_the_names_are_plain(tmp_path):
    with sites.make_site("sqlite", tmp_path) as site:
        client = sites.open_client(site, follow_redirects=False)
        form = {"name": "root", "password": one_time_password(site), "new_password": OWN}
        cookies = client.post("/sign-in", data=form).headers.get_list("set-cookie")
    assert all(each.startswith("treewarden_") and "Secure" not in each for each in cookies)


def test_a_browser_that_came_over_tls_is_told_to_ask_in_clear_no_more(secure, tmp_path):
    name = "strict-transport-security"
    for path in ("/sign-in", "/healthz", "/nowhere", f"{PREFIX}/me"):
        answer = sites.open_client(secure, base_url=ADDRESS).get(path)
        assert answer.headers[name] == "max-age=31536000", path
    with sites.make_site("sqlite", tmp_path / "plain") as site:
        assert name not in sites.open_client(site).get("/sign-in").headers
