"""A site per test, on each database, who is asked of in most of them, and passwords that are hashed quickly."""

import pytest
import structlog
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


@pytest.fixture(scope="package", autouse=True)
def plain_tracebacks():
    """Write errors as Python does: a traceback in colour, with all variables, takes a second of each."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
        ]
    )
    yield
    structlog.reset_defaults()


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
