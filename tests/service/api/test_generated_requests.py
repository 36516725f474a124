"""Requests generated from the service's own description; ``python -m tests.judges.service_requests`` sends more."""

import pytest

pytest.importorskip("schemathesis")
from tests.judges.service_requests import ask  # noqa: E402  # needs what may be missing

# What takes the time is reading the description, however few are sent.
pytestmark = pytest.mark.more_seeds


def test_no_request_that_the_description_leads_to_breaks_the_service(site):
    found = ask(site, 100)
    assert found.wrong == []
    assert found.requests >= 100
