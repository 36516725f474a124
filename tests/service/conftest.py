"""A site per test, on each database, who is asked of in most of them, and passwords that are hashed quickly."""

import pytest
from argon2 import PasswordHasher

from tests.kit.service import sites
from treewarden.service.auth import passwords


@pytest.fixture(scope="package", autouse=True)
def quick_hashes():
    """Let a hash take no time: what one takes in the product is held by ``attacks/test_easy_passwords.py``."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passwords, "_HASHER", PasswordHasher(1, memory_cost=8, parallelism=1))
        passwords._nobodys.cache_clear()
        yield
    passwords._nobodys.cache_clear()


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
