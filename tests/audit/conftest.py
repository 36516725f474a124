"""Processes that do jobs of an audit."""

import pytest

from treewarden.audit.workers.pool import Pool


@pytest.fixture
def pool():
    """Return processes of its own, which end afterwards."""
    found = Pool()
    yield found
    found.stop()
