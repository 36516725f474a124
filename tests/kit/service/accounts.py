"""Somebody with a password, and browsers that sign in: what attacks on accounts are tried with."""

from __future__ import annotations

from tests.kit.service import sites
from treewarden.service.use_cases.accounts.people import create_administrator

OWN = "correct horse battery"
HERE = {"Origin": "http://testserver"}


def one_time_password(site, name="root", organisation="default"):
    """Make an administrator, and return the one-time password."""
    with site.unit() as unit:
        return create_administrator(unit, name, organisation)[1]


def browser(site, host="192.0.2.1", headers=(), **options):
    """Return a browser at an address; ``headers`` are sent with each request."""
    client = sites.open_client(site, client=(host, 4711), follow_redirects=False, **options)
    client.headers.update(headers)
    return client


def sign_in(client, name="root", password=OWN, **more):
    """Send the form, and return the answer."""
    form = {"name": name, "password": password} | more
    return client.post("/sign-in", data=form, headers=HERE)


def owner(site, name="root", organisation="default"):
    """Return the browser of somebody new who has signed in, and chosen a password."""
    client = browser(site)
    one_time = one_time_password(site, name, organisation)
    answer = sign_in(client, name, one_time, new_password=OWN, organisation=organisation)
    assert answer.status_code == 303
    return client
