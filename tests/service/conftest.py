"""A site per test, on each database."""

import pytest

from tests.service import sites


@pytest.fixture(params=sites.KINDS)
def site(request, tmp_path):
    with sites.opened(request.param, tmp_path) as found:
        yield found
