"""A site per test, on each database, and who is asked of in most of them."""

import pytest

from tests.kit.service import sites


@pytest.fixture(params=sites.KINDS)
def site(request, tmp_path):
    with sites.make_site(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def home(site):
    return sites.add_organisation(site)


@pytest.fixture
def ann(site, home):
    return sites.add_account(site, home, "ann", "submitter")


@pytest.fixture
def bob(site, home):
    return sites.add_account(site, home, "bob", "reviewer")
